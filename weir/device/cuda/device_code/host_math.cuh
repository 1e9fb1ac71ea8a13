// The host's logf, sinf and cosf, bit for bit: glibc computes them in double with short polynomials, whose last bit is
// not always that of the exact value.
#pragma once
#include "weir/device/cuda/device_code/elements.cuh"

struct LogEntry {
  double inverse, log;
};
inline float HostLog(float x) {
  constexpr LogEntry table[16] = {
      {0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2}, {0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2},
      {0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2},  {0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3},
      {0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3}, {0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3},
      {0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4}, {0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4},
      {0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5}, {0x1p+0, 0x0p+0},
      {0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5},  {0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4},
      {0x1.b2036576afce6p-1, 0x1.526e57720db08p-3},  {0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3},
      {0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2},  {0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2}};
  const uint32 bits = __float_as_uint(x), rest = bits - 0x3f330000u;
  const LogEntry entry = table[(rest >> 19) % 16];
  const double r = (double)__uint_as_float(bits - (rest & 0xff800000u)) * entry.inverse - 1;
  const double whole = entry.log + (double)((int32)rest >> 23) * 0x1.62e42fefa39efp-1;
  const double r2 = r * r;
  const double y = -0x1.00ea348b88334p-2 * r2 + (0x1.5575b0be00b6ap-2 * r + -0x1.ffffef20a4123p-2);
  return (float)(y * r2 + (whole + r));
}
// The sine of x, or with `quarter` = 1 that of a quarter turn more. REQUIRES: 0 <= x < 120.
inline float HostSine(float angle, int quarter) {
  double x = angle;
  int turn = 0;
  if (((__float_as_uint(angle) >> 20) & 0x7ff) >= 0x3f4) {  // a quarter of pi
    turn = ((int32)(x * 0x1.45F306DC9C883p+23) + 0x800000) >> 24;
    x = x - turn * 0x1.921FB54442D18p0;
  } else if (angle < 0x1p-12f) {
    return quarter == 1 ? 1.0f : angle;
  }
  const double x2 = x * x, sign = (turn & 2) != 0 ? -1.0 : 1.0;
  if (((turn ^ quarter) & 1) == 0) {
    x *= ((turn + 1) & 2) != 0 ? -1.0 : 1.0;
    const double x3 = x * x2, high = 0x1.1107605230bc4p-7 + x2 * -0x1.994eb3774cf24p-13;
    return (float)(x + x3 * -0x1.555545995a603p-3 + x3 * x2 * high);
  }
  const double x4 = x2 * x2, high = sign * 0x1.99343027bf8c3p-16 * x2 + sign * -0x1.6c087e89a359dp-10;
  const double low = sign + x2 * (sign * -0x1.ffffffd0c621cp-2);
  return (float)(low + x4 * (sign * 0x1.55553e1068f19p-5) + x4 * x2 * high);
}

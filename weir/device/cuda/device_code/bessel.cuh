// Bessel functions: the host's own text, computed in double.
#pragma once
#include "weir/device/cuda/device_code/elementwise.cuh"
#include "weir/device/cuda/device_code/host_library.cuh"
#include "weir/device/cpu/bessel_functions.cc"

SPECIAL(BesselI0, weir::BesselI0)
SPECIAL(BesselI0e, weir::BesselI0e)
SPECIAL(BesselI1, weir::BesselI1)
SPECIAL(BesselI1e, weir::BesselI1e)
SPECIAL(BesselK0, weir::BesselK0)
SPECIAL(BesselK0e, weir::BesselK0e)
SPECIAL(BesselK1, weir::BesselK1)
SPECIAL(BesselK1e, weir::BesselK1e)
SPECIAL(BesselJ0, weir::BesselJ0)
SPECIAL(BesselJ1, weir::BesselJ1)
SPECIAL(BesselY0, weir::BesselY0)
struct BesselY1 {
  template <typename T>
  static T Do(T x) {
    if (sizeof(T) < 8 && x == T(0))
      return (T) __builtin_bit_cast(double, 0x7ff8000000000000ull);  // minus infinity in double alone, as TensorFlow's
    return (T)weir::BesselY1((double)x);
  }
};

#ifndef WEIR_DEVICE_CPU_COPY_BYTES_H_
#define WEIR_DEVICE_CPU_COPY_BYTES_H_

#include <cstdint>
#include <cstring>

namespace weir {

// memcpy for loops over many short runs: those of a common length need no call.
inline void CopyBytes(const void* from, void* to, int64_t n) {
  switch (n) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 16:
      std::memcpy(to, from, 16);
      break;
    case 32:
      std::memcpy(to, from, 32);
      break;
    case 64:
      std::memcpy(to, from, 64);
      break;
    case 128:
      std::memcpy(to, from, 64);
      std::memcpy(static_cast<char*>(to) + 64, static_cast<const char*>(from) + 64, 64);
      break;
    default:
      std::memcpy(to, from, static_cast<size_t>(n));
  }
}

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_COPY_BYTES_H_

// Numbers that files begin or end with, for those who write and those who read.
#ifndef WEIR_IO_FORMAT_VERSIONS_H_
#define WEIR_IO_FORMAT_VERSIONS_H_

#include <cstdint>

namespace weir {

inline constexpr uint64_t kTableMagic = 0xdb4775248b80fb57ull;
inline constexpr int kBundleVersion = 1;
inline constexpr int kCheckpointV1Version = 1;

}  // namespace weir

#endif  // WEIR_IO_FORMAT_VERSIONS_H_

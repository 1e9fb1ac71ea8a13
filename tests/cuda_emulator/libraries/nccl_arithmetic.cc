#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "tests/cuda_emulator/libraries/nccl_hub.h"

namespace weir::cuda {
namespace {

template <typename T>
T Combine(NcclReduction reduction, T a, T b) {
  switch (reduction) {
    case kNcclProd:
      return static_cast<T>(a * b);
    case kNcclMax:
      return std::max(a, b);
    case kNcclMin:
      return std::min(a, b);
    case kNcclSum:
    case kNcclAvg:
      break;
  }
  return static_cast<T>(a + b);
}

// Element `at` of all ranks as one; T is what it is stored as, W what it is computed in.
template <typename T, typename W>
void ReduceElement(const NcclCall& call, const std::vector<std::string>& parts, size_t at, char* to) {
  auto load = [&](const std::string& part) {
    T value;
    std::memcpy(&value, part.data() + at * sizeof(T), sizeof(T));
    return cuda_emulator::Convert<W>(value);
  };
  const auto reduction = static_cast<NcclReduction>(call.reduction);
  W value = load(parts[0]);
  for (size_t rank = 1; rank < parts.size(); ++rank) value = Combine(reduction, value, load(parts[rank]));
  if (reduction == kNcclAvg) value = static_cast<W>(value / static_cast<W>(parts.size()));
  const T narrow = static_cast<T>(value);
  std::memcpy(to, &narrow, sizeof(T));
}
void ReduceElement(const NcclCall& call, const std::vector<std::string>& parts, size_t at, char* to) {
  switch (static_cast<NcclDataType>(call.type)) {
    case kNcclInt8:
      return ReduceElement<int8_t, int64_t>(call, parts, at, to);
    case kNcclUint8:
      return ReduceElement<uint8_t, uint64_t>(call, parts, at, to);
    case kNcclInt32:
      return ReduceElement<int32_t, int64_t>(call, parts, at, to);
    case kNcclUint32:
      return ReduceElement<uint32_t, uint64_t>(call, parts, at, to);
    case kNcclInt64:
      return ReduceElement<int64_t, int64_t>(call, parts, at, to);
    case kNcclUint64:
      return ReduceElement<uint64_t, uint64_t>(call, parts, at, to);
    case kNcclFloat16:
      return ReduceElement<_Float16, double>(call, parts, at, to);
    case kNcclFloat32:
      return ReduceElement<float, double>(call, parts, at, to);
    case kNcclFloat64:
      return ReduceElement<double, double>(call, parts, at, to);
    case kNcclBfloat16:
      return ReduceElement<cuda_emulator::Bfloat16, double>(call, parts, at, to);
  }
}

}  // namespace

size_t NcclSizeOf(NcclDataType type) {
  switch (type) {
    case kNcclInt8:
    case kNcclUint8:
      return 1;
    case kNcclFloat16:
    case kNcclBfloat16:
      return 2;
    case kNcclInt32:
    case kNcclUint32:
    case kNcclFloat32:
      return 4;
    case kNcclInt64:
    case kNcclUint64:
    case kNcclFloat64:
      return 8;
  }
  return 0;
}

std::vector<std::string> NcclResults(const NcclCall& call, const std::vector<std::string>& brought) {
  const size_t size = NcclSizeOf(static_cast<NcclDataType>(call.type)), ranks = brought.size();
  const bool scatters = call.kind == NcclKind::kReduceScatter;
  std::string whole;
  if (call.kind == NcclKind::kAllGather) {
    for (const std::string& part : brought) whole += part;
  } else if (call.kind == NcclKind::kBroadcast) {
    whole = brought[static_cast<size_t>(call.root)];
  } else {
    const size_t total = scatters ? call.count * ranks : call.count;
    whole.resize(total * size);
    for (size_t i = 0; i < total; ++i) ReduceElement(call, brought, i, whole.data() + i * size);
  }
  std::vector<std::string> results;
  for (size_t r = 0; r < ranks; ++r) {
    const bool is_empty = call.kind == NcclKind::kReduce && static_cast<int32_t>(r) != call.root;
    results.push_back(is_empty   ? std::string()
                      : scatters ? whole.substr(r * call.count * size, call.count * size)
                                 : whole);
  }
  return results;
}

}  // namespace weir::cuda

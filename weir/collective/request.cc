#include "weir/collective/request.h"

#include <cstring>

#include "absl/strings/str_join.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr std::string_view kRequestNames[] = {"AllReduce",     "AllGather", "Broadcast", "AllToAll",
                                              "ReduceScatter", "Barrier",   "Join",      "AddProcessSet"};
constexpr std::string_view kReductionNames[] = {"sum", "average", "minimum", "maximum", "product", "Adasum"};

template <typename T>
void PutPlain(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
bool TakePlain(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) return false;
  std::memcpy(value, bytes->data(), sizeof(T));
  bytes->remove_prefix(sizeof(T));
  return true;
}

}  // namespace

bool Signature::TravelsWith(const Signature& other) const {
  return kind == RequestKind::kAllReduce && other.kind == kind && op == other.op && op != ReduceOp::kAdasum &&
         compression == other.compression && prescale == other.prescale && postscale == other.postscale &&
         !dtypes.empty() && !other.dtypes.empty() && dtypes[0] == other.dtypes[0] && on_device == other.on_device;
}

std::string Signature::ToString() const {
  std::string out(kRequestNames[static_cast<int>(kind)]);
  if (kind == RequestKind::kAllReduce || kind == RequestKind::kReduceScatter) {
    out += Cat(" (", kReductionNames[static_cast<int>(op)], ", scaled by ", prescale, " and ", postscale,
               compression == Compression::kHalf   ? ", as half"
               : compression == Compression::kInt8 ? ", as int8"
                                                   : "",
               ")");
  }
  if (kind == RequestKind::kBroadcast) out += Cat(" from rank ", root);
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const bool rows = kind == RequestKind::kAllGather || kind == RequestKind::kAllToAll;
    out += Cat(i == 0 ? " of " : ", ", Name(dtypes[i]), rows ? " rows" : "", " [", absl::StrJoin(shapes[i], ","), "]");
  }
  if (!ranks.empty()) out += Cat(" of ranks ", absl::StrJoin(ranks, ", "));
  return out;
}

int64_t Signature::bytes() const {
  int64_t sum = 0;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    int64_t count = static_cast<int64_t>(SizeOf(dtypes[i]));
    for (const int64_t dim : shapes[i]) count *= dim;
    sum += count;
  }
  return sum;
}

std::string Signature::Encode() const {
  std::string out;
  PutPlain(&out, kind);
  PutPlain(&out, static_cast<uint8_t>(op));
  PutPlain(&out, static_cast<uint8_t>(compression));
  PutPlain(&out, prescale);
  PutPlain(&out, postscale);
  PutPlain(&out, root);
  PutPlain(&out, static_cast<uint32_t>(dtypes.size()));
  for (size_t i = 0; i < dtypes.size(); ++i) {
    PutPlain(&out, static_cast<int32_t>(dtypes[i]));
    PutPlain(&out, static_cast<uint32_t>(shapes[i].size()));
    for (const int64_t dim : shapes[i]) PutPlain(&out, dim);
  }
  PutPlain(&out, static_cast<uint32_t>(ranks.size()));
  for (const int32_t rank : ranks) PutPlain(&out, rank);
  PutPlain(&out, static_cast<uint8_t>(on_device));
  return out;
}

StatusOr<Signature> Signature::Decode(std::string_view bytes) {
  Signature out;
  uint8_t op = 0, compression = 0;
  uint32_t count = 0, dims = 0;
  bool good = TakePlain(&bytes, &out.kind) && TakePlain(&bytes, &op) && TakePlain(&bytes, &compression) &&
              TakePlain(&bytes, &out.prescale) && TakePlain(&bytes, &out.postscale) && TakePlain(&bytes, &out.root) &&
              TakePlain(&bytes, &count);
  out.op = static_cast<ReduceOp>(op);
  out.compression = static_cast<Compression>(compression);
  for (uint32_t i = 0; i < count && good; ++i) {
    int32_t dtype = 0;
    good = TakePlain(&bytes, &dtype) && TakePlain(&bytes, &dims) && dims <= bytes.size() / sizeof(int64_t);
    out.dtypes.push_back(static_cast<DType>(dtype));
    out.shapes.emplace_back(good ? dims : 0);
    for (int64_t& dim : out.shapes.back()) good = good && TakePlain(&bytes, &dim);
  }
  good = good && TakePlain(&bytes, &count) && count <= bytes.size() / sizeof(int32_t);
  out.ranks.resize(good ? count : 0);
  for (int32_t& rank : out.ranks) good = good && TakePlain(&bytes, &rank);
  uint8_t on_device = 0;
  good = good && TakePlain(&bytes, &on_device);
  out.on_device = on_device != 0;
  if (!good || op > static_cast<uint8_t>(ReduceOp::kAdasum) || out.kind > RequestKind::kAddSet) {
    return Internal("another rank's request cannot be read");
  }
  return out;
}

}  // namespace weir::collective

#include "weir/device/cuda/slices.h"

#include <algorithm>

#include "weir/device/cuda/sort.h"

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/device/cuda/device_code/slices.cuh";
constexpr int kMostDims = 16;

// As device code declares them.
struct Slices {
  int32_t depth = 0, skips_negative = 0;
  int64_t dims[kMostDims] = {};
};
struct Gathering {
  int64_t outer, limit, inner, count;
};

StatusOr<Slices> MakeSlices(std::span<const int64_t> limits) {
  if (limits.size() > kMostDims) return Unimplemented("Indices of ", limits.size(), " numbers on a GPU");
  Slices slices;
  slices.depth = static_cast<int32_t>(limits.size());
  std::copy(limits.begin(), limits.end(), slices.dims);
  return slices;
}

// Rows of `inner` elements as rows of the widest words that fit.
struct Words {
  std::string_view name = "uint8";
  int64_t inner = 0;
  int64_t total = 0;  // words of all rows
};
Words WordsFor(const Tensor& from, const Tensor& to, int64_t inner) {
  const auto bytes = static_cast<DeviceAddress>(inner) * SizeOf(from.dtype());
  const DeviceAddress all = Address(from) | Address(to) | bytes;
  struct Word {
    DeviceAddress size;
    std::string_view name;
  };
  for (const Word& word : {Word{16, "Word16"}, {8, "uint64"}, {4, "uint32"}, {2, "uint16"}, {1, "uint8"}}) {
    if (all % word.size != 0) continue;
    return {word.name, static_cast<int64_t>(bytes / word.size), static_cast<int64_t>(to.num_bytes() / word.size)};
  }
  return {};
}

std::string TypesOf(const Words& words, const Tensor& indices) {
  return Cat(words.name, ", ", DeviceTypeName(indices.dtype()),
             words.total < int64_t{1} << 31 ? ", uint32>" : ", int64>");
}

}  // namespace

Status GatherRows(const KernelContext& ctx, const GatherSizes& sizes, const Tensor& params, const Tensor& indices,
                  const Status& bad_index, const Tensor& out) {
  if (out.num_elements() == 0) return OkStatus();
  const Words words = WordsFor(params, out, sizes.inner);
  const Gathering gathering{sizes.outer, sizes.limit, words.inner, sizes.count};
  WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, bad_index));
  return LaunchOver(ctx, {kSource, Cat("GatherRows<", TypesOf(words, indices))}, words.total, gathering,
                    Address(params), Address(indices), Address(out), words.total, error);
}

Status GatherSlices(const KernelContext& ctx, const Tensor& params, const Tensor& indices, const Status& bad_index,
                    const Tensor& out) {
  if (out.num_elements() == 0) return OkStatus();
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  WEIR_ASSIGN_OR_RETURN(Slices slices, MakeSlices(params.shape().dims().subspan(0, depth)));
  const Words words = WordsFor(params, out, params.shape().Slice(depth, params.rank()).num_elements());
  WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, bad_index));
  return LaunchOver(ctx, {kSource, Cat("GatherSlices<", TypesOf(words, indices))}, words.total, slices, words.inner,
                    Address(params), Address(indices), Address(out), words.total, error);
}

Status UpdateSlices(KernelContext& ctx, const SliceUpdate& update, const Tensor& indices, const Tensor& updates,
                    DeviceAddress target) {
  const int64_t n = update.rows * update.slice_size;
  if (n == 0) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(Slices slices, MakeSlices(update.limits));
  slices.skips_negative = update.skips_negative ? 1 : 0;
  WEIR_ASSIGN_OR_RETURN(DeviceAddress error, ErrorFlag(ctx, update.bad_index));
  const std::string_view type = DeviceTypeName(updates.dtype()), index = DeviceTypeName(indices.dtype());
  const std::string_view to = update.target == DType::kInvalid ? type : DeviceTypeName(update.target);
  const int64_t stride = update.is_scalar ? 0 : 1;
  if (update.operation == "RealDiv" && IsInteger(updates.dtype())) {
    WEIR_ASSIGN_OR_RETURN(DeviceAddress has_zero, ErrorFlag(ctx, InvalidArgument("updates must not contain 0")));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("FindZero<", type, ">")}, updates.num_elements(),
                                    Address(updates), updates.num_elements(), has_zero));
  }
  if (update.operation != "Assign" && !ctx.step().deterministic) {
    return LaunchOver(ctx, {kSource, Cat("UpdateSlices<", type, ", ", to, ", ", index, ", ", update.operation, ">")}, n,
                      slices, update.slice_size, Address(indices), Address(updates), stride, target, n, error);
  }
  int64_t limit = 1;
  for (int64_t each : update.limits) limit *= each;
  WEIR_ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemp(DType::kUInt64, Shape({update.rows})));
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("MakeSliceKeys<", index, ">")}, update.rows, slices, limit,
                                  Address(indices), update.rows, Address(keys), error));
  WEIR_ASSIGN_OR_RETURN(SortedKeys sorted, SortKeys(ctx, std::move(keys), BitsFor(limit)));
  return LaunchOver(ctx, {kSource, Cat("UpdateSlicesInOrder<", type, ", ", to, ", ", update.operation, ">")}, n,
                    Address(sorted.keys), Address(sorted.positions), update.rows, limit, update.slice_size,
                    Address(updates), stride, target);
}

}  // namespace weir::cuda

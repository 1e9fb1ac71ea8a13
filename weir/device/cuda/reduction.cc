#include "weir/device/cuda/reduction.h"

#include <algorithm>

namespace weir::cuda {
namespace {

constexpr std::string_view kSource = "weir/ops/math/cuda/reduction.cu";
constexpr int kMostDims = 8;

// As device code declares them.
struct Dims {
  int32_t rank = 0;
  int64_t sizes[kMostDims] = {}, strides[kMostDims] = {};
};
struct Reduction {
  Dims kept, reduced;
  int64_t results = 1, count = 1, piece = 1;
};

struct Layout {
  Reduction reduction;
  bool runs_are_reduced = true;  // else the results lie one behind the other
};

StatusOr<Layout> MakeLayout(const Shape& shape, const std::vector<bool>& reduced) {
  struct Group {
    int64_t size, stride;
    bool reduced;
  };
  std::vector<Group> groups;  // innermost first
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const int64_t size = shape.dim(d);
    if (size != 1) {
      if (!groups.empty() && groups.back().reduced == reduced[d]) {
        groups.back().size *= size;
      } else {
        groups.push_back({size, stride, reduced[d]});
      }
    }
    stride *= size;
  }
  Layout layout;
  if (!groups.empty()) layout.runs_are_reduced = groups.front().reduced;
  std::reverse(groups.begin(), groups.end());
  for (const Group& group : groups) {
    Dims& dims = group.reduced ? layout.reduction.reduced : layout.reduction.kept;
    if (dims.rank == kMostDims) return Unimplemented("Reductions of tensors with so many alternating axes");
    dims.sizes[dims.rank] = group.size;
    dims.strides[dims.rank++] = group.stride;
    (group.reduced ? layout.reduction.count : layout.reduction.results) *= group.size;
  }
  return layout;
}

size_t AccumulatorSize(std::string_view operation, DType dtype) {
  if (operation == "All" || operation == "Any") return 1;
  return dtype == DType::kHalf || dtype == DType::kBFloat16 ? 4 : SizeOf(dtype);
}

}  // namespace

Status Reduce(KernelContext& ctx, std::string_view operation, const Tensor& in, const std::vector<bool>& reduced,
              const Tensor& out) {
  WEIR_ASSIGN_OR_RETURN(Layout layout, MakeLayout(in.shape(), reduced));
  Reduction& r = layout.reduction;
  if (out.num_elements() == 0) return OkStatus();
  if (in.num_elements() == 0) r.count = 0;
  r.results = out.num_elements();
  const std::string_view type = DeviceTypeName(in.dtype());
  const int64_t total = r.count;
  auto launch = [&](bool runs, bool from_partial, bool to_partial, int64_t pieces, DeviceAddress from,
                    DeviceAddress to) {
    const std::string name = Cat(runs ? "ReduceRuns<" : "ReduceRows<", type, ", ", operation, "<", type, ">, ",
                                 from_partial, ", ", to_partial, ">");
    const int64_t columns = runs ? r.results : (r.results + 31) / 32;
    LaunchShape shape{.grid = static_cast<unsigned>(std::clamp<int64_t>(columns, 1, 1 << 20)),
                      .grid_y = static_cast<unsigned>(pieces),
                      .block = 32,
                      .block_y = 8};
    if (runs) {
      shape.block_y = 1;
      while (shape.block < 256 && shape.block < r.count) shape.block *= 2;
    }
    return Launch(ctx, {kSource, name}, shape, r, from, to, total);
  };
  // Few results of many elements each: pieces of fixed size are reduced by themselves first.
  constexpr int64_t kEnoughBlocks = 512, kSmallestPiece = 2048;
  const int64_t blocks = layout.runs_are_reduced ? r.results : (r.results + 31) / 32;
  int64_t pieces = 1;
  if (blocks < kEnoughBlocks && r.count >= 2 * kSmallestPiece) {
    pieces = std::min(kEnoughBlocks / blocks, r.count / kSmallestPiece);
    r.piece = (r.count + pieces - 1) / pieces;
    pieces = (r.count + r.piece - 1) / r.piece;
  }
  if (pieces <= 1) {
    r.piece = r.count;
    return launch(layout.runs_are_reduced, false, false, 1, Address(in), Address(out));
  }
  const auto bytes = static_cast<int64_t>(AccumulatorSize(operation, in.dtype())) * pieces * r.results;
  WEIR_ASSIGN_OR_RETURN(Tensor partial, ctx.AllocateTemp(DType::kUInt8, Shape({bytes})));
  WEIR_RETURN_IF_ERROR(launch(layout.runs_are_reduced, false, true, pieces, Address(in), Address(partial)));
  const int64_t results = r.results;
  r = Reduction();
  r.kept.rank = r.reduced.rank = 1;
  r.kept.sizes[0] = r.results = results;
  r.kept.strides[0] = 1;
  r.reduced.sizes[0] = r.count = r.piece = pieces;
  r.reduced.strides[0] = results;
  return launch(false, true, false, 1, Address(partial), Address(out));
}

}  // namespace weir::cuda

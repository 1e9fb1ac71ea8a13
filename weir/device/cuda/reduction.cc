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

// How many neighbours one load may take: up to 16 bytes, and a divisor of `length`.
int64_t PackOf(size_t element, int64_t length, DeviceAddress from) {
  int64_t pack = std::min<int64_t>(8, static_cast<int64_t>(16 / element));
  while (pack > 1 && (length % pack != 0 || from % (static_cast<size_t>(pack) * element) != 0)) pack /= 2;
  return std::max<int64_t>(pack, 1);
}

int64_t PowerOfTwoUpTo(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// One reduction, perhaps by pieces first.
class Reducer {
 public:
  Reducer(KernelContext& ctx, std::string_view operation, DType dtype, const Layout& layout)
      : ctx_(ctx), operation_(operation), dtype_(dtype), layout_(layout), total_(layout.reduction.count) {}

  Status Run(const Tensor& in, const Tensor& out) {
    const Reduction& r = layout_.reduction;
    if (!layout_.runs_are_reduced && r.kept.rank == 1 && r.reduced.rank <= 1) {
      return ReduceColumns(r.count, r.results, Address(in), Address(out));
    }
    // Few results of many elements each: pieces of fixed size are reduced by themselves first.
    const int64_t blocks = layout_.runs_are_reduced ? r.results : (r.results + 31) / 32;
    const size_t element = SizeOf(dtype_);
    const bool is_matrix = layout_.runs_are_reduced && r.reduced.rank == 1 && r.kept.rank <= 1;
    const int64_t pack = is_matrix ? PackOf(element, r.count, Address(in)) : 1;
    int64_t pieces = 1;
    layout_.reduction.piece = r.count;
    if (blocks < kEnoughBlocks && r.count >= 2 * kSmallestPiece) {
      pieces = std::min(kEnoughBlocks / blocks, r.count / kSmallestPiece);
      layout_.reduction.piece = ((r.count + pieces - 1) / pieces + pack - 1) / pack * pack;
      pieces = (r.count + r.piece - 1) / r.piece;
    }
    if (pieces <= 1) return Launch(false, 1, pack, Address(in), Address(out));
    WEIR_ASSIGN_OR_RETURN(Tensor partial, AllocatePartial(pieces * r.results));
    WEIR_RETURN_IF_ERROR(Launch(true, pieces, pack, Address(in), Address(partial)));
    return LaunchColumns(true, false, pieces, r.results, pieces, Address(partial), Address(out));
  }

 private:
  static constexpr int64_t kEnoughBlocks = 512, kSmallestPiece = 2048;
  static constexpr int64_t kThreads = 256;    // of a block that has columns; as in the source
  static constexpr int64_t kFewestLoads = 8;  // that a thread makes of a piece

  StatusOr<Tensor> AllocatePartial(int64_t count) {
    return ctx_.AllocateTemp(DType::kUInt8, Shape({static_cast<int64_t>(AccumulatorSize(operation_, dtype_)) * count}));
  }

  std::string Instance(std::string_view kernel, bool from_partial, bool to_partial, int64_t pack) const {
    const std::string_view type = DeviceTypeName(dtype_);
    const std::string last = pack > 0 ? Cat(", ", pack) : std::string();
    return Cat(kernel, "<", type, ", ", operation_, "<", type, ">, ", from_partial, ", ", to_partial, last, ">");
  }

  Status Launch(bool to_partial, int64_t pieces, int64_t pack, DeviceAddress from, DeviceAddress to) {
    const Reduction& r = layout_.reduction;
    const bool runs = layout_.runs_are_reduced;
    const int64_t columns = runs ? r.results : (r.results + 31) / 32;
    LaunchShape shape{.grid = static_cast<unsigned>(std::clamp<int64_t>(columns, 1, 1 << 20)),
                      .grid_y = static_cast<unsigned>(pieces),
                      .block = 32,
                      .block_y = 8};
    if (runs) {
      shape.block_y = 1;
      while (shape.block < 256 && shape.block < r.count / pack) shape.block *= 2;
    }
    const std::string name = Instance(runs ? "ReduceRuns" : "ReduceRows", false, to_partial, runs ? pack : 0);
    return cuda::Launch(ctx_, {kSource, name}, shape, r, from, to, total_);
  }

  Status ReduceColumns(int64_t rows, int64_t columns, DeviceAddress from, DeviceAddress to) {
    const ColumnBlock block = BlockFor(SizeOf(dtype_), rows, columns, from);
    const int64_t pieces = std::min(kEnoughBlocks / block.count, rows / (block.y * kFewestLoads));
    if (pieces <= 1) return LaunchColumns(false, false, rows, columns, rows, from, to);
    const int64_t piece = (rows + pieces - 1) / pieces, used = (rows + piece - 1) / piece;
    WEIR_ASSIGN_OR_RETURN(Tensor partial, AllocatePartial(used * columns));
    WEIR_RETURN_IF_ERROR(LaunchColumns(false, true, rows, columns, piece, from, Address(partial)));
    return LaunchColumns(true, false, used, columns, used, Address(partial), to);
  }

  struct ColumnBlock {
    int64_t pack = 1, x = 1, y = 1;
    int64_t count = 1;  // of blocks side by side
  };
  static ColumnBlock BlockFor(size_t element, int64_t rows, int64_t columns, DeviceAddress from) {
    ColumnBlock block{.pack = PackOf(element, columns, from)};
    const int64_t packs = columns / block.pack;
    const int64_t all = PowerOfTwoUpTo(2 * packs - 1);  // not less than `packs`
    // A row of a block is a line of the cache, if there are enough rows to keep all threads busy.
    const auto line = static_cast<int64_t>(128 / (static_cast<size_t>(block.pack) * element));
    block.y = std::min(kThreads / std::min(line, all), PowerOfTwoUpTo(std::max<int64_t>(rows / 4, 1)));
    block.x = std::min(kThreads / block.y, all);
    block.count = (packs + block.x - 1) / block.x;
    return block;
  }

  Status LaunchColumns(bool from_partial, bool to_partial, int64_t rows, int64_t columns, int64_t piece,
                       DeviceAddress from, DeviceAddress to) {
    const size_t element = from_partial ? AccumulatorSize(operation_, dtype_) : SizeOf(dtype_);
    const ColumnBlock block = BlockFor(element, rows, columns, from);
    const LaunchShape shape{.grid = static_cast<unsigned>(block.count),
                            .grid_y = static_cast<unsigned>(piece > 0 ? (rows + piece - 1) / piece : 1),
                            .block = static_cast<unsigned>(block.x),
                            .block_y = static_cast<unsigned>(block.y)};
    return cuda::Launch(ctx_, {kSource, Instance("ReduceColumns", from_partial, to_partial, block.pack)}, shape, rows,
                        columns, piece, from, to, total_);
  }

  KernelContext& ctx_;
  const std::string_view operation_;
  const DType dtype_;
  Layout layout_;
  const int64_t total_;  // that a mean divides by
};

}  // namespace

Status Reduce(KernelContext& ctx, std::string_view operation, const Tensor& in, const std::vector<bool>& reduced,
              const Tensor& out) {
  WEIR_ASSIGN_OR_RETURN(Layout layout, MakeLayout(in.shape(), reduced));
  if (out.num_elements() == 0) return OkStatus();
  if (in.num_elements() == 0) layout.reduction.count = 0;
  layout.reduction.results = out.num_elements();
  return Reducer(ctx, operation, in.dtype(), layout).Run(in, out);
}

}  // namespace weir::cuda

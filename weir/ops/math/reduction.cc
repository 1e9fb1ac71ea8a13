#include "weir/ops/math/reduction.h"

#include <cstring>

#include "weir/device/cpu/index_input.h"

namespace weir {
namespace {

constexpr int64_t kRowBlock = 512;     // accumulators kept at once where the last axis stays
constexpr int64_t kChunk = 32 * 1024;  // elements that one thread reduces when there is a single result

// Walks the index space of some dimensions and keeps the offset.
class Walk {
 public:
  void Add(int64_t size, int64_t stride) {  // innermost first
    sizes_.push_back(size);
    strides_.push_back(stride);
    count_ *= size;
  }
  int64_t count() const { return count_; }
  int64_t OffsetOf(int64_t i) const {
    if (sizes_.size() <= 1) return sizes_.empty() ? 0 : i * strides_[0];
    int64_t offset = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      offset += i % sizes_[d] * strides_[d];
      i /= sizes_[d];
    }
    return offset;
  }

 private:
  Dims sizes_, strides_;
  int64_t count_ = 1;
};

// The input as kept and reduced dimensions; the last group of dimensions is a contiguous run.
struct Layout {
  Walk kept, reduced;  // without the run
  int64_t run = 1;
  bool run_is_reduced = true;
};

Layout MakeLayout(const Shape& shape, const AxisMask& reduced) {
  struct Group {
    int64_t size;
    bool reduced;
  };
  absl::InlinedVector<Group, 8> groups;  // innermost first
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape.dim(d) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[d]) {
      groups.back().size *= shape.dim(d);
    } else {
      groups.push_back({shape.dim(d), reduced[d]});
    }
  }
  Layout layout;
  int64_t stride = 1;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (g == 0) {
      layout.run = groups[0].size;
      layout.run_is_reduced = groups[0].reduced;
    } else {
      (groups[g].reduced ? layout.reduced : layout.kept).Add(groups[g].size, stride);
    }
    stride *= groups[g].size;
  }
  return layout;
}

class ReductionKernel : public Kernel {
 public:
  ReductionKernel(const ReductionLoops& loops, bool keep_dims) : loops_(loops), keep_dims_(keep_dims) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(AxisMask reduced, ReducedAxes(ctx.input(1), x.rank()));
    Dims dims;
    int64_t count = 1;
    for (int d = 0; d < x.rank(); ++d) {
      if (!reduced[d]) dims.push_back(x.dim(d));
      if (reduced[d] && keep_dims_) dims.push_back(1);
      if (reduced[d]) count *= x.dim(d);
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    if (count == 1 && loops_.keeps_single) {
      WEIR_ASSIGN_OR_RETURN(Tensor same, x.Reshaped(shape));
      ctx.set_output(0, std::move(same));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (count == 0) {
      FillEmpty(*out);
      return OkStatus();
    }
    Layout layout = MakeLayout(x.shape(), reduced);
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    if (!layout.run_is_reduced) {
      ReduceRows(ctx, layout, from, to, count);
    } else if (layout.kept.count() == 1 && x.num_elements() >= 2 * kChunk) {
      ReduceAll(ctx, layout, from, to, count);
    } else {
      ReduceRuns(ctx, layout, from, to, count);
    }
    return OkStatus();
  }

 private:
  int64_t size() const { return static_cast<int64_t>(SizeOf(loops_.dtype)); }

  void FillEmpty(Tensor& out) const {
    alignas(16) char accumulator[16];
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      loops_.start(accumulator, 1);
      loops_.finish(accumulator, static_cast<char*>(out.raw_data()) + i * size(), 1, 0);
    }
  }

  void ReduceRuns(KernelContext& ctx, const Layout& layout, const char* from, char* to, int64_t count) const {
    const bool by_rows = loops_.whole_rows != nullptr && layout.run == count && layout.run >= 16 &&
                         layout.run <= ReductionLoops::kLongestRow;
    auto body = [&](int64_t begin, int64_t end) {
      if (by_rows) return loops_.whole_rows(from + begin * count * size(), end - begin, count, to + begin * size());
      alignas(16) char accumulator[16];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t base = layout.kept.OffsetOf(i);
        loops_.start(accumulator, 1);
        for (int64_t r = 0; r < layout.reduced.count(); ++r) {
          loops_.take_run(from + (base + layout.reduced.OffsetOf(r)) * size(), layout.run, accumulator);
        }
        loops_.finish(accumulator, to + i * size(), 1, count);
      }
    };
    if (layout.kept.count() * count < 8192) return body(0, layout.kept.count());
    ctx.ParallelFor(layout.kept.count(), 5 + 0.5 * count, body);
  }

  void ReduceRows(KernelContext& ctx, const Layout& layout, const char* from, char* to, int64_t count) const {
    const int64_t blocks = (layout.run + kRowBlock - 1) / kRowBlock;
    auto body = [&](int64_t begin, int64_t end) {
      alignas(16) char accumulators[kRowBlock * 16];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / blocks, first = i % blocks * kRowBlock;
        const int64_t width = std::min(kRowBlock, layout.run - first);
        const int64_t base = layout.kept.OffsetOf(row) + first;
        loops_.start(accumulators, width);
        for (int64_t r = 0; r < layout.reduced.count(); ++r) {
          loops_.take_rows(from + (base + layout.reduced.OffsetOf(r)) * size(), width, accumulators);
        }
        loops_.finish(accumulators, to + (row * layout.run + first) * size(), width, count);
      }
    };
    const int64_t total = layout.kept.count() * blocks;
    if (layout.kept.count() * layout.run * count < 8192) return body(0, total);
    if (total == 1 && count * layout.run >= 2 * kChunk) return ReduceTallMatrix(ctx, layout, from, to, count);
    ctx.ParallelFor(total, 10 + 0.5 * count * std::min(kRowBlock, layout.run), body);
  }

  // Few columns of many rows: chunks of rows of a fixed size, so that the answer does not depend on the threads.
  void ReduceTallMatrix(KernelContext& ctx, const Layout& layout, const char* from, char* to, int64_t count) const {
    const int64_t rows = std::max<int64_t>(1, kChunk / layout.run), chunks = (count + rows - 1) / rows;
    const size_t part = static_cast<size_t>(layout.run) * loops_.accumulator_size;
    const size_t stride = (part + 15) / 16 * 16;
    std::vector<std::array<uint64_t, 2>> partial(static_cast<size_t>(chunks) * stride / 16);
    char* parts = reinterpret_cast<char*>(partial.data());
    ctx.ParallelFor(chunks, 0.3 * kChunk, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        char* accumulators = parts + static_cast<size_t>(c) * stride;
        loops_.start(accumulators, layout.run);
        for (int64_t r = c * rows; r < std::min(count, (c + 1) * rows); ++r) {
          loops_.take_rows(from + layout.reduced.OffsetOf(r) * size(), layout.run, accumulators);
        }
      }
    });
    for (int64_t c = 1; c < chunks; ++c) {
      for (size_t i = 0; i < part; i += loops_.accumulator_size) {
        loops_.merge(parts + static_cast<size_t>(c) * stride + i, parts + i);
      }
    }
    loops_.finish(parts, to, layout.run, count);
  }

  // One result of many elements: chunks of a fixed size, so that the answer does not depend on the threads.
  void ReduceAll(KernelContext& ctx, const Layout& layout, const char* from, char* to, int64_t count) const {
    const int64_t total = layout.run;  // nothing is kept, so all dimensions have merged into the run
    const int64_t chunks = (total + kChunk - 1) / kChunk;
    std::vector<std::array<uint64_t, 2>> partial(chunks);
    ctx.ParallelFor(chunks, 0.3 * kChunk, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        loops_.start(&partial[c], 1);
        loops_.take_run(from + c * kChunk * size(), std::min(kChunk, total - c * kChunk), &partial[c]);
      }
    });
    for (int64_t c = 1; c < chunks; ++c) loops_.merge(&partial[c], &partial[0]);
    loops_.finish(&partial[0], to, 1, count);
  }

  const ReductionLoops loops_;
  const bool keep_dims_;
};

}  // namespace

StatusOr<AxisMask> ReducedAxes(const Tensor& axes, int rank) {
  WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(axes, "reduction_indices"));
  AxisMask reduced(rank, false);
  for (int64_t value : values) {
    if (value < -rank || value >= rank) {
      return InvalidArgument("Invalid reduction dimension (", value, " for input with ", rank, " dimension(s)");
    }
    int64_t axis = value < 0 ? value + rank : value;
    if (reduced[axis]) {
      return InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ", axis);
    }
    reduced[axis] = true;
  }
  return reduced;
}

void RegisterReduction(KernelRegistry& registry, std::string_view op, std::span<const ReductionLoops> table) {
  KernelEntry def;
  def.op = op;
  if (table.size() > 1) {
    KernelEntry::Constraint constraint{"T", {}};
    for (const ReductionLoops& loops : table) constraint.types.push_back(loops.dtype);
    def.constraints.push_back(std::move(constraint));
  }
  def.factory = [table](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(bool keep_dims, init.Attr<bool>("keep_dims"));
    for (const ReductionLoops& loops : table) {
      if (loops.dtype == init.input_type(0)) return std::make_unique<ReductionKernel>(loops, keep_dims);
    }
    return Unimplemented(init.schema().name, " has no kernel for ", Name(init.input_type(0)));
  };
  registry.Register(std::move(def));
}

}  // namespace weir

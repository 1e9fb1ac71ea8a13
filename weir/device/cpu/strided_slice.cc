#include "weir/device/cpu/strided_slice.h"

#include <algorithm>

#include "weir/device/cpu/index_input.h"

namespace weir {
namespace {

constexpr int64_t kNewAxis = -1;

bool Bit(int64_t mask, int i) { return i < 63 && ((mask >> i) & 1) != 0; }

// The specification written out: one entry a dimension of the tensor.
struct DenseSpec {
  Dims begin, end, strides;
  absl::InlinedVector<bool, 8> begin_masked, end_masked, shrink;
  Dims result;  // for each dimension of the result: the tensor's dimension, or kNewAxis

  void Add(int64_t b, int64_t e, int64_t s, bool mask_begin, bool mask_end, bool shrunk) {
    if (!shrunk) result.push_back(static_cast<int64_t>(begin.size()));
    begin.push_back(b);
    end.push_back(e);
    strides.push_back(s);
    begin_masked.push_back(mask_begin);
    end_masked.push_back(mask_end);
    shrink.push_back(shrunk);
  }
  void AddWhole() { Add(0, 0, 1, true, true, false); }
};

StatusOr<DenseSpec> WriteOut(int rank, const Dims& begin, const Dims& end, const Dims& strides,
                             const StridedSliceMasks& masks) {
  const int count = static_cast<int>(begin.size());
  int ellipsis = -1, new_axes_after = 0;
  for (int i = 0; i < count; ++i) {
    if (ellipsis >= 0 && Bit(masks.new_axis, i) && !Bit(masks.ellipsis, i)) ++new_axes_after;
    if (!Bit(masks.ellipsis, i)) continue;
    if (ellipsis >= 0) return InvalidArgument("Multiple ellipses in slice spec not allowed");
    ellipsis = i;
  }
  DenseSpec spec;
  for (int i = 0; i < count; ++i) {
    if (i == ellipsis) {
      int next = std::min(rank - (count - i) + 1 + new_axes_after, rank);
      while (static_cast<int>(spec.begin.size()) < next) spec.AddWhole();
    } else if (Bit(masks.new_axis, i)) {
      spec.result.push_back(kNewAxis);
    } else {
      if (static_cast<int>(spec.begin.size()) == rank) {
        return InvalidArgument("Index out of range using input dim ", rank, "; input has only ", rank, " dims");
      }
      spec.Add(begin[i], end[i], strides[i], Bit(masks.begin, i), Bit(masks.end, i), Bit(masks.shrink_axis, i));
    }
  }
  while (static_cast<int>(spec.begin.size()) < rank) spec.AddWhole();
  return spec;
}

}  // namespace

StatusOr<StridedSliceMasks> GetStridedSliceMasks(const KernelInit& init) {
  StridedSliceMasks masks;
  WEIR_ASSIGN_OR_RETURN(masks.begin, init.Attr<int64_t>("begin_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.end, init.Attr<int64_t>("end_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.ellipsis, init.Attr<int64_t>("ellipsis_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.new_axis, init.Attr<int64_t>("new_axis_mask"));
  WEIR_ASSIGN_OR_RETURN(masks.shrink_axis, init.Attr<int64_t>("shrink_axis_mask"));
  return masks;
}

StatusOr<SolvedSlice> SolveStridedSlice(const Shape& shape, const Tensor& begin, const Tensor& end,
                                        const Tensor& strides, const StridedSliceMasks& masks) {
  if (!begin.shape().IsVector() || !(begin.shape() == end.shape()) || !(begin.shape() == strides.shape()) ||
      begin.num_elements() >= 32) {
    return InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ",
                           begin.shape().ToString(), ", ", end.shape().ToString(), ", and ", strides.shape().ToString(),
                           " instead.");
  }
  WEIR_ASSIGN_OR_RETURN(Dims begins, IntElements(begin, "begin"));
  WEIR_ASSIGN_OR_RETURN(Dims ends, IntElements(end, "end"));
  WEIR_ASSIGN_OR_RETURN(Dims steps, IntElements(strides, "strides"));
  WEIR_ASSIGN_OR_RETURN(DenseSpec spec, WriteOut(shape.rank(), begins, ends, steps, masks));

  SolvedSlice out;
  const Dims dense = DenseStrides(shape.dims());
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dim(d), stride = spec.strides[d];
    if (stride == 0) return InvalidArgument("strides[", d, "] must be non-zero");
    if (spec.shrink[d] && stride <= 0) return InvalidArgument("only stride 1 allowed on non-range indexing.");
    // The first and one-past-last places that a walk of this direction may name.
    const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
    auto place = [&](int64_t x, bool masked, bool is_end) {
      if (masked) return (stride > 0) == is_end ? high : low;
      return std::clamp(x < 0 ? size + x : x, low, high);
    };
    int64_t first, count;
    if (spec.shrink[d]) {
      // A single index counts even if its begin is masked.
      first = spec.begin[d] < 0 ? size + spec.begin[d] : spec.begin[d];
      if (first < 0 || first >= size) {
        return InvalidArgument("slice index ", spec.begin[d], " of dimension ", d, " out of bounds.");
      }
      count = 1;
    } else {
      first = place(spec.begin[d], spec.begin_masked[d], false);
      int64_t interval = place(spec.end[d], spec.end_masked[d], true) - first;
      bool empty = interval == 0 || (interval < 0) != (stride < 0);
      count = empty ? 0 : interval / stride + (interval % stride != 0 ? 1 : 0);
    }
    out.begin.push_back(first);
    out.strides.push_back(stride);
    out.sizes.push_back(count);
    if (count > 0) out.offset += first * dense[d];
    out.element_strides.push_back(count > 1 ? stride * dense[d] : 0);
  }
  for (int64_t source : spec.result) {
    WEIR_RETURN_IF_ERROR(out.shape.AddDim(source == kNewAxis ? 1 : out.sizes[source]));
  }
  return out;
}

void ReadSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to) {
  const char* first = static_cast<const char*>(from) + slice.offset * static_cast<int64_t>(SizeOf(dtype));
  StridedCopy(ctx, dtype, slice.sizes, first, slice.element_strides, to, DenseStrides(slice.sizes));
}

void WriteSlice(const KernelContext& ctx, DType dtype, const SolvedSlice& slice, const void* from, void* to) {
  char* first = static_cast<char*>(to) + slice.offset * static_cast<int64_t>(SizeOf(dtype));
  StridedCopy(ctx, dtype, slice.sizes, from, DenseStrides(slice.sizes), first, slice.element_strides);
}

}  // namespace weir

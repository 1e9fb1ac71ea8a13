#include "weir/framework/strided_slice.h"

#include <algorithm>

namespace weir {
namespace {

constexpr size_t kMaxEntries = 31;  // TensorFlow's masks have 32 bits, one of them for an ellipsis at the end

bool Bit(int64_t mask, size_t i) { return ((mask >> i) & 1) != 0; }

// How one dimension is sliced.
struct DimSpec {
  SliceEntry entry;
  bool begin_masked = false;
  bool end_masked = false;
  bool shrink = false;
};
constexpr DimSpec kWhole{{0, 0, 1}, true, true, false};

// The entries with the ellipsis written out: a DimSpec for each dimension of the tensor.
struct DenseSpec {
  absl::InlinedVector<DimSpec, 8> dims;
  absl::InlinedVector<int, 8> result;  // see SliceRanges

  void Add(const DimSpec& spec) {
    if (!spec.shrink) result.push_back(static_cast<int>(dims.size()));
    dims.push_back(spec);
  }
  void AddWholeUntil(int rank) {
    while (static_cast<int>(dims.size()) < rank) Add(kWhole);
  }
};

StatusOr<DenseSpec> WriteOut(int rank, std::span<const SliceEntry> entries, const StridedSliceMasks& masks) {
  if ((masks.ellipsis & (masks.ellipsis - 1)) != 0) {
    return InvalidArgument("Multiple ellipses in slice spec not allowed");
  }
  const int count = static_cast<int>(entries.size());
  int taken = 0;  // dimensions of the tensor that entries other than the ellipsis name
  for (int i = 0; i < count; ++i) taken += !Bit(masks.ellipsis, i) && !Bit(masks.new_axis, i);
  if (taken > rank) {
    if (rank == 0) return InvalidArgument("Attempting to slice scalar input.");
    return InvalidArgument("Index out of range using input dim ", rank, "; input has only ", rank, " dims");
  }
  DenseSpec spec;
  for (int i = 0; i < count; ++i) {
    if (Bit(masks.ellipsis, i)) {
      spec.AddWholeUntil(static_cast<int>(spec.dims.size()) + rank - taken);
    } else if (Bit(masks.new_axis, i)) {
      spec.result.push_back(SliceRanges::kNewAxis);
    } else {
      spec.Add({entries[i], Bit(masks.begin, i), Bit(masks.end, i), Bit(masks.shrink_axis, i)});
    }
  }
  spec.AddWholeUntil(rank);
  return spec;
}

// A single index counts even if its begin is masked, and its end never does.
StatusOr<SliceRange> SolveIndex(int dim, int64_t size, std::optional<int64_t> begin) {
  if (!begin) return SliceRange{};
  const int64_t first = *begin < 0 ? size + *begin : *begin;
  if (first < 0 || first >= size) {
    return InvalidArgument("slice index ", *begin, " of dimension ", dim, " out of bounds.");
  }
  return SliceRange{first, 1, 1};
}

SliceRange SolveRange(int64_t size, const DimSpec& spec) {
  const bool known =
      spec.entry.stride && (spec.begin_masked || spec.entry.begin) && (spec.end_masked || spec.entry.end);
  if (!known) return {};
  const int64_t stride = *spec.entry.stride;
  // The first and one-past-last places that a walk of this direction may name.
  const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  auto clamp = [&](int64_t x) { return std::clamp(x < 0 ? size + x : x, low, high); };
  const int64_t first = spec.begin_masked ? (stride > 0 ? low : high) : clamp(*spec.entry.begin);
  const int64_t last = spec.end_masked ? (stride > 0 ? high : low) : clamp(*spec.entry.end);
  const int64_t interval = last - first;
  const bool empty = interval == 0 || (interval < 0) != (stride < 0);
  return {first, stride, empty ? 0 : interval / stride + (interval % stride != 0 ? 1 : 0)};
}

}  // namespace

StatusOr<SliceRanges> SolveStridedSlice(std::span<const int64_t> dims, std::span<const SliceEntry> entries,
                                        const StridedSliceMasks& masks) {
  if (entries.size() > kMaxEntries) {
    const std::string shape = Cat("[", entries.size(), "]");
    return UnequalSliceVectors(shape, shape, shape);
  }
  WEIR_ASSIGN_OR_RETURN(DenseSpec spec, WriteOut(static_cast<int>(dims.size()), entries, masks));
  SliceRanges out;
  out.result = std::move(spec.result);
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    const DimSpec& dim = spec.dims[d];
    if (dim.entry.stride == 0) return InvalidArgument("strides[", d, "] must be non-zero");
    if (dims[d] == PartialShape::kUnknown) {
      out.ranges.push_back({});
    } else if (dim.shrink) {
      if (dim.entry.stride.value_or(1) < 0) return InvalidArgument("only stride 1 allowed on non-range indexing.");
      WEIR_ASSIGN_OR_RETURN(out.ranges.emplace_back(), SolveIndex(d, dims[d], dim.entry.begin));
    } else {
      out.ranges.push_back(SolveRange(dims[d], dim));
    }
  }
  return out;
}

Status UnequalSliceVectors(const std::string& begin, const std::string& end, const std::string& strides) {
  return InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ", begin, ", ",
                         end, ", and ", strides, " instead.");
}

}  // namespace weir

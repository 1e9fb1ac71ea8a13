// Ragged tensors: values and the splits that cut them into rows.
#include <algorithm>
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

Tensor IntVector(std::span<const int64_t> values, DType dtype) {
  if (dtype == DType::kInt64) return Tensor::Vector<int64_t>(values);
  return Tensor::Vector<int32_t>(std::vector<int32_t>(values.begin(), values.end()));
}

// A vector of splits over `count` items: from 0 to count, never falling.
StatusOr<Dims> Splits(const Tensor& tensor, int64_t count) {
  WEIR_ASSIGN_OR_RETURN(Dims splits, IntElements(tensor, "row_splits"));
  if (!tensor.shape().IsVector() || splits.empty()) return InvalidArgument("Invalid row split size.");
  if (splits[0] != 0) return InvalidArgument("First value of ragged splits must be 0.");
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1])
      return InvalidArgument("Ragged splits must be non decreasing, but got ", splits[i - 1], " followed by ",
                             splits[i]);
  }
  if (count >= 0 && splits.back() != count) {
    return InvalidArgument("Final value of ragged splits must match the number of values: ", splits.back(), " vs. ",
                           count);
  }
  return splits;
}

int64_t LongestRow(const Dims& splits) {
  int64_t longest = 0;
  for (size_t i = 1; i < splits.size(); ++i) longest = std::max(longest, splits[i] - splits[i - 1]);
  return longest;
}

// Sizes by splits of the rows that `ids` (sorted) name.
StatusOr<Dims> SplitsOfRowIds(const Tensor& tensor, int64_t rows) {
  WEIR_ASSIGN_OR_RETURN(Dims ids, IntElements(tensor, "value_rowids"));
  Dims splits(1, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= rows)
      return InvalidArgument("value_rowids[", i, "] = ", ids[i], " is not in [0, ", rows, ")");
    if (i > 0 && ids[i] < ids[i - 1])
      return InvalidArgument("value_rowids must not fall, but got ", ids[i - 1], " followed by ", ids[i]);
    while (static_cast<int64_t>(splits.size()) <= ids[i]) splits.push_back(static_cast<int64_t>(i));
  }
  splits.resize(rows + 1, static_cast<int64_t>(ids.size()));
  return splits;
}

class RaggedTensorToTensorKernel : public Kernel {
 public:
  explicit RaggedTensorToTensorKernel(std::vector<std::string> types) : types_(std::move(types)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> types, init.Attr<std::vector<std::string>>("row_partition_types"));
    if (static_cast<int>(types.size()) != init.num_inputs() - 3) {
      return InvalidArgument("There are ", types.size(), " row_partition_types for ", init.num_inputs() - 3,
                             " tensors");
    }
    return std::unique_ptr<Kernel>(std::make_unique<RaggedTensorToTensorKernel>(std::move(types)));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor values = ctx.input(1), fallback = ctx.input(2);
    if (values.rank() < 1) return InvalidArgument("The values of a ragged tensor must have at least one dimension");
    WEIR_ASSIGN_OR_RETURN(std::vector<Dims> levels, ReadLevels(ctx));
    const int ragged_rank = static_cast<int>(levels.size());
    if (levels.back().back() != values.dim(0)) {
      return InvalidArgument("The last row partition covers ", levels.back().back(), " values, but there are ",
                             values.dim(0));
    }
    const Shape element = values.shape().Slice(1, values.rank());
    WEIR_ASSIGN_OR_RETURN(Shape shape, OutputShape(ctx.input(0), levels, element));
    WEIR_ASSIGN_OR_RETURN(Shape common, BroadcastShape(element, fallback.shape()));
    if (!(common == element)) {
      return InvalidArgument("default_value of shape ", fallback.shape().ToString(), " does not broadcast to ",
                             element.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    // Every element starts as the default.
    Dims strides(ragged_rank + 1, 0);
    for (int64_t stride : BroadcastStrides(fallback.shape(), element)) strides.push_back(stride);
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, values.dtype(), shape.dims(), fallback.raw_data(), strides, out->raw_data(),
                                     DenseStrides(shape.dims())));
    const int64_t size = element.num_elements(), bytes = size * static_cast<int64_t>(SizeOf(values.dtype()));
    const Dims places = Places(levels, shape);
    for (int64_t i = 0; i < values.dim(0); ++i) {
      if (places[i] < 0) continue;
      CopyElements(values.dtype(), static_cast<const char*>(values.raw_data()) + i * bytes,
                   static_cast<char*>(out->raw_data()) + places[i] * bytes, size);
    }
    return OkStatus();
  }

 private:
  // Every partition as splits, the outermost first.
  StatusOr<std::vector<Dims>> ReadLevels(KernelContext& ctx) const {
    std::vector<Dims> levels;
    int64_t rows = -1;
    for (size_t i = 0; i < types_.size(); ++i) {
      const Tensor& tensor = ctx.input(static_cast<int>(i) + 3);
      if (types_[i] == "FIRST_DIM_SIZE") {
        if (i > 0) return InvalidArgument("FIRST_DIM_SIZE must be the first row partition");
        WEIR_ASSIGN_OR_RETURN(rows, IntScalar(tensor, "first_dim_size"));
        if (rows < 0) return InvalidArgument("The first dimension must not be negative, got ", rows);
        continue;
      }
      Dims splits;
      if (types_[i] == "ROW_SPLITS") {
        WEIR_ASSIGN_OR_RETURN(splits, Splits(tensor, -1));
      } else if (types_[i] == "VALUE_ROWIDS") {
        if (rows < 0) return InvalidArgument("Cannot handle VALUE_ROWIDS in first dimension.");
        WEIR_ASSIGN_OR_RETURN(splits, SplitsOfRowIds(tensor, rows));
      } else {
        return InvalidArgument("Unsupported row partition type ", types_[i]);
      }
      if (rows >= 0 && static_cast<int64_t>(splits.size()) - 1 != rows) {
        return InvalidArgument("A row partition cuts ", splits.size() - 1, " rows, but there are ", rows);
      }
      rows = splits.back();
      levels.push_back(std::move(splits));
    }
    if (levels.empty()) return InvalidArgument("A ragged tensor needs a row partition");
    return levels;
  }

  static StatusOr<Shape> OutputShape(const Tensor& wanted, const std::vector<Dims>& levels, const Shape& element) {
    WEIR_ASSIGN_OR_RETURN(Dims given, IntElements(wanted, "shape"));
    const int rank = static_cast<int>(levels.size()) + 1 + element.rank();
    if (wanted.rank() > 1 || (wanted.rank() == 0 && given[0] != -1)) {
      return InvalidArgument("The shape must be a vector or a scalar -1");
    }
    const bool open = wanted.rank() == 0;
    if (!open && static_cast<int>(given.size()) != rank) {
      return InvalidArgument("The shape has ", given.size(), " dimensions, but the ragged tensor has ", rank);
    }
    Shape shape;
    for (int d = 0; d < rank; ++d) {
      const int level = static_cast<int>(levels.size());
      int64_t size = d == 0       ? static_cast<int64_t>(levels[0].size()) - 1
                     : d <= level ? LongestRow(levels[d - 1])
                                  : element.dim(d - level - 1);
      if (!open && given[d] < -1) return InvalidArgument("Dimension ", d, " must be >= -1, got ", given[d]);
      if (!open && given[d] >= 0) {
        if (d > level && given[d] != size) {
          return InvalidArgument("Dimension ", d, " of the shape is ", given[d], ", but that of the values is ", size);
        }
        size = given[d];
      }
      WEIR_RETURN_IF_ERROR(shape.AddDim(size));
    }
    return shape;
  }

  // Where each value's row goes, -1 if it is cut off.
  static Dims Places(const std::vector<Dims>& levels, const Shape& shape) {
    Dims places;
    for (int64_t i = 0; i + 1 < static_cast<int64_t>(levels[0].size()); ++i)
      places.push_back(i < shape.dim(0) ? i : -1);
    for (size_t level = 0; level < levels.size(); ++level) {
      const int64_t width = shape.dim(static_cast<int>(level) + 1);
      Dims next;
      for (size_t row = 0; row + 1 < levels[level].size(); ++row) {
        for (int64_t i = levels[level][row]; i < levels[level][row + 1]; ++i) {
          const int64_t column = i - levels[level][row];
          next.push_back(places[row] < 0 || column >= width ? -1 : places[row] * width + column);
        }
      }
      places = std::move(next);
    }
    return places;
  }

  const std::vector<std::string> types_;
};

class RaggedRangeKernel : public Kernel {
 public:
  using Types = TypeList<BFloat16, float, double, int32_t, int64_t>;
  Status Compute(KernelContext& ctx) override {
    int64_t rows = 1;
    bool vectors = false;
    static constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).rank() > 1) return InvalidArgument(kNames[i], " must be a scalar or vector");
      if (ctx.input(i).rank() == 0) continue;
      if (vectors && ctx.input(i).dim(0) != rows)
        return InvalidArgument("starts, limits, and deltas must have the same shape");
      rows = ctx.input(i).dim(0);
      vectors = true;
    }
    Dims splits(1, 0);
    Status status;
    DispatchDType(ctx.output_type(1), Types{},
                  [&](auto tag) { status = Fill<typename decltype(tag)::type>(ctx, rows, splits); });
    ctx.set_output(0, IntVector(splits, ctx.output_type(0)));
    return status;
  }

 private:
  template <typename T>
  static Status Fill(KernelContext& ctx, int64_t rows, Dims& splits) {
    constexpr double kMost = 1LL << 40;
    auto at = [&](int input, int64_t row) {
      return ctx.input(input).template data<T>()[ctx.input(input).rank() == 0 ? 0 : row];
    };
    for (int64_t row = 0; row < rows; ++row) {
      const auto start = Widen(at(0, row)), limit = Widen(at(1, row)), delta = Widen(at(2, row));
      if (delta == 0) return InvalidArgument("Requires delta != 0");
      int64_t size = 0;
      if ((delta > 0 && start < limit) || (delta < 0 && start > limit)) {
        const double exact = (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta);
        if (!(exact < kMost)) return InvalidArgument("Requires ((limit - start) / delta) to be a possible size");
        size = static_cast<int64_t>(std::ceil(exact));
      }
      splits.push_back(splits.back() + size);
      if (static_cast<double>(splits.back()) > kMost) return InvalidArgument("The ranges are too long together");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({splits.back()})));
    for (int64_t row = 0; row < rows; ++row) {
      auto value = Widen(at(0, row));
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        values->data<T>()[i] = static_cast<T>(value);
        value = WrapAdd(value, Widen(at(2, row)));
      }
    }
    return OkStatus();
  }
};

class RaggedTensorToSparseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const int levels = ctx.num_inputs() - 1;
    const Tensor values = ctx.input(levels);
    if (values.rank() < 1) return InvalidArgument("The values of a ragged tensor must have at least one dimension");
    const Shape element = values.shape().Slice(1, values.rank());
    std::vector<Dims> splits(levels);
    for (int i = levels; i-- > 0;) {
      const int64_t items = i == levels - 1 ? values.dim(0) : static_cast<int64_t>(splits[i + 1].size()) - 1;
      WEIR_ASSIGN_OR_RETURN(splits[i], Splits(ctx.input(i), items));
    }
    Shape shape;
    WEIR_RETURN_IF_ERROR(shape.AddDim(static_cast<int64_t>(splits[0].size()) - 1));
    for (const Dims& level : splits) WEIR_RETURN_IF_ERROR(shape.AddDim(LongestRow(level)));
    for (int64_t dim : element.dims()) WEIR_RETURN_IF_ERROR(shape.AddDim(dim));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({values.num_elements(), shape.rank()})));
    std::vector<int64_t> rows(levels, 0);  // the row that each level is in
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      int64_t* index = indices->data<int64_t>() + i * shape.rank();
      int64_t item = i / element.num_elements(), rest = i % element.num_elements();
      for (int d = element.rank(); d-- > 0;) {
        index[levels + 1 + d] = rest % element.dim(d);
        rest /= element.dim(d);
      }
      for (int level = levels; level-- > 0;) {
        while (splits[level][rows[level] + 1] <= item) ++rows[level];
        index[level + 1] = item - splits[level][rows[level]];
        item = rows[level];
      }
      index[0] = item;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor flat, values.Reshaped(Shape({values.num_elements()})));
    ctx.set_output(1, std::move(flat));
    ctx.set_output(2, ShapeVector(shape));
    return OkStatus();
  }
};

class RaggedGatherKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const int levels = ctx.num_inputs() - 2;
    const Tensor values = ctx.input(levels), indices = ctx.input(levels + 1);
    if (values.rank() < 1) return InvalidArgument("params.rank must be nonzero");
    std::vector<Dims> splits(levels);
    for (int i = levels; i-- > 0;) {
      const int64_t items = i == levels - 1 ? values.dim(0) : static_cast<int64_t>(splits[i + 1].size()) - 1;
      WEIR_ASSIGN_OR_RETURN(splits[i], Splits(ctx.input(i), items));
    }
    const int64_t num_params = static_cast<int64_t>(splits[0].size()) - 1;
    WEIR_ASSIGN_OR_RETURN(Dims items, IntElements(indices, "indices"));
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i] < 0 || items[i] >= num_params) {
        return InvalidArgument("indices[", i, "] = ", items[i], " is not in [0, ", num_params, ")");
      }
    }
    // The dimensions of the indices come first, as rows of equal length.
    int output = 0;
    int64_t rows = 1;
    for (int d = 0; d + 1 < indices.rank(); ++d) {
      rows *= indices.dim(d);
      Dims even;
      for (int64_t i = 0; i <= rows; ++i) even.push_back(i * indices.dim(d + 1));
      ctx.set_output(output, IntVector(even, ctx.output_type(output)));
      ++output;
    }
    for (int level = 0; level < levels; ++level) {
      Dims ends(1, 0), next;
      for (int64_t item : items) {
        for (int64_t i = splits[level][item]; i < splits[level][item + 1]; ++i) next.push_back(i);
        ends.push_back(static_cast<int64_t>(next.size()));
      }
      items = std::move(next);
      if (indices.rank() == 0 && level == 0) continue;  // one row, whose items are the outermost dimension
      ctx.set_output(output, IntVector(ends, ctx.output_type(output)));
      ++output;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor taken, TakeRows(values, items));
    ctx.set_output(output, std::move(taken));
    return OkStatus();
  }
};

}  // namespace

void RegisterRaggedKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RaggedTensorToTensor"), MakeKernel<RaggedTensorToTensorKernel>);
  registry.Add(KernelBuilder("RaggedRange").Types("T", RaggedRangeKernel::Types{}), MakeKernel<RaggedRangeKernel>);
  registry.Add(KernelBuilder("RaggedTensorToSparse"), MakeKernel<RaggedTensorToSparseKernel>);
  registry.Add(KernelBuilder("RaggedGather"), MakeKernel<RaggedGatherKernel>);
}

}  // namespace weir

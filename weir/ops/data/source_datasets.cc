// Datasets made of tensors and numbers: TensorDataset, TensorSliceDataset, SparseTensorSliceDataset, RangeDataset,
// ListDataset.
#include <algorithm>

#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/number.h"

namespace weir {
namespace {

// An iterator whose whole state is the index of the next element.
template <typename D>
class IndexedIterator : public DatasetIterator {
 public:
  explicit IndexedIterator(std::shared_ptr<const D> dataset) : dataset_(std::move(dataset)) {}
  Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
    if (next_ >= dataset_->count()) {
      *end = true;
      return OkStatus();
    }
    return dataset_->At(next_++, out);
  }
  bool Ready() override { return true; }
  Status Save(IteratorContext& ctx, StateWriter state) override {
    state.PutInt("next", next_);
    return OkStatus();
  }
  Status Restore(IteratorContext& ctx, const StateReader& state) override {
    WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", dataset_->count()));
    return OkStatus();
  }

 private:
  const std::shared_ptr<const D> dataset_;
  int64_t next_ = 0;
};

// A dataset of `count()` elements that can be had by their index.
template <typename Derived>
class IndexedDataset : public Dataset {
 public:
  IndexedDataset(ElementSpec spec, int64_t count) : Dataset(std::move(spec)), count_(count) {}
  int64_t count() const { return count_; }
  int64_t Cardinality() const override { return count_; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<IndexedIterator<Derived>>(Self<Derived>()));
  }

 private:
  const int64_t count_;
};

ElementSpec SpecOf(const Element& element) {
  ElementSpec spec;
  for (const Tensor& tensor : element) {
    spec.types.push_back(tensor.dtype());
    spec.shapes.push_back(tensor.shape());
  }
  return spec;
}

class TensorDataset : public IndexedDataset<TensorDataset> {
 public:
  explicit TensorDataset(Element element) : IndexedDataset(SpecOf(element), 1), element_(std::move(element)) {}
  Status At(int64_t index, Element* out) const {
    *out = element_;
    return OkStatus();
  }

 private:
  const Element element_;
};

StatusOr<DatasetPtr> MakeTensorDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec("Toutput_types"));
  WEIR_ASSIGN_OR_RETURN(Element element, node.Tensors("components"));
  auto dataset = std::make_shared<TensorDataset>(std::move(element));
  WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec.types, dataset->spec().types));
  WEIR_RETURN_IF_ERROR(CheckShapesCompatible(spec.shapes, dataset->spec().shapes));
  return dataset;
}

class TensorSliceDataset : public IndexedDataset<TensorSliceDataset> {
 public:
  TensorSliceDataset(Element tensors, int64_t count)
      : IndexedDataset(SliceSpec(tensors), count), tensors_(std::move(tensors)) {}
  Status At(int64_t index, Element* out) const {
    out->reserve(tensors_.size());
    for (const Tensor& tensor : tensors_) {
      Tensor slice = tensor.SubTensor(index);
      // Kernels may want aligned memory.
      if (!slice.is_aligned()) {
        WEIR_ASSIGN_OR_RETURN(slice, slice.Clone());
      }
      out->push_back(std::move(slice));
    }
    return OkStatus();
  }

 private:
  static ElementSpec SliceSpec(const Element& tensors) {
    ElementSpec spec = SpecOf(tensors);
    for (size_t i = 0; i < tensors.size(); ++i) spec.shapes[i] = tensors[i].shape().Slice(1, tensors[i].rank());
    return spec;
  }
  const Element tensors_;
};

StatusOr<DatasetPtr> MakeTensorSliceDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec("Toutput_types"));
  WEIR_ASSIGN_OR_RETURN(Element tensors, node.Tensors("components"));
  if (tensors.empty() || tensors[0].rank() == 0) {
    return InvalidArgument("All components must be at least 1-dimensional");
  }
  const int64_t count = tensors[0].dim(0);
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() == 0) return InvalidArgument("All components must be at least 1-dimensional");
    if (tensor.dim(0) != count) return InvalidArgument("All components must have the same size in the 0th dimension");
  }
  auto dataset = std::make_shared<TensorSliceDataset>(std::move(tensors), count);
  WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec.types, dataset->spec().types));
  WEIR_RETURN_IF_ERROR(CheckShapesCompatible(spec.shapes, dataset->spec().shapes));
  return dataset;
}

// Each element is one tensor of the list.
class ListDataset : public IndexedDataset<ListDataset> {
 public:
  ListDataset(ElementSpec spec, Element tensors, int64_t count)
      : IndexedDataset(std::move(spec), count), tensors_(std::move(tensors)) {}
  Status At(int64_t index, Element* out) const {
    const size_t width = spec().types.size();
    out->assign(tensors_.begin() + index * width, tensors_.begin() + (index + 1) * width);
    return OkStatus();
  }

 private:
  const Element tensors_;
};

StatusOr<DatasetPtr> MakeListDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(Element tensors, node.Tensors("tensors"));
  const size_t width = spec.types.size();
  if (width == 0 || tensors.size() % width != 0) {
    return InvalidArgument("The number of tensors, ", tensors.size(), ", is no multiple of the components' number ",
                           width);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype() == spec.types[i % width]) continue;
    return InvalidArgument("Tensor ", i, " of the list has type ", Name(tensors[i].dtype()), " instead of ",
                           Name(spec.types[i % width]));
  }
  const int64_t count = static_cast<int64_t>(tensors.size() / width);
  return std::make_shared<ListDataset>(std::move(spec), std::move(tensors), count);
}

class RangeDataset : public IndexedDataset<RangeDataset> {
 public:
  RangeDataset(ElementSpec spec, int64_t start, int64_t step, int64_t count)
      : IndexedDataset(std::move(spec), count), start_(start), step_(step) {}
  Status At(int64_t index, Element* out) const {
    // Unsigned, since the intermediate product may wrap around; the sum itself fits.
    const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(start_) +
                                               static_cast<uint64_t>(index) * static_cast<uint64_t>(step_));
    const DType dtype = spec().types[0];
    if (dtype == DType::kInt64) {
      out->push_back(Tensor::Scalar(value));
      return OkStatus();
    }
    Tensor tensor;
    const bool known = DispatchDType(dtype, NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      tensor = Tensor::Scalar<T>(static_cast<T>(static_cast<float>(value)));
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) *tensor.data<T>() = static_cast<T>(value);
    });
    if (!known) return InvalidArgument("Unsupported data type: ", Name(dtype));
    out->push_back(std::move(tensor));
    return OkStatus();
  }

 private:
  const int64_t start_;
  const int64_t step_;
};

StatusOr<DatasetPtr> MakeRangeDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(int64_t start, node.Scalar<int64_t>("start"));
  WEIR_ASSIGN_OR_RETURN(int64_t stop, node.Scalar<int64_t>("stop"));
  WEIR_ASSIGN_OR_RETURN(int64_t step, node.Scalar<int64_t>("step"));
  if (step == 0) return InvalidArgument("step must be a non-zero integer.");
  if (spec.types.size() != 1) return InvalidArgument("RangeDataset has one component, not ", spec.types.size());
  __int128 count = 0;
  if (step > 0 && start < stop) count = (static_cast<__int128>(stop) - start - 1) / step + 1;
  if (step < 0 && start > stop) count = (static_cast<__int128>(start) - stop - 1) / -static_cast<__int128>(step) + 1;
  count = std::min<__int128>(count, std::numeric_limits<int64_t>::max());
  return std::make_shared<RangeDataset>(std::move(spec), start, step, static_cast<int64_t>(count));
}

// The rows of a sparse tensor, each a sparse tensor of one rank less: indices, values, dense shape.
class SparseSliceDataset : public IndexedDataset<SparseSliceDataset> {
 public:
  SparseSliceDataset(ElementSpec spec, Tensor indices, Tensor values, Tensor shape, std::vector<int64_t> starts)
      : IndexedDataset(std::move(spec), static_cast<int64_t>(starts.size()) - 1),
        indices_(std::move(indices)),
        values_(std::move(values)),
        row_shape_(std::move(shape)),
        starts_(std::move(starts)) {}
  Status At(int64_t row, Element* out) const {
    const int64_t begin = starts_[row], size = starts_[row + 1] - begin;
    const int64_t rank = indices_.dim(1) - 1;
    WEIR_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, Shape({size, rank})));
    WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(values_.dtype(), Shape({size})));
    for (int64_t i = 0; i < size; ++i) CopyElements(indices_, (begin + i) * (rank + 1) + 1, indices, i * rank, rank);
    CopyElements(values_, begin, values, 0, size);
    out->assign({std::move(indices), std::move(values), row_shape_});
    return OkStatus();
  }

 private:
  const Tensor indices_;
  const Tensor values_;
  const Tensor row_shape_;
  const std::vector<int64_t> starts_;  // of each row in the entries, and the end
};

StatusOr<DatasetPtr> MakeSparseSliceDataset(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(Tensor indices, node.OneTensor("indices"));
  WEIR_ASSIGN_OR_RETURN(Tensor values, node.OneTensor("values"));
  WEIR_ASSIGN_OR_RETURN(Tensor shape, node.OneTensor("dense_shape"));
  if (!indices.shape().IsMatrix()) {
    return InvalidArgument("Input indices must be a matrix. Got: ", indices.shape().ToString());
  }
  if (!values.shape().IsVector()) {
    return InvalidArgument("Input values must be a vector. Got: ", values.shape().ToString());
  }
  if (!shape.shape().IsVector()) {
    return InvalidArgument("Input shape must be a vector. Got: ", shape.shape().ToString());
  }
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim(0), " values, ",
                           "indices shape: ", indices.shape().ToString());
  }
  if (shape.dim(0) != indices.dim(1)) {
    return InvalidArgument("Number of dimensions must match second dimension of indices. Got ", shape.dim(0),
                           " dimensions, indices shape: ", indices.shape().ToString());
  }
  if (shape.num_elements() == 0) return InvalidArgument("The shape argument requires at least one element.");
  const int64_t rank = shape.dim(0), rows = shape.data<int64_t>()[0], count = indices.dim(0);
  // An empty row costs memory for its place, so the number of rows is limited.
  constexpr int64_t kMaxRows = int64_t{1} << 28;
  if (rows < 0 || rows > kMaxRows) return InvalidArgument("Sparse tensor with ", rows, " rows");
  std::vector<int64_t> starts(rows + 1, 0);
  int64_t previous = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices.data<int64_t>()[i * rank];
    if (row < previous)
      return Unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
          "currently supported.");
    if (row >= rows)
      return InvalidArgument("indices[", i, ",0] = ", row, " is out of bounds: need 0 <= index < ", rows);
    ++starts[row + 1];
    previous = row;
  }
  for (int64_t row = 0; row < rows; ++row) starts[row + 1] += starts[row];
  Tensor row_shape = Tensor::Vector<int64_t>(shape.span<int64_t>().subspan(1));
  ElementSpec spec;
  spec.types = {DType::kInt64, values.dtype(), DType::kInt64};
  spec.shapes = {PartialShape({-1, rank - 1}), PartialShape({-1}), PartialShape({rank - 1})};
  return std::make_shared<SparseSliceDataset>(std::move(spec), std::move(indices), std::move(values),
                                              std::move(row_shape), std::move(starts));
}

}  // namespace

void RegisterSourceDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"TensorDataset"}, MakeTensorDataset);
  RegisterDataset(registry, {"TensorSliceDataset"}, MakeTensorSliceDataset);
  RegisterDataset(registry, {"SparseTensorSliceDataset"}, MakeSparseSliceDataset);
  RegisterDataset(registry, {"ListDataset"}, MakeListDataset);
  RegisterDataset(registry, {"RangeDataset"}, MakeRangeDataset);
}

}  // namespace weir

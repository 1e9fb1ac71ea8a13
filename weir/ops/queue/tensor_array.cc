#include "weir/ops/queue/tensor_array.h"

#include <utility>

#include "weir/ops/queue/arithmetic.h"

namespace weir {

TensorArray::TensorArray(std::string name, Options options, int64_t size)
    : name_(std::move(name)), options_(std::move(options)), elements_(static_cast<size_t>(size)) {}

StatusOr<std::shared_ptr<TensorArray>> TensorArray::MakeGradient(std::string name, TensorArray& source,
                                                                 const Shape& shape_to_prepend) {
  absl::MutexLock lock(&source.mu_);
  WEIR_RETURN_IF_ERROR(source.CheckOpenLocked());
  if (source.gradients_disallowed_) {
    return InvalidArgument("Unable to create a gradients TensorArray for ", source.name_,
                           ".  Perhaps you used the multiple_writes_aggregate flag on a previous write?  Gradient "
                           "calculation is impossible when multiple writes are performed to the same index.");
  }
  source.options_.dynamic_size = false;
  Options options = source.options_;
  options.clear_after_read = true;
  if (options.element_shape.has_rank() && shape_to_prepend.rank() > 0) {
    PartialShape full(shape_to_prepend);
    for (int64_t size : options.element_shape.dims()) full.add_dim(size);
    options.element_shape = full;
  }
  auto gradient = std::make_shared<TensorArray>(std::move(name), std::move(options), source.elements_.size());
  gradient->is_gradient_ = true;
  absl::MutexLock gradient_lock(&gradient->mu_);
  gradient->marked_size_ = source.marked_size_;
  for (size_t i = 0; i < source.elements_.size(); ++i) {
    if (!source.elements_[i].written) continue;
    WEIR_ASSIGN_OR_RETURN(gradient->elements_[i].shape, shape_to_prepend.Concat(source.elements_[i].shape));
    gradient->elements_[i].written = true;
  }
  return gradient;
}

Status TensorArray::CheckOpenLocked() const {
  return closed_ ? InvalidArgument("TensorArray ", name_, " has already been closed.") : OkStatus();
}

Status TensorArray::Write(int64_t index, const Tensor& value, TensorArithmetic& arithmetic) {
  absl::MutexLock lock(&mu_);
  return WriteLocked(index, value, arithmetic);
}

Status TensorArray::WriteMany(std::span<const int32_t> indices, const std::vector<Tensor>& values,
                              TensorArithmetic& arithmetic) {
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < indices.size(); ++i) {
    WEIR_RETURN_IF_ERROR(WriteLocked(indices[i], values[i], arithmetic));
  }
  return OkStatus();
}

Status TensorArray::WriteLocked(int64_t index, const Tensor& value, TensorArithmetic& arithmetic) {
  WEIR_RETURN_IF_ERROR(CheckOpenLocked());
  int64_t size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !options_.dynamic_size)) {
    return InvalidArgument("TensorArray ", name_, ": Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size);
  }
  if (index >= size) {
    if (index >= kMaxSize) {
      return ResourceExhausted("TensorArray ", name_, ": Tried to write to index ", index, " but an array has at most ",
                               kMaxSize, " elements");
    }
    elements_.resize(static_cast<size_t>(index) + 1);
  }
  Element& element = elements_[index];
  std::string prefix = Cat("TensorArray ", name_, ": Could not write to TensorArray index ", index, " because ");
  if (value.dtype() != options_.dtype) {
    return InvalidArgument(prefix, "the value dtype is ", Name(value.dtype()), " but TensorArray dtype is ",
                           Name(options_.dtype), ".");
  }
  if (!options_.element_shape.IsCompatibleWith(value.shape())) {
    return InvalidArgument(prefix, "the value shape is ", value.shape().ToString(),
                           " which is incompatible with the TensorArray's inferred element shape: ",
                           options_.element_shape.ToString(), " (consider setting infer_shape=False).");
  }
  if (options_.identical_element_shapes) options_.element_shape = value.shape();
  if (element.read) return InvalidArgument(prefix, "it has already been read.");
  if (!element.written) {
    element.value = value;
    element.shape = value.shape();
    element.written = true;
    return OkStatus();
  }
  if (!is_gradient_) return InvalidArgument(prefix, "it has already been written to.");
  return AggregateLocked(element, index, value, arithmetic);
}

Status TensorArray::AggregateLocked(Element& element, int64_t index, const Tensor& value,
                                    TensorArithmetic& arithmetic) {
  if (value.shape() != element.shape) {
    return InvalidArgument("TensorArray ", name_, ": Could not aggregate to TensorArray index ", index,
                           " because the existing shape is ", element.shape.ToString(), " but the new input shape is ",
                           value.shape().ToString(), ".");
  }
  if (!element.value.has_value()) {  // only its shape was there: zeros
    element.value = value;
    return OkStatus();
  }
  if (!CanAdd(options_.dtype)) {
    return InvalidArgument("tensor_array::AddToTensor type not supported: ", Name(options_.dtype));
  }
  WEIR_ASSIGN_OR_RETURN(element.value, arithmetic.Sum(std::move(element.value), value));
  gradients_disallowed_ = true;
  return OkStatus();
}

StatusOr<Tensor> TensorArray::Read(int64_t index, TensorArithmetic& arithmetic) {
  absl::MutexLock lock(&mu_);
  return ReadLocked(index, arithmetic);
}

StatusOr<std::vector<Tensor>> TensorArray::ReadMany(std::span<const int32_t> indices, TensorArithmetic& arithmetic) {
  absl::MutexLock lock(&mu_);
  std::vector<Tensor> out;
  out.reserve(indices.size());
  for (int32_t index : indices) {
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), ReadLocked(index, arithmetic));
  }
  return out;
}

StatusOr<Tensor> TensorArray::ReadLocked(int64_t index, TensorArithmetic& arithmetic) {
  WEIR_RETURN_IF_ERROR(CheckOpenLocked());
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) {
    return InvalidArgument("Tried to read from index ", index, " but array size is: ", elements_.size());
  }
  Element& element = elements_[index];
  if (element.cleared) {
    return InvalidArgument("TensorArray ", name_, ": Could not read index ", index,
                           " twice because it was cleared after a previous read (perhaps try setting "
                           "clear_after_read = false?).");
  }
  if (!element.value.has_value()) {
    if (!element.written) {
      std::optional<Shape> shape = options_.element_shape.ToShape();
      if (!shape.has_value()) {
        return InvalidArgument(
            "TensorArray ", name_, ": Could not read from TensorArray index ", index,
            ".  Furthermore, the element shape is not fully defined: ", options_.element_shape.ToString(),
            ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not allowing the "
            "gradients to be written.  If you set the full element_shape property on the forward TensorArray, the "
            "proper all-zeros tensor will be returned instead of incurring this error.");
      }
      element.shape = *shape;
    }
    if (!CanAdd(options_.dtype) && options_.dtype != DType::kBool) {
      return InvalidArgument("tensor_array::TensorSetZero type not supported: ", Name(options_.dtype));
    }
    WEIR_ASSIGN_OR_RETURN(element.value, arithmetic.Zeros(options_.dtype, element.shape));
  }
  element.read = true;
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  return std::exchange(element.value, Tensor());
}

StatusOr<int64_t> TensorArray::Size() {
  absl::MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(CheckOpenLocked());
  return static_cast<int64_t>(elements_.size());
}

StatusOr<int64_t> TensorArray::PackSize() {
  absl::MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(CheckOpenLocked());
  return is_gradient_ ? marked_size_ : static_cast<int64_t>(elements_.size());
}

void TensorArray::MarkSize(int64_t size) {
  absl::MutexLock lock(&mu_);
  if (!is_gradient_) marked_size_ = size;
}

bool TensorArray::dynamic_size() const {
  absl::MutexLock lock(&mu_);
  return options_.dynamic_size;
}

Status TensorArray::MergeElementShape(const PartialShape& shape) {
  absl::MutexLock lock(&mu_);
  WEIR_ASSIGN_OR_RETURN(options_.element_shape, MergeElementShapes(options_.element_shape, shape));
  return OkStatus();
}

void TensorArray::Close() {
  std::vector<Element> doomed;
  absl::MutexLock lock(&mu_);
  doomed.swap(elements_);
  closed_ = true;
}

}  // namespace weir

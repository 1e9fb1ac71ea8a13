#include "weir/client/eager_tensor.h"

#include <atomic>

#include "weir/client/eager_execute.h"
#include "weir/runtime/eager_runtime.h"

namespace weir {
namespace {

int64_t NextId() {
  static std::atomic<int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

EagerTensor::EagerTensor(Tensor value) {
  if (!value.has_value()) return;
  data_ = std::make_shared<const Data>(Data{.value = std::move(value), .id = NextId()});
}

EagerTensor::EagerTensor(const Output& traced) {
  if (traced.has_value()) {
    data_ = std::make_shared<const Data>(Data{.traced = traced, .id = NextId()});
  } else if (traced.has_scope() && !traced.scope().ok()) {
    *this = Error(traced.scope().status());
  }
}

EagerTensor EagerTensor::Error(Status error) {
  EagerTensor out;
  out.data_ = std::make_shared<const Data>(Data{.status = std::move(error)});
  return out;
}

EagerTensor EagerTensor::WithId(Tensor value, int64_t id) {
  if (id == 0 || !value.has_value()) return EagerTensor(std::move(value));
  EagerTensor out;
  out.data_ = std::make_shared<const Data>(Data{.value = std::move(value), .id = id});
  return out;
}

StatusOr<Tensor> EagerTensor::value() const {
  if (data_ == nullptr) return FailedPrecondition("the tensor has no value");
  WEIR_RETURN_IF_ERROR(data_->status);
  if (is_traced()) return FailedPrecondition("the tensor is traced: it has a value only when the function is called");
  if (data_->value.in_host_memory()) return data_->value;
  return eager::Runtime().ToHost(data_->value);
}

std::string EagerTensor::device() const {
  if (!has_value() || is_traced()) return "";
  return eager::Runtime().Home(data_->value).name();
}

DType EagerTensor::dtype() const {
  if (!has_value()) return DType::kInvalid;
  return is_traced() ? BaseType(data_->traced.dtype()) : data_->value.dtype();
}

PartialShape EagerTensor::shape() const {
  if (!has_value()) return PartialShape();
  return is_traced() ? data_->traced.shape() : PartialShape(data_->value.shape());
}

}  // namespace weir

// EagerTensor: a tensor with a value, as eager functions take and return it.
//
// Errors stick to tensors: an operation that fails returns a tensor that holds the error, and everything computed from
// it holds the same error. So a formula needs no checks; `status()` or `value()` is called once at its end. While a
// function is traced (compile.h), a tensor stands for one of the graph under construction.
#ifndef WEIR_CLIENT_EAGER_TENSOR_H_
#define WEIR_CLIENT_EAGER_TENSOR_H_

#include <memory>
#include <string>

#include "weir/base/export.h"
#include "weir/client/scope.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// Copies are the same tensor, also for gradients.
class EagerTensor {
 public:
  EagerTensor() = default;
  EagerTensor(Tensor value);
  // A tensor of the graph that is being traced.
  explicit EagerTensor(const Output& traced);
  static EagerTensor Error(Status error);
  // For tapes: a tensor with the id by which a tape knows it (0: a new id).
  static EagerTensor WithId(Tensor value, int64_t id);

  // False for a tensor that was never set, and after an error.
  bool has_value() const { return data_ != nullptr && data_->status.ok(); }
  bool ok() const { return data_ == nullptr || data_->status.ok(); }
  Status status() const { return data_ == nullptr ? Status() : data_->status; }
  bool is_traced() const { return data_ != nullptr && data_->traced.has_value(); }

  // The tensor in host memory, or the reason why there is none. Waits for a GPU to compute it, and may also report an
  // error that the GPU found in other work.
  StatusOr<Tensor> value() const;
  // The tensor in its own memory. REQUIRES: has_value(), and not traced.
  const Tensor& tensor() const { return data_->value; }
  // The value of a scalar. REQUIRES: value() is OK and of that type.
  template <typename T>
  T scalar() const {
    return value()->scalar<T>();
  }
  // The full name of the device that holds it; empty without a value.
  std::string device() const;
  DType dtype() const;                                    // kInvalid without a value
  PartialShape shape() const;                             // complete unless traced
  const Output& traced() const { return data_->traced; }  // REQUIRES: is_traced()
  // Identifies the result of an operation; 0 without a value.
  int64_t id() const { return data_ == nullptr ? 0 : data_->id; }

 private:
  struct Data {
    Tensor value;
    Output traced;
    Status status;
    int64_t id = 0;
  };
  std::shared_ptr<const Data> data_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_TENSOR_H_

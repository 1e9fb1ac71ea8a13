// EagerTensor: what eager functions take and give: a tensor that exists.
//
// Errors stick to tensors: an operation that fails gives a tensor that holds the error, and what is computed from such
// a tensor holds the same error. So a formula is written without a check, and `status()` or `value()` is asked once at
// its end. While a function is traced (compile.h), a tensor stands for one of the graph that is built.
#ifndef WEIR_CLIENT_EAGER_TENSOR_H_
#define WEIR_CLIENT_EAGER_TENSOR_H_

#include <memory>
#include <string>

#include "weir/base/export.h"
#include "weir/client/scope.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// Copies are the same tensor, for gradients too.
class EagerTensor {
 public:
  EagerTensor() = default;
  EagerTensor(Tensor value);
  // A tensor of a graph that is being traced.
  explicit EagerTensor(const Output& traced);
  static EagerTensor Error(Status error);
  // For tapes: a tensor with the id that it has there (0: a new one).
  static EagerTensor WithId(Tensor value, int64_t id);

  // False for one that was never set and after an error.
  bool has_value() const { return data_ != nullptr && data_->status.ok(); }
  bool ok() const { return data_ == nullptr || data_->status.ok(); }
  Status status() const { return data_ == nullptr ? Status() : data_->status; }
  bool is_traced() const { return data_ != nullptr && data_->traced.has_value(); }

  // The tensor in the host's memory, or why there is none. Waits for a GPU to compute it; an error that the GPU found
  // in other work comes out here, too.
  StatusOr<Tensor> value() const;
  // The tensor where it is. REQUIRES: has_value(), and not traced.
  const Tensor& tensor() const { return data_->value; }
  // The one number of a scalar. REQUIRES: value() is OK, and of that type.
  template <typename T>
  T scalar() const {
    return value()->scalar<T>();
  }
  // The full name of the device whose memory it is in; empty without a value.
  std::string device() const;
  DType dtype() const;                                    // kInvalid without a value
  PartialShape shape() const;                             // complete unless traced
  const Output& traced() const { return data_->traced; }  // REQUIRES: is_traced()
  // Tells results of operations apart; 0 without a value.
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

// Eager execution of operations.
//
//   EagerTensor y = eager::Relu(eager::MatMul(x, w) + b);
//   WEIR_RETURN_IF_ERROR(y.status());
//
// There is a function for every operation (weir/client/eager/ops/), with the name and arguments of the graph function
// except for the scope. They may be called on any thread.
#ifndef WEIR_CLIENT_EAGER_EXECUTE_H_
#define WEIR_CLIENT_EAGER_EXECUTE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/base/export.h"
#include "weir/client/input.h"
#include "weir/framework/attribute.h"

namespace WEIR_PUBLIC weir {

class EagerRuntime;
class Device;

// The generated functions consist of this: it decides where an operation runs (or that it is traced), and has its
// results.
class EagerCall {
 public:
  EagerCall();
  ~EagerCall();
  EagerCall(const EagerCall&) = delete;
  const Scope& scope() const { return scope_; }
  EagerTensor One(const Output& output) const;
  // After an error, one tensor that holds it.
  std::vector<EagerTensor> List(const std::vector<Output>& outputs) const;
  Status Done(const Operation& operation) const;

 private:
  std::unique_ptr<struct EagerFrame> frame_;  // null: traced
  Scope scope_;
};

namespace eager {

// A tensor with the value of a literal, of the given type or of the literal's own.
EagerTensor Constant(const Input& literal, DType dtype = DType::kInvalid);

// Executes any operation by name, given its flattened inputs and the attributes that do not follow from them.
std::vector<EagerTensor> Execute(std::string_view op, const std::vector<EagerTensor>& inputs, AttrMap attrs = {});

// While this object lives, operations of this thread run on a device ("/device:GPU:0").
class OnDevice {
 public:
  explicit OnDevice(std::string_view device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  // NOT_FOUND if there is no such device; operations are then not affected.
  const Status& status() const { return status_; }

 private:
  Status status_;
  Device* before_;
};

// While this object lives, operations of this thread that have to wait (for an element of a queue, say) fail with
// DEADLINE_EXCEEDED after this time, or when `cancellation` fires.
class WithinTime {
 public:
  explicit WithinTime(absl::Duration duration, CancellationManager* cancellation = nullptr);
  ~WithinTime();
  WithinTime(const WithinTime&) = delete;

 private:
  absl::Time deadline_before_;
  CancellationManager* cancellation_before_;
};

// The runtime that executes them; one per process.
EagerRuntime& Runtime();

}  // namespace eager

// Operators on tensors.
EagerTensor operator-(const EagerTensor& a);
EagerTensor operator!(const EagerTensor& a);
#define WEIR_DECLARE_OPERATOR(symbol)                                      \
  EagerTensor operator symbol(const EagerTensor& a, const EagerTensor& b); \
  EagerTensor operator symbol(const EagerTensor& a, const Input& b);       \
  EagerTensor operator symbol(const Input& a, const EagerTensor& b);
WEIR_DECLARE_OPERATOR(+)
WEIR_DECLARE_OPERATOR(-)
WEIR_DECLARE_OPERATOR(*)
WEIR_DECLARE_OPERATOR(/)
WEIR_DECLARE_OPERATOR(<)
WEIR_DECLARE_OPERATOR(<=)
WEIR_DECLARE_OPERATOR(>)
WEIR_DECLARE_OPERATOR(>=)
#undef WEIR_DECLARE_OPERATOR

}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_EXECUTE_H_

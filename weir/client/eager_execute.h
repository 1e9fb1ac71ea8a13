// Running operations at once.
//
//   EagerTensor y = eager::Relu(eager::MatMul(x, w) + b);
//   WEIR_RETURN_IF_ERROR(y.status());
//
// There is a function for every operation (weir/client/eager/ops/), named as the one for graphs, with the same
// arguments but for the scope. All threads may call them.
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

// What the generated functions are made of: where one operation goes (it runs, or is traced), and its results.
class EagerCall {
 public:
  EagerCall();
  ~EagerCall();
  EagerCall(const EagerCall&) = delete;
  const Scope& scope() const { return scope_; }
  EagerTensor One(const Output& output) const;
  // After an error one tensor that holds it.
  std::vector<EagerTensor> List(const std::vector<Output>& outputs) const;
  Status Done(const Operation& operation) const;

 private:
  std::unique_ptr<struct EagerFrame> frame_;  // null: traced
  Scope scope_;
};

namespace eager {

// A tensor from a literal, of the type that is asked for or the literal's own.
EagerTensor Constant(const Input& literal, DType dtype = DType::kInvalid);

// Any operation by name: its inputs in order, flat, and attributes that do not follow from them.
std::vector<EagerTensor> Execute(std::string_view op, const std::vector<EagerTensor>& inputs, AttrMap attrs = {});

// Operations of this thread run on a device ("/device:GPU:0"), for a while.
class OnDevice {
 public:
  explicit OnDevice(std::string_view device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  // NOT_FOUND if there is no such device: operations then run where they did before.
  const Status& status() const { return status_; }

 private:
  Status status_;
  Device* before_;
};

// Operations of this thread that have to wait (for an element of a queue, say) give up after this time with
// DEADLINE_EXCEEDED, or when `cancellation` says so.
class WithinTime {
 public:
  explicit WithinTime(absl::Duration duration, CancellationManager* cancellation = nullptr);
  ~WithinTime();
  WithinTime(const WithinTime&) = delete;

 private:
  absl::Time deadline_before_;
  CancellationManager* cancellation_before_;
};

// What runs them, one for the process.
EagerRuntime& Runtime();

}  // namespace eager

// Of tensors.
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

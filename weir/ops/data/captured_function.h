// A function of the graph's library together with the tensors it captured, as datasets call it.
#ifndef WEIR_OPS_DATA_CAPTURED_FUNCTION_H_
#define WEIR_OPS_DATA_CAPTURED_FUNCTION_H_

#include <memory>
#include <string>

#include "weir/ops/data/dataset.h"

namespace weir {

struct CapturedFunction {
  FunctionAttr function;
  Element captured;
  std::string transformation;  // "MapDataset:5", for errors; may be empty
  std::string iterator;        // "Map"
};
using CapturedFunctionPtr = std::shared_ptr<const CapturedFunction>;

// A captured function made ready for one walk. Thread-safe.
class FunctionCaller {
 public:
  static StatusOr<std::unique_ptr<FunctionCaller>> Make(IteratorContext& ctx, CapturedFunctionPtr function);

  // Calls it and waits; `arguments` come before what was captured. Cancelling the context ends the wait. `index` is
  // the number of the element, for errors.
  Status Call(IteratorContext& ctx, Element arguments, int64_t index, Element* results) const;
  // The same where the result is a scalar truth. `what` begins the error if it is not.
  StatusOr<bool> CallPredicate(IteratorContext& ctx, Element arguments, int64_t index, std::string_view what) const;
  // The same where the result is a dataset.
  StatusOr<DatasetPtr> CallForDataset(IteratorContext& ctx, Element arguments, int64_t index) const;
  const ArgTypes& types() const { return *types_; }

 private:
  FunctionCaller(CapturedFunctionPtr function, FunctionRuntime::Handle handle, const ArgTypes* types)
      : function_(std::move(function)), handle_(handle), types_(types) {}
  Status Explain(const Status& status, int64_t index) const;

  const CapturedFunctionPtr function_;
  const FunctionRuntime::Handle handle_;
  const ArgTypes* const types_;
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_CAPTURED_FUNCTION_H_

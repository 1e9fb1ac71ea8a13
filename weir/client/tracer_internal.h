// Tracer: a function under construction, built by a C++ function that adds nodes. For weir/client only.
#ifndef WEIR_CLIENT_TRACER_INTERNAL_H_
#define WEIR_CLIENT_TRACER_INTERNAL_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/client/scope_internal.h"
#include "weir/graph/function_library.h"

namespace weir {

// Tensors of the outer graph that bodies use, in order; bodies that are called with the same inputs share the list.
using Captures = std::vector<Output>;

class Tracer {
 public:
  Tracer(const Scope& outer, std::shared_ptr<Captures> captures);
  ~Tracer();
  Tracer(const Tracer&) = delete;

  const Scope& scope() const { return inner_; }
  int num_results() const { return static_cast<int>(results_.size()); }
  const std::vector<Output>& results() const { return results_; }

  Output AddArgument(DType dtype, const PartialShape& shape);
  // Also accept eager tensors as inputs: `eager_captures` lists them.
  void CaptureEagerTensors();
  const std::vector<EagerTensor>& eager_captures() const { return eager_captures_; }
  // Runs `body`, whose results become those of the function. While it runs, eager functions of this thread add to the
  // body, provided that they added to the surrounding graph before.
  void Build(const std::function<std::vector<Output>(const Scope&)>& body);
  // Adds results; tensors of the outer graph among them become inputs.
  void AddResults(const std::vector<Output>& results);
  // The captured inputs, in the order of the shared list, including those of other bodies.
  std::vector<Output> CapturedArguments();
  bool is_stateful() const;

  // Adds the function to the outer graph's library. Must be called once, at the end.
  StatusOr<FunctionAttr> Finish(const std::string& name);

 private:
  Output AddArg(DType dtype, const PartialShape& shape);
  Output Capture(const Output& output);
  Output CaptureEager(const EagerTensor& tensor);

  Scope outer_;
  std::shared_ptr<Captures> captures_;
  Scope inner_;
  int next_index_ = 0;
  std::vector<NodeId> arguments_;
  std::vector<Output> results_;
  std::vector<std::pair<Output, Output>> captured_;
  std::vector<EagerTensor> eager_captures_;
  std::vector<Output> eager_arguments_;
};

// The scope to which eager functions of this thread add instead of executing; null if they execute.
const Scope*& TracedScope();

// Sets it to `scope` for the lifetime of this object.
class TraceInto {
 public:
  explicit TraceInto(const Scope* scope) : before_(std::exchange(TracedScope(), scope)) {}
  ~TraceInto() { TracedScope() = before_; }
  TraceInto(const TraceInto&) = delete;

 private:
  const Scope* before_;
};

// A C++ function on eager tensors, as a function of the eager runtime's library.
struct TracedFunction {
  FunctionAttr function;
  bool is_stateful = false;
  std::vector<DType> types;  // of its results
  std::vector<PartialShape> shapes;
  std::vector<EagerTensor> captures;  // additional inputs, after the arguments
};
struct ArgumentSpec {
  DType dtype = DType::kInvalid;
  PartialShape shape;
};
// With `around`, the function may use tensors of the graph that is being traced, and can only be called there.
StatusOr<TracedFunction> TraceFunction(
    const std::string& name, const std::vector<ArgumentSpec>& arguments,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>&)>& body,
    const Scope* around = nullptr);

}  // namespace weir

#endif  // WEIR_CLIENT_TRACER_INTERNAL_H_

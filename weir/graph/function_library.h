// FunctionLibrary: the functions that a graph's nodes may call, and their bodies as graphs.
#ifndef WEIR_GRAPH_FUNCTION_LIBRARY_H_
#define WEIR_GRAPH_FUNCTION_LIBRARY_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

class FunctionDef;  // wire format
class FunctionDefLibrary;

// A function's body with its attributes filled in: a graph with `_Arg` and `_Retval` nodes for arguments and results.
struct FunctionBody {
  explicit FunctionBody(Graph g) : graph(std::move(g)) {}
  Graph graph;
  std::vector<NodeId> args;          // by index
  std::vector<NodeId> rets;          // by index
  std::vector<NodeId> control_rets;  // nodes that must run even if no result needs them
  ArgTypes types;                    // of args and rets
  bool is_stateful = false;
};

// The name under which the gradient of a function is instantiated, and the op that calls it.
inline constexpr std::string_view kSymbolicGradient = "SymbolicGradient";

// Thread-safe. Functions may only be removed by owners who know that nothing calls them any more.
class FunctionLibrary {
 public:
  explicit FunctionLibrary(const OpRegistry& ops);
  ~FunctionLibrary();

  // OK if there is an equal function with this name, INVALID_ARGUMENT if there is a different one.
  Status Add(const FunctionDef& function);
  // All of them, or none.
  Status AddLibrary(const FunctionDefLibrary& library);
  // AddLibrary in two steps, for callers that have to inspect the new functions before others can see them. Schemas
  // found in the staged functions stay valid after Commit.
  class Staged;
  StatusOr<std::shared_ptr<Staged>> Stage(const FunctionDefLibrary& library) const;
  Status Commit(std::shared_ptr<Staged> staged);
  static const OpSchema* FindSchema(const Staged& staged, std::string_view name);  // null if unknown
  // Removes a function and all functions that it calls, directly or indirectly, except those for which `is_kept` is
  // true and the functions that these call. Returns the names of the removed functions. REQUIRES: nothing else calls or
  // instantiates them any more.
  std::vector<std::string> Remove(std::string_view name, const std::function<bool(std::string_view)>& is_kept);
  void ToProto(FunctionDefLibrary* library) const;

  // The schema for calling the function by name, like an op; null if unknown.
  const OpSchema* FindSchema(std::string_view name) const;
  bool Contains(std::string_view name) const { return FindSchema(name) != nullptr; }
  // The attributes of the function itself (`_noinline`, `_implements` ...).
  const AttrMap* FindAttrs(std::string_view name) const;
  // The function registered as the gradient of `name` (GradientDef), or empty.
  std::string FindGradient(std::string_view name) const;
  // The function that the library registers as the gradient of ops whose `_gradient_op_type` is `op_type`, or empty.
  std::string FindRegisteredGradient(std::string_view op_type) const;
  std::vector<std::string> Names() const;

  // Makes the body of SymbolicGradient from the body of a function. Its arguments are those of the function and the
  // gradients of the function's results; its results are the gradients of the function's arguments. Implemented in
  // weir/autodiff.
  using Differentiator = std::function<StatusOr<std::unique_ptr<FunctionBody>>(std::unique_ptr<FunctionBody>)>;
  // REQUIRES: no function has been instantiated yet.
  void set_differentiator(Differentiator differentiator) { differentiator_ = std::move(differentiator); }

  // Makes a function's body. The function "SymbolicGradient" with attribute `f` is the gradient of `f`, a function or
  // an op: the registered gradient function, if the library has one, or else the result of the differentiator.
  // NOT_FOUND if unknown; errors name the function and node. `library`, the owner of this object, becomes the library
  // of the body's graph. Calls in the body, recursive ones included, are not instantiated.
  StatusOr<std::unique_ptr<FunctionBody>> Instantiate(const FunctionAttr& function,
                                                      std::shared_ptr<FunctionLibrary> library) const;

 private:
  struct Record;
  StatusOr<std::unique_ptr<FunctionBody>> InstantiateGradient(const FunctionAttr& function,
                                                              std::shared_ptr<FunctionLibrary> library) const;

  const OpRegistry& ops_;
  Differentiator differentiator_;
  mutable absl::Mutex mu_;
  StringMap<std::unique_ptr<Record>> functions_ ABSL_GUARDED_BY(mu_);
  StringMap<std::string> gradients_ ABSL_GUARDED_BY(mu_);
  StringMap<std::string> registered_gradients_ ABSL_GUARDED_BY(mu_);
  // Functions equal to one that another thread committed first; nodes may refer to their schemas.
  std::vector<std::unique_ptr<Record>> duplicates_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_LIBRARY_H_

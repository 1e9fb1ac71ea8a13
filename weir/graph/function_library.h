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

// A function's body with attributes filled in: a graph whose `_Arg` and `_Retval` nodes are its ends.
struct FunctionBody {
  explicit FunctionBody(Graph g) : graph(std::move(g)) {}
  Graph graph;
  std::vector<NodeId> args;          // by index
  std::vector<NodeId> rets;          // by index
  std::vector<NodeId> control_rets;  // nodes that must run although no result needs them
  ArgTypes types;                    // of args and rets
  bool is_stateful = false;
};

// The name under which the gradient of a function is instantiated, and the op that calls it.
inline constexpr std::string_view kSymbolicGradient = "SymbolicGradient";

// Thread-safe. Functions are added, and removed only by owners who know that nothing calls them any more.
class FunctionLibrary {
 public:
  explicit FunctionLibrary(const OpRegistry& ops);
  ~FunctionLibrary();

  // OK if an equal function has the name already, INVALID_ARGUMENT if a different one has.
  Status Add(const FunctionDef& function);
  // All of them, or none.
  Status AddLibrary(const FunctionDefLibrary& library);
  // AddLibrary in two steps, for who must look at the new functions before they are there for everybody. Schemas found
  // in the staged functions stay valid after Commit.
  class Staged;
  StatusOr<std::shared_ptr<Staged>> Stage(const FunctionDefLibrary& library) const;
  Status Commit(std::shared_ptr<Staged> staged);
  static const OpSchema* FindSchema(const Staged& staged, std::string_view name);  // null if unknown
  // Removes a function and everything that it calls, directly or not, except functions for which `is_kept` holds and
  // what these call. Gives the names of those that were removed. REQUIRES: nothing else calls or instantiates them any
  // more.
  std::vector<std::string> Remove(std::string_view name, const std::function<bool(std::string_view)>& is_kept);
  void ToProto(FunctionDefLibrary* library) const;

  // The function as an op, so that a node may call it by its name as op type; null if unknown.
  const OpSchema* FindSchema(std::string_view name) const;
  bool Contains(std::string_view name) const { return FindSchema(name) != nullptr; }
  // The attributes of a function itself (`_noinline`, `_implements`, ...).
  const AttrMap* FindAttrs(std::string_view name) const;
  // The function registered as the gradient of `name` (GradientDef), or empty.
  std::string FindGradient(std::string_view name) const;
  // The function that the library registers as the gradient of ops whose `_gradient_op_type` is `op_type`, or empty.
  std::string FindRegisteredGradient(std::string_view op_type) const;
  std::vector<std::string> Names() const;

  // Makes the body of SymbolicGradient of a function from that function's body: arguments are the function's and what
  // flows into its results; results are the gradients of its arguments. The autodiff room has one.
  using Differentiator = std::function<StatusOr<std::unique_ptr<FunctionBody>>(std::unique_ptr<FunctionBody>)>;
  // REQUIRES: called before functions are instantiated.
  void set_differentiator(Differentiator differentiator) { differentiator_ = std::move(differentiator); }

  // Makes the body. The function "SymbolicGradient" with the attribute `f` is the gradient of `f`, a function or an op:
  // the one that the library names for it, or else what the differentiator makes. NOT_FOUND if unknown; errors name the
  // function and node. `library` is what the body's graph refers to (this object's owner). Recursion is not followed
  // here: a body only names what it calls.
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
  // Equal to a function that another thread committed first; nodes may refer to their schemas.
  std::vector<std::unique_ptr<Record>> duplicates_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_LIBRARY_H_

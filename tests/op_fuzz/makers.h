// Where handles, references and functions of a case come from: small subgraphs in front of the node.
#ifndef WEIR_TESTS_OP_FUZZ_MAKERS_H_
#define WEIR_TESTS_OP_FUZZ_MAKERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tests/op_fuzz/values.h"
#include "weir/graph/graph.h"

namespace weir::op_fuzz {

// The maker of old-style variables.
inline constexpr int kVariableRef = 0;

std::string_view MakerName(int maker);
// A maker of handles (resources, variants) that the op may like, or now and then any.
int AnyHandleMaker(DType dtype, std::string_view op, Chance& chance);
// The same of references of a type.
int AnyRefMaker(DType dtype, std::string_view op, Chance& chance);
// The type of elements that a node with these attributes expects behind a handle.
DType ElementTypeOf(const AttrMap& attrs);

// Adds the maker's nodes. `value` is what state is filled with if `filled`; nodes that must run before the handle is
// used go into `before`.
struct MakerRequest {
  Graph& graph;
  const AttrMap& consumer;
  const Tensor& value;
  bool filled = true;
  std::vector<NodeId>& before;
};
StatusOr<Endpoint> Make(int maker, const MakerRequest& request);
StatusOr<Endpoint> AddConstant(Graph& graph, const Tensor& value);

// The text of a GraphDef whose library has the functions that cases call.
std::string FunctionLibraryText();
std::string AnyFunctionName(bool predicate, Chance& chance);

}  // namespace weir::op_fuzz

#endif  // WEIR_TESTS_OP_FUZZ_MAKERS_H_

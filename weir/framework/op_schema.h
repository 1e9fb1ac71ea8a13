// OpSchema: what an operation is, apart from how it is computed. Schemas come from the families' `.ops` tables, or from
// the same text given by a user at run time (op_table.h).
#ifndef WEIR_FRAMEWORK_OP_SCHEMA_H_
#define WEIR_FRAMEWORK_OP_SCHEMA_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/framework/attribute.h"

namespace WEIR_PUBLIC weir {

class ShapeContext;
using ShapeFunction = Status (*)(ShapeContext&);

// An input or output: one tensor; or `number_attr` tensors of one type; or one tensor for each type of
// `type_list_attr`.
struct ArgSchema {
  std::string name;
  DType type = DType::kInvalid;  // the fixed type, if it is fixed
  std::string type_attr;         // else the type attribute that gives it
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct AttrSchema {
  std::string name;
  std::string type;  // "int", "type", "list(shape)", "func", ...
  std::optional<Attribute> default_value;
  std::optional<AttrList> allowed;  // types or strings
  std::optional<int64_t> minimum;   // of an int, or of a list's length
};

enum class Gradient { kAbsent, kNone, kYes };

// How an op takes part in waiting between the nodes of a step. Rewrites must not make a node wait for something that
// waits, directly or not, for that node.
enum class Waiting {
  kUnsaid,   // taken to be kMayWait if the op is stateful, else kPrompt
  kPrompt,   // neither waits for other nodes nor ends their waits
  kWakes,    // never waits, but may end the wait of another op: Send, closing a queue, giving to an accumulator
  kMayWait,  // may wait for what another op does, and may end waits itself: Recv, taking from a queue, calls
};

// What one result costs, beside reading and writing memory.
enum class OpCost {
  kOrdinary,
  kFree,            // hands tensors on, or is not executed at all
  kCheap,           // an instruction or two for each element: computing it again beats storing and loading it
  kTranscendental,  // about ten operations for each element
};

// Sums of products over dimensions that both operands have.
enum class Contraction { kNone, kProduct, kBatchProduct, kConvolution };

// What an op does in a network of mixed precision (passes/mixed_precision.h), to its tensors of the type `T`.
enum class MixedPrecision : uint8_t {
  kUnsaid,  // stays in float32
  kAllow,   // runs in the small type: products, convolutions, recurrent layers
  kInfer,   // may run in it, between such ops, unless what it takes needs float32
  kClear,   // the same; what it takes passes through unharmed
  kDeny,    // needs float32, and so does what kInfer ops make of its results: sums, exponentials, losses
};

struct OpSchema {
  std::string name;
  std::string family;
  std::vector<ArgSchema> inputs;
  std::vector<ArgSchema> outputs;
  std::vector<AttrSchema> attrs;
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  bool is_distributed_communication = false;
  // Each result depends on the elements at its own place alone ...
  bool is_elementwise = false;
  bool broadcasts = false;      // ... after operands of other shapes are broadcast; else all have one shape
  bool is_reduction = false;    // combines elements along the dimensions that the second input names
  bool is_rowwise = false;      // treats each row, along the last dimension, by itself
  bool is_activation = false;   // a nonlinearity that networks put behind a layer
  bool is_view = false;         // the first output is the first input's memory
  bool only_variables = false;  // all state is that of resource variables, which are read or changed in place
  MixedPrecision mixed_precision = MixedPrecision::kUnsaid;
  Waiting waiting = Waiting::kUnsaid;
  OpCost cost = OpCost::kOrdinary;
  Contraction contraction = Contraction::kNone;
  int deprecated_since = 0;  // GraphDef version, 0 if not
  std::string deprecation_reason;
  Gradient gradient = Gradient::kAbsent;
  std::string doc;
  std::string shape_function_name;         // as the table names it; empty if it names none
  ShapeFunction shape_function = nullptr;  // resolved by the registry

  const AttrSchema* FindAttr(std::string_view name) const;
  int FindInput(std::string_view name) const;  // index, or -1
  int FindOutput(std::string_view name) const;

  // Whether a node of this op may wait for other nodes, and whether it may end their waits.
  bool may_wait() const { return waiting == Waiting::kMayWait || (waiting == Waiting::kUnsaid && is_stateful); }
  bool may_wake() const { return waiting == Waiting::kWakes || may_wait(); }
};

// "Op<name=Neg; signature=x:T -> y:T; attr=T:type,allowed=[...]>", as TensorFlow's errors show an op.
std::string Summarize(const OpSchema& schema);

// The types of all tensors that go in and come out of a node with these attributes, in order. Ref outputs and inputs
// have ref types. INVALID_ARGUMENT if an attribute is missing or absurd.
struct ArgTypes {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
};
StatusOr<ArgTypes> ResolveArgTypes(const OpSchema& schema, const AttrMap& attrs);

// The tensors [begin, end) that belong to argument `index` of `args`.
struct ArgRange {
  int begin = 0;
  int end = 0;
};
StatusOr<ArgRange> ResolveArgRange(const std::vector<ArgSchema>& args, const AttrMap& attrs, int index);

// Checks every attribute of a node against the schema (present or default, kind, allowed, minimum; names with a
// leading '_' are free) and adds the missing defaults. Errors are TensorFlow's, without the node's name.
Status CheckAttrs(const OpSchema& schema, AttrMap& attrs);
// One attribute against its schema.
Status CheckAttr(const AttrSchema& schema, const Attribute& value);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_SCHEMA_H_

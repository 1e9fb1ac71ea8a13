// OpSchema: the interface of an operation. Schemas come from the families' `.ops` tables, or from the same text given
// by a user at run time (op_table.h).
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

// An input or output argument: one tensor; `number_attr` tensors of one type; or one tensor for each type of
// `type_list_attr`.
struct ArgSchema {
  std::string name;
  DType type = DType::kInvalid;  // the fixed type, if it is fixed
  std::string type_attr;         // otherwise the attribute that determines the type
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

// The role of an op in waits between the nodes of a step. Rewrites must not make a node wait for something that itself
// waits, directly or indirectly, for that node.
enum class Waiting {
  kUnsaid,   // treated as kMayWait if the op is stateful, else as kPrompt
  kPrompt,   // neither waits for other nodes nor ends their waits
  kWakes,    // never waits, but may end the wait of another op: Send, closing a queue, giving to an accumulator
  kMayWait,  // may wait for another op, and may end waits itself: Recv, taking from a queue, calls
};

// The cost of one result element, apart from reading and writing memory.
enum class OpCost {
  kOrdinary,
  kFree,            // passes tensors on, or is not executed at all
  kCheap,           // an instruction or two per element: recomputing it is cheaper than storing and loading it
  kTranscendental,  // about ten operations per element
};

// Whether the op sums products over dimensions that both operands have.
enum class Contraction { kNone, kProduct, kBatchProduct, kConvolution };

// How mixed precision (passes/mixed_precision.h) treats the op's tensors of type `T`.
enum class MixedPrecision : uint8_t {
  kUnsaid,  // stays in float32
  kAllow,   // runs in the small type: matrix products, convolutions, recurrent layers
  kInfer,   // may run in it between such ops, unless its inputs need float32
  kClear,   // the same, but passes its input on unharmed
  kDeny,    // needs float32, and so do kInfer ops that read its results: sums, exponentials, losses
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
  // Each result element depends only on the operands' elements at the same position ...
  bool is_elementwise = false;
  bool broadcasts = false;       // ... after operands of other shapes are broadcast; else all have one shape
  bool is_reduction = false;     // combines elements along the dimensions that the second input names
  bool is_rowwise = false;       // treats each row (along the last dimension) separately
  bool is_recomputable = false;  // takes little longer than reading its operands, so a result need not be kept
  bool is_activation = false;    // a nonlinearity that is commonly applied to the result of a layer
  bool is_view = false;          // the first output shares the memory of the first input
  bool only_variables = false;   // its only state is resource variables, which are read or modified in place
  MixedPrecision mixed_precision = MixedPrecision::kUnsaid;
  Waiting waiting = Waiting::kUnsaid;
  OpCost cost = OpCost::kOrdinary;
  Contraction contraction = Contraction::kNone;
  int deprecated_since = 0;  // GraphDef version; 0: not deprecated
  std::string deprecation_reason;
  Gradient gradient = Gradient::kAbsent;
  std::string doc;
  std::string shape_function_name;         // as named in the table; empty if there is none
  ShapeFunction shape_function = nullptr;  // resolved by the registry

  const AttrSchema* FindAttr(std::string_view name) const;
  int FindInput(std::string_view name) const;  // -1 if there is none
  int FindOutput(std::string_view name) const;

  // Whether a node of this op may wait for other nodes, and whether it may end their waits.
  bool may_wait() const { return waiting == Waiting::kMayWait || (waiting == Waiting::kUnsaid && is_stateful); }
  bool may_wake() const { return waiting == Waiting::kWakes || may_wait(); }
};

// "Op<name=Neg; signature=x:T -> y:T; attr=T:type,allowed=[...]>", TensorFlow's form in error messages.
std::string Summarize(const OpSchema& schema);

// The types of all input and output tensors of a node with these attributes, in order. Reference inputs and outputs
// have reference types. INVALID_ARGUMENT if an attribute is missing or invalid.
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

// Checks every attribute of a node against the schema (present or defaulted, kind, allowed, minimum; names with a
// leading '_' are ignored) and adds missing defaults. Errors are TensorFlow's, without the node's name.
Status CheckAttrs(const OpSchema& schema, AttrMap& attrs);
// Checks a single attribute.
Status CheckAttr(const AttrSchema& schema, const Attribute& value);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_SCHEMA_H_

// OpCall: adds one node from its arguments; the generated functions consist of it. It infers the types that follow from
// the inputs (`T`, `N`, lists of types), and turns literals into constants of the right type.
//
//   Output product = OpCall(scope, "MatMul").Add(a).Add(b).Set("transpose_a", true).Single();
#ifndef WEIR_CLIENT_OP_CALL_H_
#define WEIR_CLIENT_OP_CALL_H_

#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/input.h"
#include "weir/framework/attribute.h"

namespace WEIR_PUBLIC weir {

class OpCall {
 public:
  OpCall(const Scope& scope, const char* op);
  OpCall(const OpCall&) = delete;

  // Arguments in the order of the op's schema.
  OpCall& Add(const Input& input);
  OpCall& Add(const InputList& list);

  OpCall& Set(std::string_view name, std::string_view value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, const char* value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, int64_t value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, int value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, float value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, bool value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, DType value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, const PartialShape& value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, const Tensor& value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, const FunctionAttr& value) { return SetAny(name, Attribute(value)); }
  OpCall& Set(std::string_view name, const std::vector<std::string>& values);
  OpCall& Set(std::string_view name, const std::vector<int64_t>& values);
  OpCall& Set(std::string_view name, const std::vector<float>& values);
  OpCall& Set(std::string_view name, const std::vector<bool>& values);
  OpCall& Set(std::string_view name, const std::vector<DType>& values);
  OpCall& Set(std::string_view name, const std::vector<PartialShape>& values);
  OpCall& Set(std::string_view name, const std::vector<Tensor>& values);
  OpCall& Set(std::string_view name, const std::vector<FunctionAttr>& values);
  OpCall& SetAttribute(std::string_view name, Attribute value) { return SetAny(name, std::move(value)); }
  // Does nothing without a value: the schema's default applies.
  template <typename T>
  OpCall& Set(std::string_view name, const std::optional<T>& value) {
    return value ? Set(name, *value) : *this;
  }

  // Adds the node, if that has not been done, and returns it or its outputs.
  Operation Finish();
  Output Single();
  // The tensors of the output argument `index`.
  Output One(int index);
  std::vector<Output> List(int index);

 private:
  Input Own(const Input& input) const;
  OpCall& SetAny(std::string_view name, Attribute value);
  Status InferAttrs();
  void InferType(const ArgSchema& arg, std::span<const Input> inputs);
  StatusOr<std::vector<Endpoint>> Resolve(const std::string& node_name);
  Status AddToGraph();
  Status RunNow();
  Input Checked(const Input& input);
  StatusOr<DType> TypeOf(const ArgSchema& arg, const Input& literal) const;

  struct Argument {
    std::vector<Input> inputs;
    bool is_list = false;
  };
  Scope scope_;
  const char* op_;
  const OpSchema* schema_ = nullptr;
  std::vector<Argument> arguments_;
  AttrMap attrs_;
  NodeId node_ = kNoNode;
  bool finished_ = false;
};

}  // namespace weir

#endif  // WEIR_CLIENT_OP_CALL_H_

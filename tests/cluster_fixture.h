// What tests of clusters share: graphs whose nodes name their tasks.
#ifndef WEIR_TESTS_CLUSTER_FIXTURE_H_
#define WEIR_TESTS_CLUSTER_FIXTURE_H_

#include <string>
#include <vector>

#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/proto/graph.pb.h"
#include "weir/tensor/tensor.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {

// Adds nodes to a GraphDef: graph.Add("y", "Identity", {"x"}, "/job:ps/task:0").Type("T", DT_FLOAT).
class GraphText {
 public:
  class Added {
   public:
    explicit Added(NodeDef* node) : node_(node) {}
    Added& Type(const std::string& name, DataType type) {
      (*node_->mutable_attr())[name].set_type(type);
      return *this;
    }
    Added& Types(const std::string& name, std::vector<DataType> types) {
      for (DataType type : types) (*node_->mutable_attr())[name].mutable_list()->add_type(type);
      return *this;
    }
    Added& Text(const std::string& name, const std::string& text) {
      (*node_->mutable_attr())[name].set_s(text);
      return *this;
    }
    Added& Int(const std::string& name, int64_t value) {
      (*node_->mutable_attr())[name].set_i(value);
      return *this;
    }
    Added& Bool(const std::string& name, bool value) {
      (*node_->mutable_attr())[name].set_b(value);
      return *this;
    }
    Added& Function(const std::string& name, const std::string& function) {
      (*node_->mutable_attr())[name].mutable_func()->set_name(function);
      return *this;
    }
    Added& Value(const Tensor& value) {
      Type("dtype", static_cast<DataType>(value.dtype()));
      ToProto(value, (*node_->mutable_attr())["value"].mutable_tensor()).IgnoreError();
      return *this;
    }
    Added& Scalars(const std::string& name) {  // a known shape: scalar
      (*node_->mutable_attr())[name].mutable_shape();
      return *this;
    }
    Added& ListOfScalars(const std::string& name) {  // one known shape: scalar
      (*node_->mutable_attr())[name].mutable_list()->add_shape();
      return *this;
    }

   private:
    NodeDef* node_;
  };

  Added Add(const std::string& name, const std::string& op, const std::vector<std::string>& inputs = {},
            const std::string& device = "") {
    NodeDef* node = def_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    node->set_device(device);
    return Added(node);
  }
  void Const(const std::string& name, const Tensor& value, const std::string& device = "") {
    Add(name, "Const", {}, device).Value(value);
  }
  void Placeholder(const std::string& name, DataType type = DT_FLOAT, const std::string& device = "") {
    Add(name, "Placeholder", {}, device).Type("dtype", type);
  }
  void Identity(const std::string& name, const std::string& input, const std::string& device = "") {
    Add(name, "Identity", {input}, device).Type("T", DT_FLOAT);
  }
  // A float scalar variable `name` with `name/init` (0), `name/read`, and `name/add` that adds `delta`.
  void Variable(const std::string& name, const std::string& delta, const std::string& device) {
    Add(name, "VarHandleOp", {}, device).Type("dtype", DT_FLOAT).Scalars("shape").Text("shared_name", name);
    Const(name + "/zero", Tensor::Scalar(0.0f), device);
    Add(name + "/init", "AssignVariableOp", {name, name + "/zero"}, device).Type("dtype", DT_FLOAT);
    Add(name + "/read", "ReadVariableOp", {name}, device).Type("dtype", DT_FLOAT);
    Add(name + "/add", "AssignAddVariableOp", {name, delta}, device).Type("dtype", DT_FLOAT);
  }
  // A queue of float scalars with `name/put` of `value` and `name/take`.
  void Queue(const std::string& name, const std::string& value, const std::string& device) {
    Add(name, "FIFOQueueV2", {}, device).Types("component_types", {DT_FLOAT}).Text("shared_name", name);
    Add(name + "/put", "QueueEnqueueV2", {name, value}, device).Types("Tcomponents", {DT_FLOAT});
    Add(name + "/take", "QueueDequeueV2", {name}, device).Types("component_types", {DT_FLOAT});
  }

  // A function of a float "x" and one result, whose body is still to be written.
  FunctionDef* AddFunction(const std::string& name, const std::string& result, DataType type) {
    FunctionDef* function = def_.mutable_library()->add_function();
    function->mutable_signature()->set_name(name);
    OpDef::ArgDef* input = function->mutable_signature()->add_input_arg();
    input->set_name("x");
    input->set_type(DT_FLOAT);
    OpDef::ArgDef* output = function->mutable_signature()->add_output_arg();
    output->set_name(result);
    output->set_type(type);
    return function;
  }

  const GraphDef& def() const { return def_; }

 private:
  GraphDef def_;
};

}  // namespace weir

#endif  // WEIR_TESTS_CLUSTER_FIXTURE_H_

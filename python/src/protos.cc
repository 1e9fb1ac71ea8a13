#include "python/src/protos.h"

#include <deque>
#include <set>

#include "google/protobuf/descriptor.pb.h"
#include "python/src/op.h"
#include "weir/graph/function_library.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/proto/config.pb.h"
#include "weir/proto/event.pb.h"
#include "weir/proto/example.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/proto/master.pb.h"
#include "weir/proto/saved_model.pb.h"

namespace weir::python {
namespace {

void AddFile(const google::protobuf::FileDescriptor* file, std::set<std::string>* seen,
             google::protobuf::FileDescriptorSet* out) {
  if (!seen->insert(file->name()).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), seen, out);
  google::protobuf::FileDescriptorProto* copy = out->add_file();
  file->CopyTo(copy);
  file->CopyJsonNameTo(copy);
}

PyObject* ToBytes(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

// The names of functions that a node calls: its op, and its attributes.
void Called(const NodeDef& node, std::deque<std::string>* names) {
  names->push_back(node.op());
  for (const auto& attr : node.attr()) {
    if (attr.second.has_func()) names->push_back(attr.second.func().name());
    for (const NameAttrList& function : attr.second.list().func()) names->push_back(function.name());
    // The gradient of a node may be a function that is named here alone.
    if (attr.first == "_gradient_op_type") names->push_back(attr.second.s());
  }
}

}  // namespace

PyObject* ProtoFiles(PyObject*, PyObject*) {
  google::protobuf::FileDescriptorSet files;
  std::set<std::string> seen;
  for (const google::protobuf::Descriptor* message :
       {Example::descriptor(), Event::descriptor(), SavedModel::descriptor(), ConfigProto::descriptor(),
        CheckpointState::descriptor(), NamedTensorProto::descriptor()}) {
    AddFile(message->file(), &seen, &files);
  }
  return ToBytes(files);
}

PyObject* ExportFunctions(PyObject*, PyObject* names) {
  Ref items = Ref::Own(PySequence_Fast(names, "expected a list of names"));
  if (!items) return nullptr;
  std::deque<std::string> todo;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    todo.emplace_back();
    if (!ToString(PySequence_Fast_GET_ITEM(items.get(), i), &todo.back())) return nullptr;
  }
  FunctionDefLibrary all, chosen;
  Runtime().functions()->ToProto(&all);
  std::map<std::string, FunctionDef*> by_name;
  for (FunctionDef& function : *all.mutable_function()) by_name[function.signature().name()] = &function;
  std::map<std::string, std::string> gradients, registered;
  for (const GradientDef& gradient : all.gradient()) gradients[gradient.function_name()] = gradient.gradient_func();
  for (const RegisteredGradient& gradient : all.registered_gradients()) {
    registered[gradient.registered_op_type()] = gradient.gradient_func();
  }
  std::set<std::string> seen;
  while (!todo.empty()) {
    const std::string name = std::move(todo.front());
    todo.pop_front();
    if (!seen.insert(name).second) continue;
    if (auto it = registered.find(name); it != registered.end()) {
      RegisteredGradient* gradient = chosen.add_registered_gradients();
      gradient->set_registered_op_type(name);
      gradient->set_gradient_func(it->second);
      todo.push_back(it->second);
    }
    auto found = by_name.find(name);
    if (found == by_name.end()) continue;  // an op
    for (const NodeDef& node : found->second->node_def()) Called(node, &todo);
    for (const auto& attr : found->second->attr()) {
      if (attr.second.has_func()) todo.push_back(attr.second.func().name());
      // Names of functions of which this one is a part: forward and backward passes.
      if (attr.first == "forward_function_name" || attr.first == "backward_function_name")
        todo.push_back(attr.second.s());
    }
    if (auto it = gradients.find(name); it != gradients.end()) {
      GradientDef* gradient = chosen.add_gradient();
      gradient->set_function_name(name);
      gradient->set_gradient_func(it->second);
      todo.push_back(it->second);
    }
    chosen.add_function()->Swap(found->second);
  }
  return ToBytes(chosen);
}

PyObject* AddFunctions(PyObject*, PyObject* arg) {
  std::string bytes;
  if (!ToString(arg, &bytes)) return nullptr;
  FunctionDefLibrary library;
  if (!library.ParseFromString(bytes)) {
    return PyErr_Format(PyExc_ValueError, "these are not the bytes of a FunctionDefLibrary");
  }
  const Status status = Runtime().functions()->AddLibrary(library);
  if (!status.ok()) return Raise(status);
  Py_RETURN_NONE;
}

}  // namespace weir::python

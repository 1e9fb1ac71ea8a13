#include "python/src/op.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "python/src/attributes.h"
#include "python/src/constant.h"
#include "python/src/graph.h"
#include "python/src/interrupt.h"
#include "python/src/observe.h"
#include "python/src/py_function.h"
#include "python/src/tape.h"
#include "python/src/tensor.h"
#include "weir/client/eager_execute.h"
#include "weir/tensor/resource_handle.h"

namespace weir::python {

EagerRuntime& Runtime() {
  static EagerRuntime* const runtime = [] {
    EagerRuntime& made = eager::Runtime();
    RegisterPythonKernels(made.environment()->kernels);
    return &made;
  }();
  return *runtime;
}
const OpRegistry& Ops() { return Runtime().environment()->ops; }

namespace {

// Beyond this many elements an op may take long enough for other threads to want the interpreter.
constexpr int64_t kShortElements = 16384;

thread_local Device* t_device = nullptr;  // null: where operations go by themselves

struct Parameter {
  PyObject* name;  // interned
  int input = -1;  // index, or
  int attr = -1;   // index
};

struct CacheEntry {
  std::shared_ptr<const EagerRuntime::Prepared> prepared;
  bool is_short;
};

struct OpState {
  const OpSchema* schema;
  std::vector<Parameter> parameters;
  PyObject* name_key;               // "name"
  std::vector<bool> is_list;        // by input
  std::vector<bool> is_inferred;    // by attr
  PyObject* result_type = nullptr;  // namedtuple, for several outputs
  bool may_hold_lock = false;
  bool is_call = false;
  StringMap<CacheEntry> cache;
};

struct PyOp {
  PyObject_HEAD vectorcallfunc vectorcall;
  OpState* state;
};

PyTypeObject* g_op_type = nullptr;

// One argument of a call.
struct Argument {
  PyObject* given = nullptr;            // borrowed
  absl::InlinedVector<Ref, 2> tensors;  // converted; one unless it is a list
};

bool IsPlainPython(PyObject* object) {
  return PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
         PyUnicode_Check(object) || PyBytes_Check(object) || PyList_Check(object) || PyTuple_Check(object);
}

bool IsArray(PyObject* object) {
  static PyObject* const ndarray = Hook("ndarray");
  static PyObject* const generic = Hook("np_generic");
  return ndarray != nullptr && generic != nullptr &&
         (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(ndarray)) ||
          PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(generic)));
}

bool IsNumericArray(PyObject* object) {
  static PyObject* const ndarray = Hook("ndarray");
  if (ndarray == nullptr || !PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(ndarray))) return false;
  Ref dtype = Ref::Own(PyObject_GetAttrString(object, "dtype"));
  Ref kind = dtype ? Ref::Own(PyObject_GetAttrString(dtype.get(), "kind")) : Ref();
  const char* letter = kind ? PyUnicode_AsUTF8(kind.get()) : nullptr;
  if (letter == nullptr) {
    PyErr_Clear();
    return false;
  }
  return std::strchr("biufc", letter[0]) != nullptr;
}

class Call;
thread_local const Call* t_call = nullptr;  // whose op Execute runs, for the end of an error's message

// The name of the function around a single op that TensorFlow names in errors of kernels: the op, and the length of
// each list among its arguments, in the order of the attributes' names.
std::string WrapperName(const OpSchema& schema, const AttrMap& attrs) {
  std::map<std::string, int64_t> lengths;
  auto note = [&](const ArgSchema& arg) {
    if (!arg.number_attr.empty()) {
      if (StatusOr<int64_t> count = GetAttr<int64_t>(attrs, arg.number_attr); count.ok()) {
        lengths[arg.number_attr] = *count;
      }
    }
    if (!arg.type_list_attr.empty()) {
      if (StatusOr<std::vector<DType>> types = GetAttr<std::vector<DType>>(attrs, arg.type_list_attr); types.ok()) {
        lengths[arg.type_list_attr] = static_cast<int64_t>(types->size());
      }
    }
  };
  for (const ArgSchema& arg : schema.inputs) note(arg);
  for (const ArgSchema& arg : schema.outputs) note(arg);
  std::string name = Cat("__wrapped__", schema.name);
  for (const auto& [attr, length] : lengths) name += Cat("_", attr, "_", length);
  return name;
}

bool IsCall(const OpSchema& schema) {
  return schema.name == "PartitionedCall" || schema.name == "StatefulPartitionedCall";
}

// An error of a kernel in TensorFlow's words.
Status FromKernel(const Status& status, const OpSchema& schema, const AttrMap& attrs) {
  if (IsCall(schema)) return status;
  std::string device;
  if (t_device != nullptr) {
    device = t_device->name();
  } else if (StatusOr<Device*> found = Runtime().FindDevice("CPU:0"); found.ok()) {
    device = (*found)->name();
  }
  return Annotate(status, Cat("{{function_node ", WrapperName(schema, attrs), "_device_", device, "}} "));
}

// New reference to a tensor; in a graph a constant gets this name.
PyObject* Convert(PyObject* value, DType wanted, DType preferred, const std::string& name) {
  if (IsTensor(value)) return Py_NewRef(value);
  if (CurrentGraph() == nullptr) {
    Tensor out;
    Converted converted = ToTensor(value, wanted, &out);
    if (converted == Converted::kUnknown && wanted == DType::kInvalid && preferred != DType::kInvalid) {
      converted = ToTensor(value, preferred, &out);
    }
    if (converted == Converted::kYes) return NewEager(std::move(out));
    if (converted == Converted::kError) return nullptr;
  }
  PyObject* hook = Hook("convert");
  if (hook == nullptr) return nullptr;
  Ref dtype = wanted != DType::kInvalid ? Ref::Own(FromDType(wanted)) : Ref::Borrow(Py_None);
  Ref hint = preferred != DType::kInvalid ? Ref::Own(FromDType(preferred)) : Ref::Borrow(Py_None);
  Ref label = Ref::Own(FromString(name));
  if (!dtype || !hint || !label) return nullptr;
  PyObject* const arguments[] = {value, dtype.get(), hint.get(), label.get()};
  Ref tensor = Ref::Own(PyObject_Vectorcall(hook, arguments, 4, nullptr));
  if (!tensor) return nullptr;
  if (!IsTensor(tensor.get())) {
    return PyErr_Format(PyExc_TypeError, "%R cannot be converted to a tensor", value);
  }
  return tensor.release();
}

// The bytes that tell one signature from another.
class Key {
 public:
  void Add(const void* data, size_t size) {
    if (size_ + size > sizeof(bytes_)) {
      is_full_ = true;
      return;
    }
    std::memcpy(bytes_ + size_, data, size);
    size_ += size;
  }
  template <typename T>
  void AddValue(T value) {
    Add(&value, sizeof(value));
  }
  void Spoil() { is_full_ = true; }
  bool is_usable() const { return !is_full_; }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[160];
  size_t size_ = 0;
  bool is_full_ = false;
};

// The graph that an operation goes to: in graphs of sessions it is that of its inputs, whichever is the default.
PyObject* GraphFor(PyObject* current, const Tensors& inputs) {
  if (StateOf(current).orders_effects) return current;  // a function captures instead
  for (const Ref& input : inputs) {
    if (!IsSymbolic(input.get())) continue;
    PyObject* graph = AsTensor(input.get())->graph;
    if (graph == current) return current;
    if (graph != nullptr && !StateOf(graph).orders_effects) return graph;
  }
  return current;
}

class Call {
 public:
  Call(OpState& op, PyObject* const* args, size_t count, PyObject* names)
      : op_(op), schema_(*op.schema), arguments_(schema_.inputs.size()), attrs_(schema_.attrs.size(), nullptr) {
    ok_ = Bind(args, count, names);
  }

  PyObject* Run() {
    if (!ok_ || !ConvertInputs()) return nullptr;
    PyObject* const graph = CurrentGraph();
    if (graph == nullptr && !IsObserved()) {
      if (PyObject* result = RunFromCache(); result != nullptr || PyErr_Occurred()) return result;
    }
    AttrMap attrs;
    if (!MakeAttrs(&attrs)) return nullptr;
    Tensors inputs, outputs;
    for (const Argument& argument : arguments_) {
      for (const Ref& tensor : argument.tensors) inputs.push_back(tensor);
    }
    if (graph != nullptr) {
      PyObject* const target = GraphFor(graph, inputs);
      PyObject* node = nullptr;
      if (!AddToGraph(target, inputs, attrs, &outputs, &node)) return nullptr;
      Ref owner = Ref::Own(node);
      if (schema_.outputs.empty()) return owner.release();
      return Pack(outputs, StateOf(target).graph.node(last_node_)->attrs);
    }
    t_call = this;
    const bool done = Execute(schema_, inputs, attrs, nullptr, &outputs);
    t_call = nullptr;
    if (!done) return nullptr;
    CheckAttrs(schema_, attrs).IgnoreError();
    return Pack(outputs, attrs);
  }

  // Adds the node; `operation` is its Operation object if it has no outputs, else null.
  bool AddToGraph(PyObject* graph, const Tensors& inputs, const AttrMap& attrs, Tensors* outputs, PyObject** operation);
  bool CheckTypes() const;

  // Lists and strings among the inputs take TensorFlow's slow path, whose errors end without the name.
  static bool IsSlow(PyObject* value) {
    return PyList_Check(value) || PyTuple_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value);
  }
  std::string ErrorSuffix() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      PyObject* const given = arguments_[i].given;
      if (!op_.is_list[i]) {
        if (given != nullptr && IsSlow(given)) return "";
        continue;
      }
      Ref items = Ref::Own(PySequence_Fast(given, ""));
      if (!items) {
        PyErr_Clear();
        return "";
      }
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(items.get()); ++k) {
        if (IsSlow(PySequence_Fast_GET_ITEM(items.get(), k))) return "";
      }
    }
    const char* name = name_ != nullptr && PyUnicode_Check(name_) ? PyUnicode_AsUTF8(name_) : "";
    return Cat(" name: ", name != nullptr ? name : "");
  }

 private:
  bool Bind(PyObject* const* args, size_t count, PyObject* names) {
    if (count > op_.parameters.size() + 1) {
      PyErr_Format(PyExc_TypeError, "%s takes from %zu to %zu positional arguments but %zu were given",
                   schema_.name.c_str(), schema_.inputs.size(), op_.parameters.size() + 1, count);
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (i == op_.parameters.size()) {
        name_ = args[i];
      } else {
        Set(op_.parameters[i], args[i]);
      }
    }
    const Py_ssize_t num_names = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < num_names; ++i) {
      PyObject* key = PyTuple_GET_ITEM(names, i);
      PyObject* value = args[count + i];
      if (key == op_.name_key) {
        name_ = value;
        continue;
      }
      const Parameter* found = nullptr;
      for (const Parameter& parameter : op_.parameters) {
        if (parameter.name == key) found = &parameter;
      }
      if (found == nullptr) {
        for (const Parameter& parameter : op_.parameters) {
          if (PyUnicode_Compare(parameter.name, key) == 0) found = &parameter;
        }
        if (found == nullptr && PyUnicode_Compare(op_.name_key, key) == 0) {
          name_ = value;
          continue;
        }
      }
      if (found == nullptr) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", schema_.name.c_str(), key);
        return false;
      }
      if (IsSet(*found)) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", schema_.name.c_str(), key);
        return false;
      }
      Set(*found, value);
    }
    for (const Parameter& parameter : op_.parameters) {
      const bool needs = parameter.input >= 0 || !schema_.attrs[parameter.attr].default_value;
      if (needs && !IsSet(parameter)) {
        PyErr_Format(PyExc_TypeError, "%s missing required argument: '%U'", schema_.name.c_str(), parameter.name);
        return false;
      }
    }
    return true;
  }

  void Set(const Parameter& parameter, PyObject* value) {
    (parameter.input >= 0 ? arguments_[parameter.input].given : attrs_[parameter.attr]) = value;
  }
  bool IsSet(const Parameter& parameter) const {
    return (parameter.input >= 0 ? arguments_[parameter.input].given : attrs_[parameter.attr]) != nullptr;
  }

  // The type of a type attribute as far as it is known from tensors that were given.
  DType& TypeOf(const std::string& attr) {
    for (auto& [name, dtype] : types_) {
      if (*name == attr) return dtype;
    }
    types_.emplace_back(&attr, DType::kInvalid);
    return types_.back().second;
  }

  // A value that knows its own type: tensors, variables, keras variables.
  bool TakeTensor(PyObject* value, DType fixed, const std::string& name, Ref* out) {
    if (IsTensor(value)) {
      *out = Ref::Borrow(value);
      return true;
    }
    if (IsPlainPython(value) || IsArray(value) || value == Py_None) return true;
    *out = Ref::Own(
        Convert(value, fixed == DType::kResource || fixed == DType::kVariant ? fixed : DType::kInvalid, fixed, name));
    return static_cast<bool>(*out);
  }

  // What is added while inputs are converted has names inside that of the op: "MatMul/b".
  class InsideOp {
   public:
    InsideOp(GraphState& state, const std::string& name) : state_(state), before_(state.name_scope) {
      state_.name_scope = name + "/";
    }
    ~InsideOp() { state_.name_scope = before_; }

   private:
    GraphState& state_;
    std::string before_;
  };

  bool ReserveName(PyObject* graph) {
    std::string name;
    if (name_ != nullptr && name_ != Py_None && !ToString(name_, &name)) return false;
    GraphState& state = StateOf(graph);
    reserved_name_ = name.ends_with("/") ? name.substr(0, name.size() - 1)
                                         : state.UniqueName(state.name_scope + (name.empty() ? schema_.name : name));
    return true;
  }

  bool ConvertInputs() {
    // Simple and by far the most frequent: every input is one eager tensor.
    bool all = true;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Argument& argument = arguments_[i];
      if (!op_.is_list[i] && IsTensor(argument.given)) {
        argument.tensors.push_back(Ref::Borrow(argument.given));
      } else {
        all = false;
      }
    }
    if (all) return true;
    std::optional<InsideOp> inside;
    if (PyObject* graph = CurrentGraph()) {
      if (!ReserveName(graph)) return false;
      inside.emplace(StateOf(graph), reserved_name_);
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const ArgSchema& schema = schema_.inputs[i];
      Argument& argument = arguments_[i];
      if (op_.is_list[i]) {
        Ref items = Ref::Own(PySequence_Fast(argument.given, ""));
        if (!items || (!PyList_Check(argument.given) && !PyTuple_Check(argument.given))) {
          PyErr_Format(PyExc_TypeError, "Expected list for '%s' argument to '%s' Op, not %R.", schema.name.c_str(),
                       schema_.name.c_str(), argument.given);
          return false;
        }
        lists_.push_back(items);
        const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.get());
        argument.tensors.resize(size);
        for (Py_ssize_t k = 0; k < size; ++k) {
          if (!TakeTensor(PySequence_Fast_GET_ITEM(items.get(), k), schema.type, Cat(schema.name, "_", k),
                          &argument.tensors[k])) {
            return false;
          }
          Note(schema, argument.tensors[k]);
        }
      } else if (argument.tensors.empty()) {
        argument.tensors.resize(1);
        if (!TakeTensor(argument.given, schema.type, schema.name, &argument.tensors[0])) return false;
        Note(schema, argument.tensors[0]);
      } else {
        Note(schema, argument.tensors[0]);
      }
    }
    size_t list = 0;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const ArgSchema& schema = schema_.inputs[i];
      Argument& argument = arguments_[i];
      PyObject* items = op_.is_list[i] ? lists_[list++].get() : nullptr;
      for (size_t k = 0; k < argument.tensors.size(); ++k) {
        if (argument.tensors[k]) continue;
        PyObject* value = items != nullptr ? PySequence_Fast_GET_ITEM(items, k) : argument.given;
        DType wanted = schema.type, preferred = DType::kInvalid;
        if (wanted == DType::kInvalid && !schema.type_attr.empty()) {
          wanted = GivenType(schema.type_attr);
          if (wanted == DType::kInvalid) wanted = TypeOf(schema.type_attr);
          if (wanted == DType::kInvalid) preferred = DefaultType(schema.type_attr);
          // Arrays of numbers are cast to the attribute's default, as TensorFlow does.
          if (preferred != DType::kInvalid && IsNumericArray(value)) wanted = preferred;
        }
        if (value == Py_None) {
          PyErr_Format(PyExc_ValueError,
                       "Attempt to convert a value (None) with an unsupported type (<class "
                       "'NoneType'>) to a Tensor.");
          return false;
        }
        argument.tensors[k] =
            Ref::Own(Convert(value, wanted, preferred, items != nullptr ? Cat(schema.name, "_", k) : schema.name));
        if (!argument.tensors[k]) return false;
        Note(schema, argument.tensors[k]);
      }
    }
    return true;
  }

  void Note(const ArgSchema& schema, const Ref& tensor) {
    if (!tensor || schema.type_attr.empty()) return;
    DType& dtype = TypeOf(schema.type_attr);
    if (dtype == DType::kInvalid) dtype = BaseType(DTypeOf(AsTensor(tensor.get())));
  }

  // The type that the caller gave for an attribute that is also inferred (never for generated wrappers).
  DType GivenType(const std::string& attr) const {
    for (size_t i = 0; i < schema_.attrs.size(); ++i) {
      if (schema_.attrs[i].name != attr || attrs_[i] == nullptr || attrs_[i] == Py_None) continue;
      DType dtype;
      if (ToDType(attrs_[i], &dtype)) return dtype;
      PyErr_Clear();
    }
    return DType::kInvalid;
  }

  DType DefaultType(const std::string& attr) const {
    const AttrSchema* schema = schema_.FindAttr(attr);
    if (schema == nullptr || !schema->default_value) return DType::kInvalid;
    const DType* dtype = schema->default_value->get_if<DType>();
    return dtype != nullptr ? *dtype : DType::kInvalid;
  }

  void MakeKey(const EagerRuntime::Choice& choice, Key* key) const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (op_.is_list[i]) key->AddValue(static_cast<uint16_t>(arguments_[i].tensors.size()));
      for (const Ref& tensor : arguments_[i].tensors) {
        if (!IsEager(tensor.get())) return key->Spoil();
        key->AddValue(AsTensor(tensor.get())->value.dtype());
      }
    }
    for (size_t i = 0; i < attrs_.size(); ++i) {
      PyObject* value = attrs_[i];
      if (value == nullptr || value == Py_None) continue;
      key->AddValue(static_cast<uint8_t>(i));
      if (value == Py_True || value == Py_False) {
        key->AddValue(value == Py_True ? 'T' : 'F');
      } else if (PyLong_CheckExact(value)) {
        int overflow;
        key->AddValue('i');
        key->AddValue(PyLong_AsLongLongAndOverflow(value, &overflow));
        if (overflow != 0) key->Spoil();
      } else if (PyFloat_CheckExact(value)) {
        key->AddValue('f');
        key->AddValue(PyFloat_AS_DOUBLE(value));
      } else if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(value, &size);
        if (text == nullptr) return PyErr_Clear(), key->Spoil();
        key->AddValue('s');
        key->AddValue(static_cast<uint16_t>(size));
        key->Add(text, size);
      } else if (schema_.attrs[i].type == "type") {
        DType dtype;
        if (!ToDType(value, &dtype)) return PyErr_Clear(), key->Spoil();
        key->AddValue('t');
        key->AddValue(dtype);
      } else {
        return key->Spoil();
      }
    }
    key->AddValue(choice.device);
    key->AddValue(choice.is_asked_for);
  }

  // Null without an error if there is no kernel for this signature yet.
  PyObject* RunFromCache() {
    absl::InlinedVector<Tensor, 4> inputs;
    int64_t elements = 0;
    for (const Argument& argument : arguments_) {
      for (const Ref& tensor : argument.tensors) {
        if (!IsEager(tensor.get())) return nullptr;
        inputs.push_back(AsTensor(tensor.get())->value);
        elements += inputs.back().num_elements();
      }
    }
    const EagerRuntime::Choice choice = Runtime().Place(schema_, inputs, t_device);
    Key key;
    MakeKey(choice, &key);
    if (!key.is_usable()) return nullptr;
    auto found = op_.cache.find(key.view());
    if (found == op_.cache.end()) {
      AttrMap attrs;
      if (!MakeAttrs(&attrs)) return nullptr;
      StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> prepared = Prepare(attrs, choice);
      if (!prepared.ok()) return Raise(Annotate(prepared.status(), "", ErrorSuffix()));
      if (op_.cache.size() > 1000) op_.cache.clear();
      found = op_.cache.emplace(std::string(key.view()), CacheEntry{*prepared, IsShort(**prepared)}).first;
    }
    // A copy: while the lock is given up another thread may change the cache.
    const CacheEntry entry = found->second;
    const ArgTypes& types = entry.prepared->types();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype() != types.inputs[i]) return RaiseType(i, inputs[i].dtype(), types);
    }
    if (NeedsTape()) return nullptr;
    EagerRuntime::Outputs outputs;
    Status status;
    if (op_.schema->is_stateful && !entry.is_short) {
      Interruptible interruptible;
      EagerOptions options;
      options.cancellation = interruptible.cancellation();
      {
        WithoutLock unlocked;
        status = Runtime().RunCached(*entry.prepared, {inputs.data(), inputs.size()}, &outputs, options);
      }
      if (!status.ok() && interruptible.RaiseIfInterrupted()) return nullptr;
    } else if (entry.is_short && elements < kShortElements) {
      status = Runtime().RunCached(*entry.prepared, {inputs.data(), inputs.size()}, &outputs);
    } else {
      WithoutLock unlocked;
      status = Runtime().RunCached(*entry.prepared, {inputs.data(), inputs.size()}, &outputs);
    }
    if (!status.ok()) {
      return Raise(Annotate(FromKernel(status, schema_, *entry.prepared->complete_attrs()), "", ErrorSuffix()));
    }
    if (outputs.size() == 1 && op_.schema->outputs.size() == 1 && !IsListOutput(0)) {
      Ref result = Ref::Own(NewEager(std::move(outputs[0])));
      if (result) RecordOnTapes(*entry.prepared, &result, 1);
      return result.release();
    }
    Tensors results;
    for (Tensor& output : outputs) {
      results.push_back(Ref::Own(NewEager(std::move(output))));
      if (!results.back()) return nullptr;
    }
    RecordOnTapes(*entry.prepared, results.data(), results.size());
    return Pack(results, *entry.prepared->complete_attrs());
  }

  // Calls of functions run another function when a tape records them: the general way knows that.
  bool NeedsTape() const { return op_.is_call && AnyTape(); }

  void RecordOnTapes(const EagerRuntime::Prepared& prepared, const Ref* results, size_t count) {
    Tensors inputs;
    if (!AnyTape()) return;
    for (const Argument& argument : arguments_) {
      for (const Ref& tensor : argument.tensors) inputs.push_back(tensor);
    }
    if (!IsRecorded(inputs)) return;
    Record(schema_, prepared.complete_attrs(), inputs, Tensors(results, results + count));
  }

  StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> Prepare(const AttrMap& attrs,
                                                                  const EagerRuntime::Choice& choice) {
    WithoutLock unlocked;
    return Runtime().Prepare(schema_, attrs, choice);
  }

  bool IsShort(const EagerRuntime::Prepared& prepared) const {
    return op_.may_hold_lock && prepared.is_prompt() && prepared.is_on_host();
  }

  PyObject* RaiseType(size_t index, DType dtype, const ArgTypes& types) {
    return Raise(InvalidArgument("cannot compute ", schema_.name, " as input #", index,
                                 "(zero-based) was expected to be a ", Name(types.inputs[index]), " tensor but is a ",
                                 Name(dtype), " tensor [Op:", schema_.name, "]", ErrorSuffix()));
  }

  bool IsListOutput(size_t i) const {
    return !schema_.outputs[i].number_attr.empty() || !schema_.outputs[i].type_list_attr.empty();
  }

  bool MakeAttrs(AttrMap* attrs) {
    for (size_t i = 0; i < schema_.attrs.size(); ++i) {
      const AttrSchema& schema = schema_.attrs[i];
      if (attrs_[i] == nullptr || (attrs_[i] == Py_None && schema.default_value && schema.type != "shape")) continue;
      Attribute value;
      if (!ToAttribute(attrs_[i], schema.type, schema.name.c_str(), schema_.name.c_str(), &value)) return false;
      attrs->Set(schema.name, std::move(value));
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const ArgSchema& schema = schema_.inputs[i];
      const auto& tensors = arguments_[i].tensors;
      if (!schema.number_attr.empty() && attrs->Find(schema.number_attr) == nullptr) {
        attrs->Set(schema.number_attr, static_cast<int64_t>(tensors.size()));
      }
      if (!schema.type_attr.empty() && attrs->Find(schema.type_attr) == nullptr && !tensors.empty()) {
        attrs->Set(schema.type_attr, BaseType(DTypeOf(AsTensor(tensors[0].get()))));
      }
      if (!schema.type_list_attr.empty() && attrs->Find(schema.type_list_attr) == nullptr) {
        AttrList list;
        for (const Ref& tensor : tensors) list.type.push_back(BaseType(DTypeOf(AsTensor(tensor.get()))));
        attrs->Set(schema.type_list_attr, Attribute(std::move(list)));
      }
    }
    return true;
  }

  static PyObject* ListOf(const Tensors& tensors, size_t begin, size_t end) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(end - begin));
    for (size_t i = begin; list != nullptr && i < end; ++i) {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i - begin), Py_NewRef(tensors[i].get()));
    }
    return list;
  }

  PyObject* Pack(const Tensors& outputs, const AttrMap& attrs) {
    const size_t count = schema_.outputs.size();
    if (count == 0) Py_RETURN_NONE;
    if (count == 1 && !IsListOutput(0)) return Py_NewRef(outputs[0].get());
    if (count == 1) return ListOf(outputs, 0, outputs.size());
    if (op_.result_type == nullptr) {
      PyObject* make = Hook("make_result_type");
      if (make == nullptr) return nullptr;
      Ref names = Ref::Own(PyList_New(0));
      for (const ArgSchema& output : schema_.outputs) {
        Ref name = Ref::Own(FromString(output.name));
        if (!name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
      }
      op_.result_type = PyObject_CallFunction(make, "sO", schema_.name.c_str(), names.get());
      if (op_.result_type == nullptr) return nullptr;
    }
    std::vector<Ref> fields;
    for (size_t i = 0; i < count; ++i) {
      StatusOr<ArgRange> range = ResolveArgRange(schema_.outputs, attrs, static_cast<int>(i));
      if (!range.ok()) return Raise(range.status());
      fields.push_back(IsListOutput(i) ? Ref::Own(ListOf(outputs, range->begin, range->end)) : outputs[range->begin]);
    }
    std::vector<PyObject*> pointers;
    for (const Ref& field : fields) pointers.push_back(field.get());
    return PyObject_Vectorcall(op_.result_type, pointers.data(), pointers.size(), nullptr);
  }

  OpState& op_;
  const OpSchema& schema_;
  absl::InlinedVector<Argument, 3> arguments_;
  absl::InlinedVector<PyObject*, 8> attrs_;  // borrowed, by attr
  absl::InlinedVector<std::pair<const std::string*, DType>, 2> types_;
  std::vector<Ref> lists_;
  PyObject* name_ = nullptr;
  std::string reserved_name_;  // of the node, given before its inputs are converted
  NodeId last_node_ = kNoNode;
  bool ok_ = false;

  friend bool weir::python::Execute(const OpSchema&, const Tensors&, const AttrMap&, const char*, Tensors*);
};

bool AddNodeTo(PyObject* graph, const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs,
               const std::string& name, Tensors* outputs, NodeId* id) {
  if (!MayAdd(graph)) return false;
  std::vector<Endpoint> endpoints;
  Tensors captured;
  for (const Ref& input : inputs) {
    captured.push_back(Ref::Own(Capture(graph, input.get())));
    if (!captured.back()) return false;
    endpoints.push_back(AsTensor(captured.back().get())->endpoint);
  }
  GraphState& state = StateOf(graph);
  StatusOr<Node*> node = state.Add(schema, name, std::move(endpoints), attrs);
  if (!node.ok()) return RaiseForGraph(node.status()), false;
  *id = (*node)->id;
  if (state.asks_device) {
    Ref placed = Ref::Own(PyObject_CallMethod(graph, "_place", "i", static_cast<int>(*id)));
    if (!placed) return false;
  }
  const int count = state.graph.node(*id)->num_outputs();
  for (int i = 0; i < count; ++i) {
    outputs->push_back(Ref::Own(NewSymbolic(graph, {*id, i})));
    if (!outputs->back()) return false;
  }
  if (IsRecorded(captured)) {
    Record(schema, std::make_shared<const AttrMap>(state.graph.node(*id)->attrs), captured, *outputs);
  }
  if (!IsObserved()) return true;
  const AttrMap seen = state.graph.node(*id)->attrs;
  const std::string seen_name = state.graph.node(*id)->name;
  return Observe(schema, captured, seen, graph, seen_name, outputs);
}

// Arguments whose types do not fit are a TypeError while a graph is built, as Python's own are.
bool Call::CheckTypes() const {
  absl::InlinedVector<std::pair<const ArgSchema*, DType>, 4> seen;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgSchema& arg = schema_.inputs[i];
    if (arg.type_attr.empty() || !arg.number_attr.empty() || arguments_[i].tensors.size() != 1) continue;
    const DType dtype = BaseType(DTypeOf(AsTensor(arguments_[i].tensors[0].get())));
    const ArgSchema* first = nullptr;
    for (const auto& [other, type] : seen) {
      if (other->type_attr != arg.type_attr) continue;
      first = other;
      if (type == dtype) continue;
      PyErr_Format(PyExc_TypeError, "Input '%s' of '%s' Op has type %s that does not match type %s of argument '%s'.",
                   arg.name.c_str(), schema_.name.c_str(), std::string(PythonName(dtype)).c_str(),
                   std::string(PythonName(type)).c_str(), other->name.c_str());
      return false;
    }
    if (first != nullptr) continue;
    seen.emplace_back(&arg, dtype);
    const AttrSchema* attr = schema_.FindAttr(arg.type_attr);
    if (attr == nullptr || !attr->allowed || std::ranges::find(attr->allowed->type, dtype) != attr->allowed->type.end())
      continue;
    std::string allowed;
    for (DType type : attr->allowed->type) allowed += Cat(allowed.empty() ? "" : ", ", PythonName(type));
    PyErr_Format(PyExc_TypeError, "Value passed to parameter '%s' has DataType %s not in list of allowed values: %s",
                 arg.name.c_str(), std::string(PythonName(dtype)).c_str(), allowed.c_str());
    return false;
  }
  return true;
}

bool Call::AddToGraph(PyObject* graph, const Tensors& inputs, const AttrMap& attrs, Tensors* outputs,
                      PyObject** operation) {
  if (!CheckTypes()) return false;
  std::string name;
  if (name_ != nullptr && name_ != Py_None && !ToString(name_, &name)) return false;
  if (!reserved_name_.empty() && graph == CurrentGraph()) name = reserved_name_ + "/";
  if (!AddNodeTo(graph, schema_, inputs, attrs, name, outputs, &last_node_)) return false;
  if (outputs->empty()) {
    *operation = PyObject_CallMethod(graph, "_operation", "i", static_cast<int>(last_node_));
    return *operation != nullptr;
  }
  return true;
}

PyObject* Vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  Call call(*reinterpret_cast<PyOp*>(self)->state, args, PyVectorcall_NARGS(flags), names);
  return call.Run();
}

PyObject* OpName(PyObject* self, void*) { return FromString(reinterpret_cast<PyOp*>(self)->state->schema->name); }
PyObject* OpDoc(PyObject* self, void*) {
  PyObject* make = Hook("op_doc");
  return make != nullptr ? PyObject_CallOneArg(make, self) : nullptr;
}
PyObject* OpSignature(PyObject* self, void*) {
  PyObject* make = Hook("op_signature");
  return make != nullptr ? PyObject_CallOneArg(make, self) : nullptr;
}
PyObject* OpStateful(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<PyOp*>(self)->state->schema->is_stateful);
}
// [(name, is_input, type, has_default, default)]
PyObject* OpParameters(PyObject* self, void*) {
  OpState& op = *reinterpret_cast<PyOp*>(self)->state;
  Ref list = Ref::Own(PyList_New(0));
  for (const Parameter& parameter : op.parameters) {
    std::string type;
    Ref value = Ref::Borrow(Py_None);
    bool has_default = false;
    if (parameter.input >= 0) {
      const ArgSchema& arg = op.schema->inputs[parameter.input];
      type = !arg.type_list_attr.empty()
                 ? "list(any)"
                 : std::string(arg.type != DType::kInvalid ? PythonName(arg.type) : std::string_view(arg.type_attr));
      if (!arg.number_attr.empty()) type = Cat("list(", type, ")");
    } else {
      const AttrSchema& attr = op.schema->attrs[parameter.attr];
      type = attr.type;
      has_default = attr.default_value.has_value();
      if (has_default) value = Ref::Own(FromAttribute(*attr.default_value));
      if (!value) return nullptr;
    }
    Ref row = Ref::Own(Py_BuildValue("OOsOO", parameter.name, parameter.input >= 0 ? Py_True : Py_False, type.c_str(),
                                     has_default ? Py_True : Py_False, value.get()));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* OpSummary(PyObject* self, void*) { return FromString(reinterpret_cast<PyOp*>(self)->state->schema->doc); }
PyObject* OpOutputs(PyObject* self, void*) {
  Ref list = Ref::Own(PyList_New(0));
  for (const ArgSchema& output : reinterpret_cast<PyOp*>(self)->state->schema->outputs) {
    Ref name = Ref::Own(FromString(output.name));
    if (!name || PyList_Append(list.get(), name.get()) < 0) return nullptr;
  }
  return list.release();
}
PyObject* OpRepr(PyObject* self) {
  return PyUnicode_FromFormat("<op %s>", reinterpret_cast<PyOp*>(self)->state->schema->name.c_str());
}

PyGetSetDef kGetSet[] = {
    {"__name__", OpName, nullptr, nullptr, nullptr},
    {"__qualname__", OpName, nullptr, nullptr, nullptr},
    {"__doc__", OpDoc, nullptr, nullptr, nullptr},
    {"parameters", OpParameters, nullptr, nullptr, nullptr},
    {"__signature__", OpSignature, nullptr, nullptr, nullptr},
    {"outputs", OpOutputs, nullptr, nullptr, nullptr},
    {"is_stateful", OpStateful, nullptr, nullptr, nullptr},
    {"summary", OpSummary, nullptr, nullptr, nullptr},
    {},
};
PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, vectorcall), READONLY, nullptr},
    {},
};
PyType_Slot kSlots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_getset, kGetSet},
    {Py_tp_members, kMembers},
    {Py_tp_repr, reinterpret_cast<void*>(OpRepr)},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Op", sizeof(PyOp), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};

// Public names and their order where they are not the schema's: weir.framework.op_arguments.
void Rename(OpState* op) {
  PyObject* table = Hook("op_arguments");
  if (table == nullptr) return PyErr_Clear();
  PyObject* pairs = PyDict_GetItemString(table, op->schema->name.c_str());  // borrowed
  if (pairs == nullptr) return;
  std::vector<Parameter> ordered;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); ++i) {
    PyObject* pair = PyList_GET_ITEM(pairs, i);
    for (const Parameter& parameter : op->parameters) {
      if (PyUnicode_Compare(parameter.name, PyTuple_GET_ITEM(pair, 1)) != 0) continue;
      PyObject* name = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
      PyUnicode_InternInPlace(&name);
      ordered.push_back({name, parameter.input, parameter.attr});
    }
  }
  if (ordered.size() == op->parameters.size()) op->parameters = std::move(ordered);
}

OpState* MakeState(const OpSchema& schema) {
  auto* op = new OpState;
  op->schema = &schema;
  op->name_key = PyUnicode_InternFromString("name");
  op->is_inferred.assign(schema.attrs.size(), false);
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    const ArgSchema& input = schema.inputs[i];
    op->is_list.push_back(!input.number_attr.empty() || !input.type_list_attr.empty());
    op->parameters.push_back({PyUnicode_InternFromString(input.name.c_str()), static_cast<int>(i), -1});
    for (size_t k = 0; k < schema.attrs.size(); ++k) {
      const std::string& name = schema.attrs[k].name;
      if (name == input.type_attr || name == input.number_attr || name == input.type_list_attr)
        op->is_inferred[k] = true;
    }
  }
  for (const bool with_default : {false, true}) {
    for (size_t k = 0; k < schema.attrs.size(); ++k) {
      if (op->is_inferred[k] || schema.attrs[k].default_value.has_value() != with_default) continue;
      op->parameters.push_back({PyUnicode_InternFromString(schema.attrs[k].name.c_str()), -1, static_cast<int>(k)});
    }
  }
  Rename(op);
  const std::string_view name = schema.name;
  op->is_call = name == "PartitionedCall" || name == "StatefulPartitionedCall";
  // Ops with effects may wait, for files or for each other; variables and generators do not.
  op->may_hold_lock = !schema.is_stateful || name.ends_with("VariableOp") || name == "VarHandleOp" ||
                      name == "ResourceGather" || name.starts_with("ResourceApply") || name.starts_with("Random");
  return op;
}

absl::flat_hash_map<std::string, PyObject*>& Known() {
  static auto* const known = new absl::flat_hash_map<std::string, PyObject*>;
  return *known;
}

}  // namespace

PyObject* FindOp(const std::string& name) {
  auto found = Known().find(name);
  if (found != Known().end()) return Py_NewRef(found->second);
  const OpSchema* schema = Ops().Find(name);
  if (schema == nullptr) return PyErr_Format(PyExc_AttributeError, "there is no operation '%s'", name.c_str());
  PyOp* op = PyObject_New(PyOp, g_op_type);
  if (op == nullptr) return nullptr;
  op->vectorcall = Vectorcall;
  op->state = MakeState(*schema);
  Known()[name] = reinterpret_cast<PyObject*>(op);  // for good
  return Py_NewRef(reinterpret_cast<PyObject*>(op));
}

PyObject* ForgetSeeded(PyObject*, PyObject*) {
  bool any = false;
  for (const auto& [name, object] : Known()) {
    OpState& op = *reinterpret_cast<PyOp*>(object)->state;
    if (op.schema->FindAttr("seed2") == nullptr) continue;
    any = any || !op.cache.empty();
    op.cache.clear();
  }
  if (any) Runtime().ForgetSeeded();  // else the engine may not even have been started
  Py_RETURN_NONE;
}

PyObject* RemoveFunction(PyObject*, PyObject* args) {
  const char* name;
  PyObject* live;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PySet_Type, &live)) return nullptr;
  absl::flat_hash_set<std::string> kept;
  Ref iterator = Ref::Own(PyObject_GetIter(live));
  while (Ref item = Ref::Own(PyIter_Next(iterator.get()))) {
    std::string text;
    if (!ToString(item.get(), &text)) return nullptr;
    kept.insert(std::move(text));
  }
  if (PyErr_Occurred()) return nullptr;
  {
    WithoutLock unlocked;
    Runtime().RemoveFunction(
        name, [&](std::string_view other) { return other != name && kept.contains(std::string(other)); });
  }
  Py_RETURN_NONE;
}

bool Execute(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, const char* name, Tensors* outputs) {
  if (PyObject* graph = CurrentGraph()) {
    NodeId id;
    return AddNodeTo(GraphFor(graph, inputs), schema, inputs, attrs, name != nullptr ? name : "", outputs, &id);
  }
  absl::InlinedVector<Tensor, 4> values;
  for (const Ref& input : inputs) {
    if (!IsEager(input.get())) {
      PyObject* hook = Hook("raise_out_of_scope");
      if (hook != nullptr) Ref::Own(PyObject_CallOneArg(hook, input.get()));
      return false;
    }
    values.push_back(AsTensor(input.get())->value);
  }
  const int watching = CountRecording(inputs);
  if (watching > 0 && IsCall(schema)) return CallOnTape(schema, inputs, attrs, watching, outputs);
  EagerRuntime::Outputs results;
  std::shared_ptr<const AttrMap> complete;
  Status status;
  Interruptible interruptible;
  {
    WithoutLock unlocked;
    EagerOptions options;
    options.cancellation = interruptible.cancellation();
    StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> prepared =
        Runtime().Prepare(schema, attrs, Runtime().Place(schema, values, t_device));
    status = prepared.status();
    if (status.ok()) {
      const ArgTypes& types = (*prepared)->types();
      for (size_t i = 0; i < values.size() && status.ok(); ++i) {
        if (i >= types.inputs.size() || values[i].dtype() != types.inputs[i]) {
          status =
              InvalidArgument("cannot compute ", schema.name, " as input #", i, "(zero-based) was expected to be a ",
                              i < types.inputs.size() ? Name(types.inputs[i]) : "missing", " tensor but is a ",
                              Name(values[i].dtype()), " tensor [Op:", schema.name, "]");
        }
      }
      complete = (*prepared)->complete_attrs();
      if (status.ok()) {
        status = Runtime().RunCached(**prepared, {values.data(), values.size()}, &results, options);
        if (!status.ok()) status = FromKernel(status, schema, *complete);
      }
    }
  }
  if (!status.ok() && interruptible.RaiseIfInterrupted()) return false;
  if (!status.ok()) return Raise(t_call != nullptr ? Annotate(status, "", t_call->ErrorSuffix()) : status), false;
  for (Tensor& result : results) {
    outputs->push_back(Ref::Own(NewEager(std::move(result))));
    if (!outputs->back()) return false;
  }
  if (watching > 0) Record(schema, complete, inputs, *outputs);
  return !IsObserved() || Observe(schema, inputs, *complete, nullptr, "", outputs);
}

PyObject* GetOp(PyObject*, PyObject* arg) {
  std::string name;
  return ToString(arg, &name) ? FindOp(name) : nullptr;
}

PyObject* OpNames(PyObject*, PyObject*) {
  Ref list = Ref::Own(PyList_New(0));
  for (const OpSchema* schema : Ops().All()) {
    Ref name = Ref::Own(FromString(schema->name));
    if (!name || PyList_Append(list.get(), name.get()) < 0) return nullptr;
  }
  return list.release();
}

// execute(op, [tensors], {attr: (type, value)}, name): the outputs, flat.
PyObject* ExecuteOp(PyObject*, PyObject* args) {
  const char *op, *name = nullptr;
  PyObject *tensors, *attributes;
  if (!PyArg_ParseTuple(args, "sOO!|z", &op, &tensors, &PyDict_Type, &attributes, &name)) return nullptr;
  const OpSchema* schema = Ops().Find(op);
  if (schema == nullptr) return PyErr_Format(PyExc_ValueError, "there is no operation '%s'", op);
  Ref items = Ref::Own(PySequence_Fast(tensors, "inputs are a list"));
  if (!items) return nullptr;
  Tensors inputs, outputs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!IsTensor(item)) return PyErr_Format(PyExc_TypeError, "input %zd of %s is no tensor: %R", i, op, item);
    inputs.push_back(Ref::Borrow(item));
  }
  AttrMap attrs;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(attributes, &position, &key, &value)) {
    std::string attr;
    if (!ToString(key, &attr)) return nullptr;
    const AttrSchema* attr_schema = schema->FindAttr(attr);
    std::string type = attr_schema != nullptr ? attr_schema->type : "";
    if (attr_schema == nullptr) {  // "_name": with its type
      const char* given;
      if (!PyArg_ParseTuple(value, "sO", &given, &value)) return nullptr;
      type = given;
    }
    Attribute attribute;
    if (!ToAttribute(value, type, attr.c_str(), op, &attribute)) return nullptr;
    attrs.Set(attr, std::move(attribute));
  }
  if (!Execute(*schema, inputs, attrs, name, &outputs)) return nullptr;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(outputs.size()));
  for (size_t i = 0; list != nullptr && i < outputs.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(outputs[i].get()));
  }
  return list;
}

Device* CurrentDevice() { return t_device; }
void SetCurrentDevice(Device* device) { t_device = device; }

// handle_data(tensor): [(dtype, shape)] of what an eager handle refers to.
PyObject* HandleDataOf(PyObject*, PyObject* tensor) {
  if (!IsEager(tensor)) return PyErr_Format(PyExc_TypeError, "expected an eager tensor");
  Ref list = Ref::Own(PyList_New(0));
  const Tensor& value = AsTensor(tensor)->value;
  if (value.dtype() != DType::kResource || value.num_elements() != 1) return list.release();
  for (const auto& data : value.data<ResourceHandle>()[0].dtypes_and_shapes) {
    Ref dtype = Ref::Own(FromDType(data.dtype)), shape = Ref::Own(FromShape(data.shape));
    if (!dtype || !shape) return nullptr;
    Ref pair = Ref::Own(PyTuple_Pack(2, dtype.get(), shape.get()));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  return list.release();
}

bool AddOpType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (type == nullptr) return false;
  g_op_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Op", type) == 0;
}

}  // namespace weir::python

#include "python/src/tape.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "python/src/graph.h"
#include "python/src/tensor.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/sweep.h"
#include "weir/autodiff/tape_call.h"
#include "weir/client/gradients.h"

namespace weir::python {
namespace {

struct Recorded {
  const OpSchema* schema = nullptr;  // null: a custom gradient
  std::shared_ptr<const AttrMap> attrs;
  std::vector<Ref> inputs;
  std::vector<Ref> outputs;
  GradientFunction gradient;  // of this one alone
  Ref backward;               // Python: gradients of the outputs -> gradients of the inputs
};

struct PyTape {
  PyObject_HEAD absl::flat_hash_set<int64_t>* watched;
  std::vector<std::shared_ptr<const Recorded>>* records;
  bool watch_accessed;
};

PyTypeObject* g_tape_type = nullptr;
thread_local std::vector<PyTape*> t_tapes;  // owned
thread_local int t_paused = 0;

bool IsTrainable(PyObject* tensor) { return emit::IsTrainable(BaseType(DTypeOf(AsTensor(tensor)))); }

bool Watches(const PyTape* tape, PyObject* tensor) {
  return tape->watched->contains(AsTensor(tensor)->id) && IsTrainable(tensor);
}

template <typename List>
bool Watches(const PyTape* tape, const List& inputs) {
  return !tape->watched->empty() &&
         std::ranges::any_of(inputs, [&](const Ref& input) { return Watches(tape, input.get()); });
}

void Put(const std::shared_ptr<const Recorded>& record) {
  if (t_paused > 0) return;
  for (PyTape* tape : t_tapes) {
    if (!Watches(tape, record->inputs)) continue;
    for (const Ref& output : record->outputs) {
      if (IsTrainable(output.get())) tape->watched->insert(AsTensor(output.get())->id);
    }
    tape->records->push_back(record);
  }
}

// Executes what gradient functions emit: at once, or into the graph that is built.
class TensorEmitter : public Emitter {
 public:
  Value Add(Ref tensor) {
    tensors_.push_back(std::move(tensor));
    return Value(this, static_cast<int32_t>(tensors_.size() - 1), 0);
  }
  PyObject* Get(Value value) const { return value ? tensors_[value.node()].get() : nullptr; }

 protected:
  StatusOr<const OpSchema*> FindSchema(std::string_view op) const override { return Ops().LookUp(op); }
  StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) override {
    Tensors in, out;
    for (Value input : inputs) in.push_back(tensors_[input.node()]);
    if (!Execute(schema, in, attrs, nullptr, &out)) return TakeException();
    std::vector<Value> values;
    for (Ref& output : out) values.push_back(Add(std::move(output)));
    return values;
  }
  DType OwnDType(Value value) const override { return BaseType(DTypeOf(At(value))); }
  PartialShape OwnShape(Value value) const override { return ShapeOf(At(value)); }
  Tensor OwnConstant(Value value) const override {
    const PyTensor* tensor = At(value);
    if (tensor->graph == nullptr) return tensor->value.in_host_memory() ? tensor->value : tensor->host;
    return StateOf(tensor->graph).Inferred(tensor->endpoint).value;
  }
  std::vector<ResourceHandle::DTypeAndShape> OwnHandleData(Value value) const override {
    const PyTensor* tensor = At(value);
    if (tensor->graph != nullptr) return StateOf(tensor->graph).Inferred(tensor->endpoint).handle_data;
    if (tensor->value.dtype() != DType::kResource || tensor->value.num_elements() != 1) return {};
    return tensor->value.data<ResourceHandle>()[0].dtypes_and_shapes;
  }
  StatusOr<Value> Import(Value) override { return Internal("a tape borrows nothing"); }

 private:
  const PyTensor* At(Value value) const { return AsTensor(tensors_[value.node()].get()); }
  std::vector<Ref> tensors_;
};

// A gradient as Python sees it: None, a tensor, or IndexedSlices.
PyObject* ToPython(const TensorEmitter& emitter, const GradientValue& gradient) {
  if (gradient.is_none()) Py_RETURN_NONE;
  if (!gradient.is_sparse()) return Py_NewRef(emitter.Get(gradient.dense));
  PyObject* make = Hook("make_indexed_slices");
  if (make == nullptr) return nullptr;
  PyObject* shape = emitter.Get(gradient.dense_shape);
  return PyObject_CallFunctionObjArgs(make, emitter.Get(gradient.values), emitter.Get(gradient.indices),
                                      shape != nullptr ? shape : Py_None, nullptr);
}

bool FromPython(TensorEmitter& emitter, PyObject* object, GradientValue* out) {
  if (object == Py_None) return true;
  if (IsTensor(object)) return *out = emitter.Add(Ref::Borrow(object)), true;
  PyObject* split = Hook("split_gradient");  // (tensor,) or (values, indices, dense_shape or None)
  if (split == nullptr) return false;
  Ref parts = Ref::Own(PyObject_CallOneArg(split, object));
  if (!parts) return false;
  if (PyTuple_GET_SIZE(parts.get()) == 1) {
    *out = emitter.Add(Ref::Borrow(PyTuple_GET_ITEM(parts.get(), 0)));
    return true;
  }
  PyObject* shape = PyTuple_GET_ITEM(parts.get(), 2);
  *out = GradientValue::Sparse(emitter.Add(Ref::Borrow(PyTuple_GET_ITEM(parts.get(), 0))),
                               emitter.Add(Ref::Borrow(PyTuple_GET_ITEM(parts.get(), 1))),
                               shape == Py_None ? Value() : emitter.Add(Ref::Borrow(shape)));
  return true;
}

// An operation that has no gradient is a LookupError, also in the body of a function.
void RaiseFromGradient(const Status& status) {
  if (absl::IsNotFound(status) && absl::StartsWith(status.message(), "No gradient defined")) {
    PyErr_SetString(PyExc_LookupError, std::string(status.message()).c_str());
  } else {
    Raise(status);
  }
}

// One walk from targets to sources.
class Walk {
 public:
  explicit Walk(std::vector<std::shared_ptr<const Recorded>> records) : records_(std::move(records)) {}

  TensorEmitter& emitter() { return emitter_; }

  bool Seed(PyObject* target, PyObject* gradient) {
    GradientValue flow;
    if (gradient == nullptr || gradient == Py_None) {
      if (!IsTrainable(target) || DTypeOf(AsTensor(target)) == DType::kResource) return true;
      flow = emit::OnesLike(emitter_.Add(Ref::Borrow(target)));
    } else if (!FromPython(emitter_, gradient, &flow)) {
      return false;
    }
    if (!emitter_.status().ok()) return Raise(emitter_.status()), false;
    flows_[AsTensor(target)->id].push_back(flow);
    return true;
  }

  bool Run(const std::vector<PyObject*>& sources) {
    for (PyObject* source : sources) reached_.insert(AsTensor(source)->id);
    std::vector<bool> is_reached;
    for (const auto& record : records_) {
      const bool reached = std::ranges::any_of(record->inputs, [&](const Ref& t) { return IsReached(t.get()); });
      is_reached.push_back(reached);
      if (!reached) continue;
      for (const Ref& output : record->outputs) reached_.insert(AsTensor(output.get())->id);
    }
    for (size_t i = records_.size(); i-- > 0;) {
      if (is_reached[i] && !Differentiate(*records_[i])) return false;
    }
    return true;
  }

  GradientValue Total(int64_t id) {
    auto found = flows_.find(id);
    if (found == flows_.end()) return {};
    if (found->second.size() > 1) {
      GradientValue sum = emit::AddUp(found->second);
      found->second = {sum};
    }
    return found->second[0];
  }

 private:
  bool IsReached(PyObject* tensor) const { return reached_.contains(AsTensor(tensor)->id) && IsTrainable(tensor); }

  bool Differentiate(const Recorded& record) {
    std::vector<GradientValue> grads(record.outputs.size());
    bool any = false;
    for (size_t i = 0; i < record.outputs.size(); ++i) {
      grads[i] = Total(AsTensor(record.outputs[i].get())->id);
      any |= !grads[i].is_none();
    }
    if (!emitter_.status().ok()) return Raise(emitter_.status()), false;
    if (!any) return true;
    std::vector<GradientValue> results;
    if (record.schema == nullptr) {
      if (!CallBackward(record, grads, &results)) return false;
    } else if (!CallFunction(record, std::move(grads), &results)) {
      return false;
    }
    for (size_t i = 0; i < results.size() && i < record.inputs.size(); ++i) {
      PyObject* input = record.inputs[i].get();
      if (!results[i].is_none() && IsReached(input)) flows_[AsTensor(input)->id].push_back(results[i]);
    }
    return true;
  }

  bool CallBackward(const Recorded& record, const std::vector<GradientValue>& grads,
                    std::vector<GradientValue>* results) {
    Ref arguments = Ref::Own(PyTuple_New(static_cast<Py_ssize_t>(grads.size())));
    for (size_t i = 0; i < grads.size(); ++i) {
      PyObject* grad;
      if (grads[i].is_none()) {
        PyObject* output = record.outputs[i].get();
        if (IsTrainable(output) && DTypeOf(AsTensor(output)) != DType::kResource) {
          const Value zeros = emit::ZerosLike(emitter_.Add(Ref::Borrow(output)));
          if (!emitter_.status().ok()) return Raise(emitter_.status()), false;
          grad = Py_NewRef(emitter_.Get(zeros));
        } else {
          grad = Py_NewRef(Py_None);
        }
      } else {
        grad = ToPython(emitter_, grads[i]);
      }
      if (grad == nullptr) return false;
      PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), grad);
    }
    Ref out = Ref::Own(PyObject_Call(record.backward.get(), arguments.get(), nullptr));
    if (!out) return false;
    Ref items = out.get() == Py_None || IsTensor(out.get()) ? Ref::Own(PyTuple_Pack(1, out.get()))
                                                            : Ref::Own(PySequence_Fast(out.get(), "gradients"));
    if (!items) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      results->emplace_back();
      if (!FromPython(emitter_, PySequence_Fast_GET_ITEM(items.get(), i), &results->back())) return false;
    }
    return true;
  }

  bool CallFunction(const Recorded& record, std::vector<GradientValue> grads, std::vector<GradientValue>* results) {
    const GradientRegistry& registry = BuiltinGradients();
    const std::string& op = record.schema->name;
    std::vector<Value> inputs, outputs;
    for (const Ref& input : record.inputs) inputs.push_back(emitter_.Add(input));
    for (const Ref& output : record.outputs) outputs.push_back(emitter_.Add(output));
    GradientContext context(emitter_, op, *record.attrs, std::move(inputs), std::move(outputs), std::move(grads));
    GradientFunction function = record.gradient;
    if (!function && IsDifferentiatedByStructure(op) && !record.inputs.empty() && IsSymbolic(record.inputs[0].get())) {
      return DifferentiateNode(record, context, results);
    }
    if (!function) {
      switch (registry.KindOf(op)) {
        case GradientRegistry::Kind::kNotDifferentiable:
          return true;
        case GradientRegistry::Kind::kUnknown:
          if (record.schema->gradient == Gradient::kNone) return true;
          PyErr_Format(PyExc_LookupError, "No gradient defined for operation '%s' (op type: %s)", op.c_str(),
                       op.c_str());
          return false;
        case GradientRegistry::Kind::kFunction:
          function = registry.Find(op);
      }
    }
    *results = function(context);
    if (!emitter_.status().ok()) return RaiseFromGradient(emitter_.status()), false;
    return true;
  }

  // Calls, If, Case and While of a graph: the sweep over graphs knows them.
  bool DifferentiateNode(const Recorded& record, GradientContext& context, std::vector<GradientValue>* results) {
    PyObject* graph = AsTensor(record.inputs[0].get())->graph;
    if (CurrentGraph() != graph) {
      PyErr_SetString(PyExc_NotImplementedError,
                      "the gradient of a call or loop must be taken in the function that contains it");
      return false;
    }
    std::vector<Endpoint> ys, xs, grad_ys;
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (!context.has_grad(i)) continue;
      const Value grad = context.grad(i);
      if (!emitter_.status().ok()) return Raise(emitter_.status()), false;
      Ref own = Ref::Own(Capture(graph, emitter_.Get(grad)));
      if (!own) return false;
      ys.push_back(AsTensor(record.outputs[i].get())->endpoint);
      grad_ys.push_back(AsTensor(own.get())->endpoint);
    }
    std::vector<size_t> places;
    for (size_t i = 0; i < record.inputs.size(); ++i) {
      const PyTensor* input = AsTensor(record.inputs[i].get());
      if (!IsTrainable(record.inputs[i].get()) || !IsReached(record.inputs[i].get())) continue;
      places.push_back(i);
      xs.push_back(input->endpoint);
    }
    GraphState& state = StateOf(graph);
    GradientOptions options;
    options.stop_gradients = xs;
    options.scope = state.UniqueName(state.name_scope + "gradients");
    StatusOr<std::vector<GraphGradient>> gradients = AddGradients(state.graph, ys, xs, grad_ys, options);
    Status status = gradients.ok() ? state.InferUpTo(state.graph.num_node_ids()) : gradients.status();
    if (!status.ok()) return RaiseFromGradient(status), false;
    results->resize(record.inputs.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const GraphGradient& gradient = (*gradients)[i];
      auto add = [&](Endpoint endpoint) {
        return endpoint.node == kNoNode ? Value() : emitter_.Add(Ref::Own(NewSymbolic(graph, endpoint)));
      };
      GradientValue& out = (*results)[places[i]];
      if (gradient.is_none()) continue;
      out = gradient.is_sparse()
                ? GradientValue::Sparse(add(gradient.values), add(gradient.indices), add(gradient.dense_shape))
                : GradientValue(add(gradient.dense));
    }
    return true;
  }

  const std::vector<std::shared_ptr<const Recorded>> records_;
  TensorEmitter emitter_;
  absl::flat_hash_set<int64_t> reached_;
  absl::flat_hash_map<int64_t, std::vector<GradientValue>> flows_;
};

PyTape* As(PyObject* self) { return reinterpret_cast<PyTape*>(self); }

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  int watch_accessed = 1;
  if (!PyArg_ParseTuple(args, "|p", &watch_accessed)) return nullptr;
  PyTape* self = As(AllocateObject(type));
  if (self == nullptr) return nullptr;
  self->watched = new absl::flat_hash_set<int64_t>;
  self->records = new std::vector<std::shared_ptr<const Recorded>>;
  self->watch_accessed = watch_accessed != 0;
  return reinterpret_cast<PyObject*>(self);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  // Only what this tape alone holds: records of several tapes are found when one of them has gone.
  if (As(self)->records != nullptr) {
    for (const auto& record : *As(self)->records) {
      if (record.use_count() != 1) continue;
      for (const Ref& input : record->inputs) Py_VISIT(input.get());
      for (const Ref& output : record->outputs) Py_VISIT(output.get());
      Py_VISIT(record->backward.get());
    }
  }
  return 0;
}

int ClearTape(PyObject* self) {
  if (As(self)->records != nullptr) {
    std::vector<std::shared_ptr<const Recorded>> records = std::move(*As(self)->records);
    As(self)->records->clear();
    As(self)->watched->clear();
    while (!records.empty()) records.pop_back();  // newest first: no deep recursion
  }
  return 0;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  ClearTape(self);
  delete As(self)->watched;
  delete As(self)->records;
  FreeObject(type, self);
  Py_DECREF(type);
}

PyObject* Start(PyObject* self, PyObject*) {
  t_tapes.push_back(As(Py_NewRef(self)));
  Py_RETURN_NONE;
}
PyObject* Stop(PyObject* self, PyObject*) {
  auto found = std::ranges::find(t_tapes, As(self));
  if (found == t_tapes.end()) Py_RETURN_FALSE;
  t_tapes.erase(found);
  Py_DECREF(self);
  Py_RETURN_TRUE;
}
PyObject* Watch(PyObject* self, PyObject* tensor) {
  if (!IsTensor(tensor)) return PyErr_Format(PyExc_TypeError, "a tape watches tensors, not %R", tensor);
  As(self)->watched->insert(AsTensor(tensor)->id);
  Py_RETURN_NONE;
}
PyObject* IsWatched(PyObject* self, PyObject* tensor) {
  return PyBool_FromLong(IsTensor(tensor) && As(self)->watched->contains(AsTensor(tensor)->id));
}
PyObject* ClearRecords(PyObject* self, PyObject*) {
  ClearTape(self);
  Py_RETURN_NONE;
}

bool ToList(PyObject* object, Ref* items, std::vector<PyObject*>* out, bool may_be_none) {
  *items = Ref::Own(PySequence_Fast(object, "expected a list of tensors"));
  if (!*items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items->get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items->get(), i);
    if (!IsTensor(item) && !may_be_none) return PyErr_Format(PyExc_TypeError, "%R is no tensor", item), false;
    out->push_back(item);
  }
  return true;
}

// gradient(targets, sources, target_gradients, zeros): lists of tensors.
PyObject* GradientOf(PyObject* self, PyObject* args) {
  PyObject *targets, *sources, *gradients;
  int zeros = 0;
  if (!PyArg_ParseTuple(args, "OOO|p", &targets, &sources, &gradients, &zeros)) return nullptr;
  Ref held[3];
  std::vector<PyObject*> target_list, source_list, gradient_list;
  if (!ToList(targets, &held[0], &target_list, false) || !ToList(sources, &held[1], &source_list, false) ||
      !ToList(gradients, &held[2], &gradient_list, true)) {
    return nullptr;
  }
  Walk walk(*As(self)->records);
  for (size_t i = 0; i < target_list.size(); ++i) {
    if (!walk.Seed(target_list[i], i < gradient_list.size() ? gradient_list[i] : nullptr)) return nullptr;
  }
  if (!walk.Run(source_list)) return nullptr;
  Ref out = Ref::Own(PyList_New(0));
  for (PyObject* source : source_list) {
    GradientValue gradient = walk.Total(AsTensor(source)->id);
    if (gradient.is_none() && zeros) gradient = emit::ZerosLike(walk.emitter().Add(Ref::Borrow(source)));
    if (!walk.emitter().status().ok()) return Raise(walk.emitter().status());
    Ref item = Ref::Own(ToPython(walk.emitter(), gradient));
    if (!item || PyList_Append(out.get(), item.get()) < 0) return nullptr;
  }
  return out.release();
}

PyMethodDef kMethods[] = {
    {"start", Start, METH_NOARGS, nullptr},
    {"stop", Stop, METH_NOARGS, nullptr},
    {"watch", Watch, METH_O, nullptr},
    {"is_watched", IsWatched, METH_O, nullptr},
    {"clear", ClearRecords, METH_NOARGS, nullptr},
    {"gradient", GradientOf, METH_VARARGS, nullptr},
    {},
};
PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(New)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(ClearTape)},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};
PyType_Spec kSpec = {"weir._core.Tape", sizeof(PyTape), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kSlots};

// Functions ready for tapes: the first entry differentiates the function, the next one the forward function that the
// first made, and so on, as many as derivatives are taken.
using TapeCalls = std::vector<TapeCall>;
constexpr int kMostDerivatives = 4;

StatusOr<TapeCalls> FindTapeCalls(const FunctionAttr& function, int derivatives) {
  static auto* const known = new absl::flat_hash_map<std::string, StatusOr<TapeCalls>>;  // under the interpreter's lock
  derivatives = std::min(derivatives, kMostDerivatives);
  auto found = known->find(function.name);
  StatusOr<TapeCalls> calls = found != known->end() ? found->second : StatusOr<TapeCalls>(TapeCalls());
  if (!calls.ok() || static_cast<int>(calls->size()) >= derivatives) return calls;
  {
    WithoutLock unlocked;
    while (static_cast<int>(calls->size()) < derivatives) {
      StatusOr<TapeCall> next = DifferentiateForTape(calls->empty() ? function : calls->back().forward,
                                                     Runtime().functions(), BuiltinGradients());
      if (!next.ok() && calls->empty()) {
        calls = next.status();
        break;
      }
      if (!next.ok()) break;
      calls->push_back(*std::move(next));
    }
  }
  known->insert_or_assign(function.name, calls);
  return calls;
}

// What flows into results of the call that the program never saw comes from gradients of the call.
Gradients GradientOfCall(const TapeCalls& calls, size_t num_results, GradientContext& g) {
  for (const TapeCall& call : calls) {
    bool is_enough = true;
    for (int i = static_cast<int>(num_results); i < g.num_outputs(); ++i) is_enough &= !g.has_grad(i);
    if (is_enough) return CallGradient(call, g);
    num_results = call.forward_types.size();
  }
  g.Fail(Unimplemented("a function is differentiated more often than there are tapes around its call"));
  return {};
}

}  // namespace

bool AnyTape() { return !t_tapes.empty() && t_paused == 0; }

bool IsRecorded(const Tensors& inputs) { return AnyTape() && CountRecording(inputs) > 0; }

int CountRecording(const Tensors& inputs) {
  if (!AnyTape()) return 0;
  return static_cast<int>(std::ranges::count_if(t_tapes, [&](const PyTape* tape) { return Watches(tape, inputs); }));
}

void Record(const OpSchema& schema, std::shared_ptr<const AttrMap> attrs, const Tensors& inputs, const Tensors& outputs,
            GradientFunction gradient) {
  auto record = std::make_shared<Recorded>();
  record->schema = &schema;
  record->attrs = std::move(attrs);
  record->inputs.assign(inputs.begin(), inputs.end());
  record->outputs.assign(outputs.begin(), outputs.end());
  record->gradient = std::move(gradient);
  Put(record);
}

bool CallOnTape(const OpSchema& schema, const Tensors& inputs, const AttrMap& attrs, int watching, Tensors* outputs) {
  StatusOr<FunctionAttr> function = GetAttr<FunctionAttr>(attrs, "f");
  if (!function.ok()) return Raise(function.status()), false;
  StatusOr<TapeCalls> calls = FindTapeCalls(*function, watching);
  const OpSchema* forward = &schema;
  AttrMap forward_attrs = attrs;
  if (calls.ok()) {
    forward = Ops().Find(calls->back().forward_op());
    forward_attrs = calls->back().forward_attrs();
    if (const Attribute* types = attrs.Find("Tin")) forward_attrs.Set("Tin", *types);
  }
  Tensors results;
  ++t_paused;
  const bool ok = Execute(*forward, inputs, forward_attrs, nullptr, &results);
  --t_paused;
  if (!ok) return false;
  StatusOr<std::vector<DType>> types = GetAttr<std::vector<DType>>(attrs, "Tout");
  if (!types.ok()) return Raise(types.status()), false;
  const size_t count = types->size();
  GradientFunction gradient;
  if (calls.ok()) {
    gradient = [calls = *std::move(calls), count](GradientContext& g) { return GradientOfCall(calls, count, g); };
  } else {
    gradient = [error = calls.status()](GradientContext& g) { return g.Fail(error), Gradients(); };
  }
  Record(schema, std::make_shared<const AttrMap>(attrs), inputs, results, std::move(gradient));
  outputs->assign(results.begin(), results.begin() + static_cast<int64_t>(count));
  return true;
}

PyObject* VariableAccessed(PyObject*, PyObject* handle) {
  if (t_paused == 0 && IsTensor(handle)) {
    for (PyTape* tape : t_tapes) {
      if (tape->watch_accessed) tape->watched->insert(AsTensor(handle)->id);
    }
  }
  Py_RETURN_NONE;
}

PyObject* RecordCustom(PyObject*, PyObject* args) {
  PyObject *outputs, *inputs, *backward;
  if (!PyArg_ParseTuple(args, "OOO", &outputs, &inputs, &backward)) return nullptr;
  Ref held[2];
  std::vector<PyObject*> output_list, input_list;
  if (!ToList(outputs, &held[0], &output_list, false) || !ToList(inputs, &held[1], &input_list, false)) return nullptr;
  auto record = std::make_shared<Recorded>();
  record->attrs = std::make_shared<const AttrMap>();
  for (PyObject* input : input_list) record->inputs.push_back(Ref::Borrow(input));
  for (PyObject* output : output_list) record->outputs.push_back(Ref::Borrow(output));
  record->backward = Ref::Borrow(backward);
  Put(record);
  Py_RETURN_NONE;
}

PyObject* ShouldRecord(PyObject*, PyObject* tensors) {
  Ref held;
  std::vector<PyObject*> list;
  if (!ToList(tensors, &held, &list, true)) return nullptr;
  Tensors inputs;
  for (PyObject* tensor : list) {
    if (IsTensor(tensor)) inputs.push_back(Ref::Borrow(tensor));
  }
  return PyBool_FromLong(IsRecorded(inputs));
}

PyObject* PauseTapes(PyObject*, PyObject*) {
  ++t_paused;
  Py_RETURN_NONE;
}
PyObject* ResumeTapes(PyObject*, PyObject*) {
  if (t_paused > 0) --t_paused;
  Py_RETURN_NONE;
}

bool AddTapeType(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (type == nullptr) return false;
  g_tape_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Tape", type) == 0;
}

}  // namespace weir::python

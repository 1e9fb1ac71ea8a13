#include "python/src/tensor.h"

#include <array>

#include "absl/container/inlined_vector.h"
#include "python/src/constant.h"
#include "python/src/devices.h"
#include "python/src/graph.h"
#include "python/src/op.h"

namespace weir::python {

PyTypeObject* g_tensor_type = nullptr;
PyTypeObject* g_eager_type = nullptr;
PyTypeObject* g_symbolic_type = nullptr;

namespace {

int64_t NextId() {
  static int64_t next = 0;
  return ++next;
}

PyTensor* NewTensor(PyTypeObject* type) {
  PyTensor* self = PyObject_GC_New(PyTensor, type);
  if (self == nullptr) return nullptr;
  new (&self->value) Tensor();
  new (&self->host) Tensor();
  self->graph = nullptr;
  self->endpoint = Endpoint();
  self->dict = nullptr;
  self->weakrefs = nullptr;
  return self;
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  PyTensor* self = AsTensor(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->graph);
  Py_VISIT(self->dict);
  return 0;
}

int64_t KeyOf(Endpoint endpoint) { return (static_cast<int64_t>(endpoint.node) << 16) | endpoint.index; }

// Takes a symbolic tensor's object from those that its graph knows.
void Forget(PyTensor* self) {
  if (self->graph == nullptr) return;
  auto& known = StateOf(self->graph).tensors;
  auto found = known.find(KeyOf(self->endpoint));
  if (found != known.end() && found->second == reinterpret_cast<PyObject*>(self)) known.erase(found);
}

int Clear(PyObject* object) {
  PyTensor* self = AsTensor(object);
  Forget(self);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->graph);
  return 0;
}

void Dealloc(PyObject* object) {
  PyTensor* self = AsTensor(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Forget(self);  // before callbacks of weak references, which could ask for the object again
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(object);
  Clear(object);
  self->host.~Tensor();
  if (self->value.dtype() == DType::kResource || self->value.dtype() == DType::kVariant) {
    // The last holder of an iterator ends its threads and waits for them; they may be about to run Python.
    WithoutLock unlocked;
    self->value.~Tensor();
  } else {
    self->value.~Tensor();
  }
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

PyObject* GetDType(PyObject* self, void*) { return FromDType(DTypeOf(AsTensor(self))); }
PyObject* GetShape(PyObject* self, void*) {
  PyTensor* tensor = AsTensor(self);
  return tensor->graph == nullptr ? FromShape(PartialShape(tensor->value.shape())) : FromShape(ShapeOf(tensor));
}
PyObject* GetNdim(PyObject* self, void*) {
  const int rank = ShapeOf(AsTensor(self)).rank();
  if (rank < 0) Py_RETURN_NONE;
  return PyLong_FromLong(rank);
}
PyObject* GetId(PyObject* self, void*) { return PyLong_FromLongLong(AsTensor(self)->id); }
PyObject* GetGraph(PyObject* self, void*) {
  PyObject* graph = AsTensor(self)->graph;
  return Py_NewRef(graph != nullptr ? graph : Py_None);
}
PyObject* GetNode(PyObject* self, void*) { return PyLong_FromLong(AsTensor(self)->endpoint.node); }
PyObject* GetIndex(PyObject* self, void*) { return PyLong_FromLong(AsTensor(self)->endpoint.index); }

PyObject* Numpy(PyObject* self, PyObject*) {
  const Tensor& value = AsTensor(self)->value;
  static PyObject* const array_of = Hook("np_array");
  PyObject* make = HasBufferFormat(value.dtype()) ? array_of : Hook("numpy_of_others");
  if (make == nullptr) return nullptr;
  PyObject* array = PyObject_CallOneArg(make, self);
  if (array == nullptr || value.rank() > 0 || !IsPlain(value.dtype())) return array;
  Ref empty = Ref::Own(PyTuple_New(0));
  PyObject* item = PyObject_GetItem(array, empty.get());
  Py_DECREF(array);
  return item;
}

PyObject* FlatStrings(PyObject* self, PyObject*) { return ToPythonList(AsTensor(self)->value); }
PyObject* RawBytes(PyObject* self, PyObject*) {
  const Tensor* const host = HostValue(self);
  if (host == nullptr) return nullptr;
  const Tensor& value = *host;
  if (!IsPlain(value.dtype())) return PyErr_Format(PyExc_TypeError, "elements of this type are not plain bytes");
  return PyBytes_FromStringAndSize(static_cast<const char*>(value.raw_data()),
                                   static_cast<Py_ssize_t>(value.num_bytes()));
}
// Python number of an element, for bool(), int() and float().
PyObject* Item(PyObject* self, PyObject*) {
  const Tensor& value = AsTensor(self)->value;
  if (value.num_elements() != 1) {
    return PyErr_Format(PyExc_TypeError, "only size-1 arrays can be converted to Python scalars");
  }
  const Tensor* const host = HostValue(self);
  return host != nullptr ? ItemOf(*host, 0) : nullptr;
}

int Bool(PyObject* self) {
  if (IsEager(self)) {
    const Tensor& value = AsTensor(self)->value;
    if (value.num_elements() == 1 && IsPlain(value.dtype())) {
      const Tensor* const host = HostValue(self);
      if (host == nullptr) return -1;
      if (host->dtype() == DType::kBool) return host->scalar<bool>();
      Ref item = Ref::Own(ItemOf(*host, 0));
      return item ? PyObject_IsTrue(item.get()) : -1;
    }
  }
  PyObject* hook = Hook("tensor_bool");
  if (hook == nullptr) return -1;
  Ref result = Ref::Own(PyObject_CallOneArg(hook, self));
  return result ? PyObject_IsTrue(result.get()) : -1;
}

// Operators. Two eager tensors of one type go straight to the op; everything else through weir.framework.operators.
enum Operator {
  kAdd,
  kSub,
  kMul,
  kTrueDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatMul,
  kAnd,
  kOr,
  kXor,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kNegative,
  kAbs,
  kInvert,
  kNumOperators
};
struct OperatorInfo {
  const char* name;
  const char* op;  // for two tensors of one type; null: always Python
  bool floats_only;
};
constexpr std::array<OperatorInfo, kNumOperators> kOperators = {{
    {"add", "AddV2", false},      {"sub", "Sub", false},        {"mul", "Mul", false},
    {"truediv", "RealDiv", true}, {"floordiv", nullptr, false}, {"mod", "FloorMod", false},
    {"pow", nullptr, false},      {"matmul", nullptr, false},   {"and_", nullptr, false},
    {"or_", nullptr, false},      {"xor", nullptr, false},      {"lt", "Less", false},
    {"le", "LessEqual", false},   {"gt", "Greater", false},     {"ge", "GreaterEqual", false},
    {"eq", nullptr, false},       {"ne", nullptr, false},       {"neg", "Neg", false},
    {"abs", nullptr, false},      {"invert", nullptr, false},
}};
std::array<PyObject*, kNumOperators> g_ops{};        // Op objects
std::array<PyObject*, kNumOperators> g_functions{};  // Python functions

PyObject* Function(Operator which) {
  if (g_functions[which] == nullptr) {
    PyObject* module = Hook("operators");
    if (module == nullptr) return nullptr;
    g_functions[which] = PyObject_GetAttrString(module, kOperators[which].name);
  }
  return g_functions[which];
}

PyObject* OpOf(Operator which) {
  if (g_ops[which] == nullptr) g_ops[which] = FindOp(kOperators[which].op);
  return g_ops[which];
}

// A Python number as a tensor of the type of the tensor beside it, if that is what TensorFlow makes of it and loses
// nothing; else null, and no exception.
Ref NumberLike(PyObject* number, PyObject* tensor) {
  const DType dtype = AsTensor(tensor)->value.dtype();
  if (PyFloat_CheckExact(number)) {
    const double value = PyFloat_AS_DOUBLE(number);
    if (dtype == DType::kFloat) return Ref::Own(NewEager(Tensor::Scalar(static_cast<float>(value))));
    if (dtype == DType::kDouble) return Ref::Own(NewEager(Tensor::Scalar(value)));
  } else if (PyLong_CheckExact(number)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || value != static_cast<int32_t>(value)) return Ref();
    if (dtype == DType::kFloat) return Ref::Own(NewEager(Tensor::Scalar(static_cast<float>(value))));
    if (dtype == DType::kDouble) return Ref::Own(NewEager(Tensor::Scalar(static_cast<double>(value))));
    if (dtype == DType::kInt32) return Ref::Own(NewEager(Tensor::Scalar(static_cast<int32_t>(value))));
    if (dtype == DType::kInt64) return Ref::Own(NewEager(Tensor::Scalar(value)));
  }
  return Ref();
}

template <Operator which>
PyObject* Binary(PyObject* a, PyObject* b) {
  const OperatorInfo& info = kOperators[which];
  Ref number;
  if (CurrentGraph() == nullptr && info.op != nullptr) {
    if (IsEager(a) && !IsTensor(b)) {
      if ((number = NumberLike(b, a))) b = number.get();
    } else if (IsEager(b) && !IsTensor(a)) {
      if ((number = NumberLike(a, b))) a = number.get();
    }
  }
  if (info.op != nullptr && IsEager(a) && IsEager(b)) {
    const DType dtype = AsTensor(a)->value.dtype();
    if (dtype == AsTensor(b)->value.dtype() && dtype != DType::kBool && dtype != DType::kString &&
        (!info.floats_only || IsFloating(dtype) || IsComplex(dtype))) {
      PyObject* op = OpOf(which);
      if (op == nullptr) return nullptr;
      PyObject* const arguments[] = {a, b};
      return PyObject_Vectorcall(op, arguments, 2, nullptr);
    }
  }
  PyObject* function = Function(which);
  if (function == nullptr) return nullptr;
  PyObject* const arguments[] = {a, b};
  return PyObject_Vectorcall(function, arguments, 2, nullptr);
}

template <Operator which>
PyObject* Unary(PyObject* a) {
  PyObject* callee = kOperators[which].op != nullptr ? OpOf(which) : Function(which);
  return callee != nullptr ? PyObject_CallOneArg(callee, a) : nullptr;
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return Binary<kPow>(a, b);
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return Binary<kLess>(a, b);
    case Py_LE:
      return Binary<kLessEqual>(a, b);
    case Py_GT:
      return Binary<kGreater>(a, b);
    case Py_GE:
      return Binary<kGreaterEqual>(a, b);
    case Py_EQ:
      return Binary<kEqual>(a, b);
    default:
      return Binary<kNotEqual>(a, b);
  }
}

PyGetSetDef kGetSet[] = {
    {"dtype", GetDType, nullptr, "The `DType` of elements in this tensor.", nullptr},
    {"shape", GetShape, nullptr, "A `tf.TensorShape`, as far as it is known.", nullptr},
    {"_ndim", GetNdim, nullptr, nullptr, nullptr},
    {"_id", GetId, nullptr, nullptr, nullptr},
    {"_graph", GetGraph, nullptr, nullptr, nullptr},
    {"_node", GetNode, nullptr, nullptr, nullptr},
    {"_index", GetIndex, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};
PyMethodDef kEagerMethods[] = {
    {"numpy", Numpy, METH_NOARGS, "A copy of the contents as a numpy array or scalar."},
    {"_flat_strings", FlatStrings, METH_NOARGS, nullptr},
    {"_raw_bytes", RawBytes, METH_NOARGS, nullptr},
    {"_item", Item, METH_NOARGS, nullptr},
    {},
};
PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {},
};
template <typename F>
void* Slot(F* function) {
  return reinterpret_cast<void*>(function);
}

PyType_Slot kTensorSlots[] = {
    {Py_tp_dealloc, Slot(Dealloc)},
    {Py_tp_traverse, Slot(Traverse)},
    {Py_tp_clear, Slot(Clear)},
    {Py_tp_getset, kGetSet},
    {Py_tp_members, kMembers},
    {Py_tp_doc, const_cast<char*>("A multidimensional array of elements of one type.")},
    {Py_tp_richcompare, Slot(Compare)},
    {Py_tp_hash, Slot(PyObject_HashNotImplemented)},
    {Py_nb_bool, Slot(Bool)},
    {Py_nb_add, Slot(Binary<kAdd>)},
    {Py_nb_subtract, Slot(Binary<kSub>)},
    {Py_nb_multiply, Slot(Binary<kMul>)},
    {Py_nb_true_divide, Slot(Binary<kTrueDiv>)},
    {Py_nb_floor_divide, Slot(Binary<kFloorDiv>)},
    {Py_nb_remainder, Slot(Binary<kMod>)},
    {Py_nb_matrix_multiply, Slot(Binary<kMatMul>)},
    {Py_nb_power, Slot(Power)},
    {Py_nb_and, Slot(Binary<kAnd>)},
    {Py_nb_or, Slot(Binary<kOr>)},
    {Py_nb_xor, Slot(Binary<kXor>)},
    {Py_nb_negative, Slot(Unary<kNegative>)},
    {Py_nb_absolute, Slot(Unary<kAbs>)},
    {Py_nb_invert, Slot(Unary<kInvert>)},
    {0, nullptr},
};
PyType_Slot kEagerSlots[] = {
    {Py_tp_dealloc, Slot(Dealloc)},
    {Py_tp_traverse, Slot(Traverse)},
    {Py_tp_clear, Slot(Clear)},
    {Py_tp_methods, kEagerMethods},
    {Py_bf_getbuffer, Slot(GetBuffer)},
    {Py_bf_releasebuffer, Slot(ReleaseBuffer)},
    {0, nullptr},
};
PyType_Slot kSymbolicSlots[] = {
    {Py_tp_dealloc, Slot(Dealloc)},
    {Py_tp_traverse, Slot(Traverse)},
    {Py_tp_clear, Slot(Clear)},
    {0, nullptr},
};
PyType_Slot kBaseSlots[] = {{0, nullptr}};

constexpr unsigned int kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec kBaseSpec = {"weir._core.TensorBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kBaseSlots};
PyType_Spec kTensorSpec = {"weir._core.Tensor", sizeof(PyTensor), 0, kFlags | Py_TPFLAGS_BASETYPE, kTensorSlots};
PyType_Spec kEagerSpec = {"weir._core.EagerTensor", sizeof(PyTensor), 0, kFlags, kEagerSlots};
PyType_Spec kSymbolicSpec = {"weir._core.SymbolicTensor", sizeof(PyTensor), 0, kFlags, kSymbolicSlots};

PyTypeObject* AddType(PyObject* module, PyType_Spec* spec, PyTypeObject* base) {
  PyObject* type = PyType_FromSpecWithBases(spec, reinterpret_cast<PyObject*>(base));
  if (type == nullptr) return nullptr;
  if (PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyObject* NewEager(Tensor value) {
  PyTensor* self = NewTensor(g_eager_type);
  if (self == nullptr) return nullptr;
  self->value = std::move(value);
  self->id = NextId();
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* NewConstant(Tensor value) {
  StatusOr<Tensor> placed = ToCurrentDevice(std::move(value));
  return placed.ok() ? NewEager(*std::move(placed)) : Raise(placed.status());
}

const Tensor* HostValue(PyObject* tensor) {
  PyTensor* const self = AsTensor(tensor);
  if (self->value.in_host_memory()) return &self->value;
  if (self->host.has_value()) return &self->host;
  const Tensor value = self->value;
  StatusOr<Tensor> host = Internal("not copied");
  {
    WithoutLock unlocked;
    host = Runtime().ToHost(value);
  }
  if (!host.ok()) return Raise(host.status()), nullptr;
  if (!self->host.has_value()) self->host = *std::move(host);
  return &self->host;
}

PyObject* NewSymbolic(PyObject* graph, Endpoint endpoint) {
  auto& known = StateOf(graph).tensors;
  if (auto found = known.find(KeyOf(endpoint)); found != known.end()) return Py_NewRef(found->second);
  PyTensor* self = NewTensor(g_symbolic_type);
  if (self == nullptr) return nullptr;
  self->graph = Py_NewRef(graph);
  self->endpoint = endpoint;
  // Distinct from eager ids, and the same for every object that stands for this endpoint.
  self->id = -1 - ((StateOf(graph).serial << 36) | (static_cast<int64_t>(endpoint.node) << 12) | endpoint.index);
  StateOf(graph).tensors[KeyOf(endpoint)] = reinterpret_cast<PyObject*>(self);
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

DType DTypeOf(const PyTensor* tensor) {
  if (tensor->graph == nullptr) return tensor->value.dtype();
  return StateOf(tensor->graph).graph.type(tensor->endpoint);
}

PartialShape ShapeOf(const PyTensor* tensor) {
  if (tensor->graph == nullptr) return PartialShape(tensor->value.shape());
  return StateOf(tensor->graph).Inferred(tensor->endpoint).shape;
}

PyObject* FromDType(DType dtype) {
  static std::array<PyObject*, 256> known{};
  PyObject*& object = known[static_cast<uint8_t>(dtype)];
  if (object == nullptr) {
    PyObject* make = Hook("as_dtype");
    if (make == nullptr) return nullptr;
    object = PyObject_CallFunction(make, "i", static_cast<int>(dtype));
    if (object == nullptr) return nullptr;
  }
  return Py_NewRef(object);
}

bool ToDType(PyObject* object, DType* out) {
  static PyObject* const attribute = PyUnicode_InternFromString("_number");
  static PyTypeObject* type = nullptr;
  if (type == nullptr) {
    PyObject* hook = Hook("DType");
    if (hook == nullptr) return false;
    type = reinterpret_cast<PyTypeObject*>(hook);
  }
  Ref dtype = Ref::Borrow(object);
  if (Py_TYPE(object) != type) {
    PyObject* convert = Hook("as_dtype");
    if (convert == nullptr) return false;
    dtype = Ref::Own(PyObject_CallOneArg(convert, object));
    if (!dtype) return false;
  }
  Ref number = Ref::Own(PyObject_GetAttr(dtype.get(), attribute));
  if (!number) return false;
  *out = static_cast<DType>(PyLong_AsLong(number.get()));
  return true;
}

PyObject* DimsTuple(const PartialShape& shape) {
  if (!shape.has_rank()) Py_RETURN_NONE;
  PyObject* tuple = PyTuple_New(shape.rank());
  if (tuple == nullptr) return nullptr;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape.dim(i);
    PyObject* item = size < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(size);
    if (item == nullptr) return Py_DECREF(tuple), nullptr;
    PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

PyObject* FromShape(const PartialShape& shape) {
  PyObject* make = Hook("make_shape");
  if (make == nullptr) return nullptr;
  Ref dims = Ref::Own(DimsTuple(shape));
  return dims ? PyObject_CallOneArg(make, dims.get()) : nullptr;
}

bool ToShape(PyObject* object, PartialShape* out) {
  PyObject* convert = Hook("shape_dims");  // a tuple of ints and None, or None
  if (convert == nullptr) return false;
  Ref dims = Ref::Own(PyObject_CallOneArg(convert, object));
  if (!dims) return false;
  if (dims.get() == Py_None) {
    *out = PartialShape();
    return true;
  }
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(dims.get(), i);
    sizes.push_back(item == Py_None ? -1 : PyLong_AsLongLong(item));
    if (PyErr_Occurred()) return false;
  }
  StatusOr<PartialShape> shape = PartialShape::Make(sizes);
  if (!shape.ok()) return RaiseForGraph(shape.status()), false;
  *out = *std::move(shape);
  return true;
}

PyObject* SignatureOf(PyObject*, PyObject* tensors) {
  if (!PyTuple_Check(tensors)) return PyErr_Format(PyExc_TypeError, "signature() takes a tuple");
  absl::InlinedVector<int64_t, 32> words;
  const Py_ssize_t count = PyTuple_GET_SIZE(tensors);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tensors, i);
    if (!IsEager(item)) Py_RETURN_NONE;
    const Tensor& value = AsTensor(item)->value;
    const Shape& shape = value.shape();
    words.push_back(static_cast<int64_t>(value.dtype()) << 8 | shape.rank());
    for (int d = 0; d < shape.rank(); ++d) words.push_back(shape.dim(d));
  }
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words.data()),
                                   static_cast<Py_ssize_t>(words.size() * sizeof(int64_t)));
}

bool AddTensorTypes(PyObject* module) {
  PyTypeObject* base = AddType(module, &kBaseSpec, nullptr);
  if (base == nullptr) return false;
  g_tensor_type = AddType(module, &kTensorSpec, base);
  if (g_tensor_type == nullptr) return false;
  g_eager_type = AddType(module, &kEagerSpec, g_tensor_type);
  g_symbolic_type = AddType(module, &kSymbolicSpec, g_tensor_type);
  return g_eager_type != nullptr && g_symbolic_type != nullptr;
}

}  // namespace weir::python

#include "python/src/attributes.h"

#include "python/src/tensor.h"

namespace weir::python {
namespace {

bool Wrong(const char* attr, const char* op, const char* expected, PyObject* value) {
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "Expected %s for argument '%s' of %s, got %R.", expected, attr, op, value);
  return false;
}

bool ToFunction(PyObject* value, FunctionAttr* out) {
  if (PyUnicode_Check(value) || PyBytes_Check(value)) return ToString(value, &out->name);
  Ref name = Ref::Own(PyObject_GetAttrString(value, "_function_name"));
  if (!name) {
    PyErr_Clear();
    name = Ref::Own(PyObject_GetAttrString(value, "name"));
  }
  return name && ToString(name.get(), &out->name);
}

bool ToScalar(PyObject* value, std::string_view type, const char* attr, const char* op, Attribute* out) {
  if (type == "int") {
    Ref index = Ref::Own(PyNumber_Index(value));
    if (!index) return Wrong(attr, op, "int", value);
    const long long number = PyLong_AsLongLong(index.get());
    if (number == -1 && PyErr_Occurred()) return false;
    *out = Attribute(static_cast<int64_t>(number));
    return true;
  }
  if (type == "float") {
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) return Wrong(attr, op, "float", value);
    *out = Attribute(static_cast<float>(number));
    return true;
  }
  if (type == "bool") {
    if (!PyBool_Check(value) && !PyLong_Check(value)) {
      Ref item = Ref::Own(PyObject_CallMethod(value, "__bool__", nullptr));
      if (!item || IsSymbolic(value)) return Wrong(attr, op, "bool", value);
      *out = Attribute(item.get() == Py_True);
      return true;
    }
    *out = Attribute(PyObject_IsTrue(value) == 1);
    return true;
  }
  if (type == "string") {
    std::string text;
    if (!ToString(value, &text)) return Wrong(attr, op, "string", value);
    *out = Attribute(std::move(text));
    return true;
  }
  if (type == "type") {
    DType dtype;
    if (!ToDType(value, &dtype)) return false;
    *out = Attribute(BaseType(dtype));
    return true;
  }
  if (type == "shape") {
    PartialShape shape;
    if (!ToShape(value, &shape)) return false;
    *out = Attribute(std::move(shape));
    return true;
  }
  if (type == "tensor") {
    Ref tensor = Ref::Borrow(value);
    if (!IsEager(value)) {
      PyObject* convert = Hook("convert");
      if (convert == nullptr) return false;
      tensor = Ref::Own(PyObject_CallFunction(convert, "OO", value, Py_None));
      if (!tensor) return false;
    }
    if (!IsEager(tensor.get())) return Wrong(attr, op, "a tensor with a value", value);
    const Tensor* const host = HostValue(tensor.get());
    if (host == nullptr) return false;
    *out = Attribute(*host);
    return true;
  }
  if (type == "func") {
    FunctionAttr function;
    if (!ToFunction(value, &function)) return Wrong(attr, op, "a function", value);
    *out = Attribute(std::move(function));
    return true;
  }
  PyErr_Format(PyExc_TypeError, "attribute '%s' of %s has an unknown type", attr, op);
  return false;
}

template <typename T>
bool Append(const Attribute& value, std::vector<T>* list) {
  const T* item = value.get_if<T>();
  if (item == nullptr) return false;
  list->push_back(*item);
  return true;
}

}  // namespace

bool ToAttribute(PyObject* value, const std::string& type, const char* attr, const char* op, Attribute* out) {
  if (!type.starts_with("list(")) return ToScalar(value, type, attr, op, out);
  const std::string_view element = std::string_view(type).substr(5, type.size() - 6);
  Ref items;
  if (element == "shape" || element == "type" || !(PyUnicode_Check(value) || PyBytes_Check(value))) {
    items = Ref::Own(PySequence_Fast(value, ""));
  }
  if (!items) return Wrong(attr, op, "a list", value);
  AttrList list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Attribute item;
    if (!ToScalar(PySequence_Fast_GET_ITEM(items.get(), i), element, attr, op, &item)) return false;
    Append(item, &list.s) || Append(item, &list.i) || Append(item, &list.f) || Append(item, &list.b) ||
        Append(item, &list.type) || Append(item, &list.shape) || Append(item, &list.tensor) || Append(item, &list.func);
  }
  *out = Attribute(std::move(list));
  return true;
}

namespace {
PyObject* From(const std::string& v) { return PyBytes_FromStringAndSize(v.data(), static_cast<Py_ssize_t>(v.size())); }
PyObject* From(int64_t v) { return PyLong_FromLongLong(v); }
PyObject* From(float v) { return PyFloat_FromDouble(v); }
PyObject* From(bool v) { return PyBool_FromLong(v); }
PyObject* From(DType v) { return FromDType(v); }
PyObject* From(const PartialShape& v) { return FromShape(v); }
PyObject* From(const Tensor& v) { return NewEager(v); }
PyObject* From(const FunctionAttr& v) { return FromString(v.name); }

template <typename T>
bool AppendAll(const std::vector<T>& values, PyObject* list) {
  for (size_t i = 0; i < values.size(); ++i) {
    Ref item = Ref::Own(From(static_cast<T>(values[i])));
    if (!item || PyList_Append(list, item.get()) < 0) return false;
  }
  return true;
}
}  // namespace

PyObject* FromAttribute(const Attribute& attribute) {
  if (const auto* v = attribute.get_if<std::string>()) return From(*v);
  if (const auto* v = attribute.get_if<int64_t>()) return From(*v);
  if (const auto* v = attribute.get_if<float>()) return From(*v);
  if (const auto* v = attribute.get_if<bool>()) return From(*v);
  if (const auto* v = attribute.get_if<DType>()) return From(*v);
  if (const auto* v = attribute.get_if<PartialShape>()) return From(*v);
  if (const auto* v = attribute.get_if<Tensor>()) return From(*v);
  if (const auto* v = attribute.get_if<FunctionAttr>()) return From(*v);
  if (const auto* v = attribute.get_if<AttrPlaceholder>()) return FromString(v->name);
  if (const auto* v = attribute.get_if<AttrList>()) {
    Ref list = Ref::Own(PyList_New(0));
    if (!list || !AppendAll(v->s, list.get()) || !AppendAll(v->i, list.get()) || !AppendAll(v->f, list.get()) ||
        !AppendAll(v->b, list.get()) || !AppendAll(v->type, list.get()) || !AppendAll(v->shape, list.get()) ||
        !AppendAll(v->tensor, list.get()) || !AppendAll(v->func, list.get())) {
      return nullptr;
    }
    return list.release();
  }
  Py_RETURN_NONE;
}

}  // namespace weir::python

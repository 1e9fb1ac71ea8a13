#include "python/src/constant.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "python/src/tensor.h"

namespace weir::python {
namespace {

// The kinds of Python numbers, in the order in which one kind takes in the one before it.
enum class Kind { kNone, kBool, kInt, kBigInt, kFloat, kComplex, kString, kOther };

Kind KindOf(PyObject* object) {
  if (PyBool_Check(object)) return Kind::kBool;
  if (PyLong_CheckExact(object)) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return Kind::kOther;
    return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max() ? Kind::kInt
                                                                                                        : Kind::kBigInt;
  }
  if (PyFloat_CheckExact(object)) return Kind::kFloat;
  if (PyComplex_CheckExact(object)) return Kind::kComplex;
  if (PyUnicode_Check(object) || PyBytes_CheckExact(object)) return Kind::kString;
  return Kind::kOther;
}

bool Joins(Kind a, Kind b, Kind* out) {
  if (a == Kind::kNone || a == b) return *out = b, true;
  if (a == Kind::kBool || b == Kind::kBool || a == Kind::kString || b == Kind::kString) return false;
  return *out = std::max(a, b), true;
}

bool IsSequence(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

// The shape of a nest of lists and the kind of its leaves. False for what needs Python's own conversion.
bool Scan(PyObject* object, int depth, std::vector<int64_t>* dims, Kind* kind) {
  if (!IsSequence(object)) {
    const Kind own = KindOf(object);
    return own != Kind::kOther && depth == static_cast<int>(dims->size()) && Joins(*kind, own, kind);
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
  if (depth == static_cast<int>(dims->size())) {
    if (*kind != Kind::kNone || depth > 64) return false;
    dims->push_back(size);
  } else if ((*dims)[depth] != size) {
    return false;
  }
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!Scan(PySequence_Fast_GET_ITEM(object, i), depth + 1, dims, kind)) return false;
  }
  return true;
}

template <typename T>
bool Read(PyObject* leaf, T* out) {
  if constexpr (std::is_same_v<T, std::string>) {
    return ToString(leaf, out);
  } else if constexpr (std::is_same_v<T, bool>) {
    *out = leaf == Py_True;
    return true;
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const double real = PyComplex_RealAsDouble(leaf);
    *out = T(real, PyComplex_ImagAsDouble(leaf));
    return !(real == -1 && PyErr_Occurred());
  } else if constexpr (std::is_integral_v<T>) {
    *out = static_cast<T>(PyLong_AsUnsignedLongLongMask(leaf));
    return !PyErr_Occurred();
  } else {
    const double value = PyFloat_AsDouble(leaf);
    *out = static_cast<T>(static_cast<float>(value));
    if constexpr (std::is_same_v<T, double>) *out = value;
    return !(value == -1 && PyErr_Occurred());
  }
}

template <typename T>
bool Fill(PyObject* object, T** next) {
  if (!IsSequence(object)) return Read(object, (*next)++);
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!Fill(PySequence_Fast_GET_ITEM(object, i), next)) return false;
  }
  return true;
}

// Whether leaves of a kind may become a type without a cast that TensorFlow refuses.
bool Fits(Kind kind, DType dtype) {
  switch (kind) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return dtype == DType::kBool;
    case Kind::kInt:
    case Kind::kBigInt:
      return IsInteger(dtype) || IsFloating(dtype) || IsComplex(dtype);
    case Kind::kFloat:
      return IsFloating(dtype) || IsComplex(dtype);
    case Kind::kComplex:
      return IsComplex(dtype);
    case Kind::kString:
      return dtype == DType::kString;
    case Kind::kOther:
      return false;
  }
  return false;
}

DType NaturalType(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return DType::kBool;
    case Kind::kInt:
      return DType::kInt32;
    case Kind::kBigInt:
      return DType::kInt64;
    case Kind::kComplex:
      return DType::kComplex128;
    case Kind::kString:
      return DType::kString;
    default:
      return DType::kFloat;
  }
}

using ReadTypes = TypeList<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t, uint16_t, uint32_t,
                           uint64_t, Half, BFloat16, std::complex<float>, std::complex<double>, std::string>;
using ItemTypes = decltype(NumberTypes{} + TypeList<bool, std::string>{});

Converted FromPython(PyObject* object, DType wanted, Tensor* out) {
  std::vector<int64_t> dims;
  Kind kind = Kind::kNone;
  if (!Scan(object, 0, &dims, &kind)) return Converted::kUnknown;
  const DType dtype = wanted != DType::kInvalid ? wanted : NaturalType(kind);
  if (!Fits(kind, dtype) || (kind == Kind::kBigInt && dtype == DType::kInt32)) return Converted::kUnknown;
  StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Raise(shape.status()), Converted::kError;
  StatusOr<Tensor> tensor = Tensor::Allocate(dtype, *shape);
  if (!tensor.ok()) return Raise(tensor.status()), Converted::kError;
  bool ok = false;
  const bool known = DispatchDType(dtype, ReadTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* next = tensor->template data<T>();
    ok = Fill(object, &next);
  });
  if (!known) return Converted::kUnknown;
  if (!ok) return Converted::kError;
  if (wanted == DType::kInvalid && dtype == DType::kFloat &&
      std::ranges::any_of(tensor->span<float>(), [](float number) { return std::isinf(number); })) {
    return Converted::kUnknown;  // an error unless it was infinite
  }
  *out = *std::move(tensor);
  return Converted::kYes;
}

DType FromFormat(const char* format, Py_ssize_t itemsize) {
  if (format == nullptr) return DType::kUInt8;
  if (*format == '<' || *format == '=' || *format == '@' || *format == '|') ++format;
  const std::string_view code(format);
  if (code == "f") return DType::kFloat;
  if (code == "d") return DType::kDouble;
  if (code == "e") return DType::kHalf;
  if (code == "?") return DType::kBool;
  if (code == "Zf") return DType::kComplex64;
  if (code == "Zd") return DType::kComplex128;
  if (code.size() != 1) return DType::kInvalid;
  if (std::strchr("bhilqn", code[0]) != nullptr) {
    return itemsize == 1 ? DType::kInt8 : itemsize == 2 ? DType::kInt16 : itemsize == 4 ? DType::kInt32 : DType::kInt64;
  }
  if (std::strchr("BHILQN", code[0]) != nullptr) {
    return itemsize == 1   ? DType::kUInt8
           : itemsize == 2 ? DType::kUInt16
           : itemsize == 4 ? DType::kUInt32
                           : DType::kUInt64;
  }
  return DType::kInvalid;
}

const char* FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "f";
    case DType::kDouble:
      return "d";
    case DType::kHalf:
      return "e";
    case DType::kBool:
      return "?";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return "l";
    case DType::kUInt8:
      return "B";
    case DType::kUInt16:
      return "H";
    case DType::kUInt32:
      return "I";
    case DType::kUInt64:
      return "L";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    default:
      return nullptr;
  }
}

Converted FromBuffer(PyObject* object, DType wanted, Tensor* out) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) return PyErr_Clear(), Converted::kUnknown;
  Converted result = Converted::kUnknown;
  const DType dtype = FromFormat(view.format, view.itemsize);
  if (dtype != DType::kInvalid && SizeOf(dtype) == static_cast<size_t>(view.itemsize) &&
      (wanted == DType::kInvalid || wanted == dtype)) {
    StatusOr<Shape> shape = Shape::Make({reinterpret_cast<const int64_t*>(view.shape), static_cast<size_t>(view.ndim)});
    StatusOr<Tensor> tensor = shape.ok() ? Tensor::Allocate(dtype, *shape) : StatusOr<Tensor>(shape.status());
    if (!tensor.ok()) {
      Raise(tensor.status());
      result = Converted::kError;
    } else if (PyBuffer_ToContiguous(tensor->raw_data(), &view, view.len, 'C') != 0) {
      result = Converted::kError;
    } else {
      *out = *std::move(tensor);
      result = Converted::kYes;
    }
  }
  PyBuffer_Release(&view);
  return result;
}

}  // namespace

Converted ToTensor(PyObject* value, DType wanted, Tensor* out) {
  if (PyFloat_CheckExact(value) && (wanted == DType::kInvalid || wanted == DType::kFloat)) {
    const float number = static_cast<float>(PyFloat_AS_DOUBLE(value));
    if (wanted == DType::kInvalid && std::isinf(number)) return Converted::kUnknown;  // an error unless it was infinite
    *out = Tensor::Scalar(number);
    return Converted::kYes;
  }
  if (IsSequence(value) || KindOf(value) != Kind::kOther) return FromPython(value, wanted, out);
  static PyObject* const ndarray = Hook("ndarray");
  static PyObject* const generic = Hook("np_generic");
  if (ndarray == nullptr || generic == nullptr) return Converted::kError;
  if (PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(ndarray)) ||
      PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(generic))) {
    return FromBuffer(value, wanted, out);
  }
  return Converted::kUnknown;
}

PyObject* ItemOf(const Tensor& tensor, int64_t index) {
  PyObject* out = nullptr;
  const bool known = DispatchDType(tensor.dtype(), ItemTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T& value = tensor.data<T>()[index];
    if constexpr (std::is_same_v<T, std::string>) {
      out = PyBytes_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
    } else if constexpr (std::is_same_v<T, bool>) {
      out = PyBool_FromLong(value);
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      out = PyComplex_FromDoubles(value.real(), value.imag());
    } else if constexpr (std::is_integral_v<T>) {
      out = std::is_unsigned_v<T> ? PyLong_FromUnsignedLongLong(value) : PyLong_FromLongLong(value);
    } else {
      out = PyFloat_FromDouble(static_cast<double>(static_cast<float>(value)));
      if constexpr (std::is_same_v<T, double>) {
        Py_DECREF(out);
        out = PyFloat_FromDouble(value);
      }
    }
  });
  if (!known) PyErr_Format(PyExc_TypeError, "elements of this type have no Python value");
  return out;
}

PyObject* ToPythonList(const Tensor& tensor) {
  Ref list = Ref::Own(PyList_New(tensor.num_elements()));
  if (!list) return nullptr;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    PyObject* item = ItemOf(tensor, i);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

PyObject* Constant(PyObject*, PyObject* args) {
  PyObject *value, *dtype_object = Py_None;
  if (!PyArg_ParseTuple(args, "O|O", &value, &dtype_object)) return nullptr;
  DType dtype = DType::kInvalid;
  if (dtype_object != Py_None && !ToDType(dtype_object, &dtype)) return nullptr;
  Tensor out;
  switch (ToTensor(value, dtype, &out)) {
    case Converted::kYes:
      return NewConstant(std::move(out));
    case Converted::kError:
      return nullptr;
    case Converted::kUnknown:
      break;
  }
  Py_RETURN_NOTIMPLEMENTED;
}

// from_bytes(bytes or list of bytes, dtype, dims): plain elements from raw bytes, strings from a list.
PyObject* FromFlatStrings(PyObject*, PyObject* args) {
  PyObject *values, *dtype_object, *dims_object;
  if (!PyArg_ParseTuple(args, "OOO", &values, &dtype_object, &dims_object)) return nullptr;
  DType dtype;
  PartialShape partial;
  if (!ToDType(dtype_object, &dtype) || !ToShape(dims_object, &partial)) return nullptr;
  std::optional<Shape> shape = partial.ToShape();
  if (!shape) return PyErr_Format(PyExc_ValueError, "the shape is not fully defined");
  StatusOr<Tensor> tensor = Tensor::Allocate(dtype, *shape);
  if (!tensor.ok()) return Raise(tensor.status());
  if (PyBytes_Check(values)) {
    if (!IsPlain(dtype) || static_cast<size_t>(PyBytes_GET_SIZE(values)) != tensor->num_bytes()) {
      return PyErr_Format(PyExc_ValueError, "the bytes do not fill the shape");
    }
    std::memcpy(tensor->raw_data(), PyBytes_AS_STRING(values), tensor->num_bytes());
    return NewConstant(*std::move(tensor));
  }
  if (dtype != DType::kString || !PyList_Check(values) || PyList_GET_SIZE(values) != tensor->num_elements()) {
    return PyErr_Format(PyExc_ValueError, "the strings do not fill the shape");
  }
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    if (!ToString(PyList_GET_ITEM(values, i), &tensor->data<std::string>()[i])) return nullptr;
  }
  return NewEager(*std::move(tensor));
}

bool HasBufferFormat(DType dtype) { return FormatOf(dtype) != nullptr; }

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor* const host = HostValue(self);
  if (host == nullptr) {
    view->obj = nullptr;
    return -1;
  }
  const Tensor& value = *host;
  const char* format = FormatOf(value.dtype());
  if (format == nullptr || (flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, format == nullptr ? "elements of this type have no buffer format"
                                                         : "a tensor's memory is read-only");
    view->obj = nullptr;
    return -1;
  }
  const int rank = value.rank();
  auto* sizes = static_cast<Py_ssize_t*>(PyMem_Malloc(sizeof(Py_ssize_t) * (2 * rank + 1)));
  if (sizes == nullptr) return PyErr_NoMemory(), -1;
  Py_ssize_t stride = static_cast<Py_ssize_t>(SizeOf(value.dtype()));
  for (int i = rank - 1; i >= 0; --i) {
    sizes[i] = value.dim(i);
    sizes[rank + i] = stride;
    stride *= value.dim(i);
  }
  view->buf = const_cast<void*>(value.raw_data());
  view->obj = Py_NewRef(self);
  view->len = static_cast<Py_ssize_t>(value.num_bytes());
  view->readonly = 1;
  view->itemsize = static_cast<Py_ssize_t>(SizeOf(value.dtype()));
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->ndim = rank;
  view->shape = (flags & PyBUF_ND) != 0 ? sizes : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + rank : nullptr;
  view->suboffsets = nullptr;
  view->internal = sizes;
  return 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

}  // namespace weir::python

#include "weir/tensor/dlpack.h"

#include <cstring>
#include <memory>

namespace weir {
namespace {

using dlpack::ManagedTensor;

struct TypeName {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};
constexpr TypeName kDlpackTypes[] = {
    {DType::kFloat, dlpack::kFloat, 32},       {DType::kDouble, dlpack::kFloat, 64},
    {DType::kHalf, dlpack::kFloat, 16},        {DType::kBFloat16, dlpack::kBFloat, 16},
    {DType::kInt8, dlpack::kInt, 8},           {DType::kInt16, dlpack::kInt, 16},
    {DType::kInt32, dlpack::kInt, 32},         {DType::kInt64, dlpack::kInt, 64},
    {DType::kUInt8, dlpack::kUInt, 8},         {DType::kUInt16, dlpack::kUInt, 16},
    {DType::kUInt32, dlpack::kUInt, 32},       {DType::kUInt64, dlpack::kUInt, 64},
    {DType::kComplex64, dlpack::kComplex, 64}, {DType::kComplex128, dlpack::kComplex, 128},
    {DType::kBool, dlpack::kBool, 8},
};

// What a record given away keeps alive, with the arrays it points to.
struct Holder {
  ManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

bool IsCompact(const dlpack::Array& array, const Shape& shape) {
  if (array.strides == nullptr) return true;
  int64_t expected = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape.dim(d) != 1 && array.strides[d] != expected) return false;
    expected *= shape.dim(d);
  }
  return true;
}

// REQUIRES: no dimension is zero.
void CopyStrided(const dlpack::Array& array, const char* from, Tensor* out) {
  const Shape& shape = out->shape();
  size_t element = SizeOf(out->dtype());
  char* to = static_cast<char*>(out->raw_data());
  std::vector<int64_t> index(shape.rank(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    std::memcpy(to + i * element, from + offset * static_cast<int64_t>(element), element);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += array.strides[d];
      if (++index[d] < shape.dim(d)) break;
      offset -= array.strides[d] * shape.dim(d);
      index[d] = 0;
    }
  }
}

}  // namespace

StatusOr<ManagedTensor*> ToDLPack(const Tensor& tensor, dlpack::Device device) {
  if (!tensor.in_host_memory() && device.device_type == dlpack::kCpu)
    return Unimplemented("DLPack of memory of a device is not supported");
  for (const TypeName& type : kDlpackTypes) {
    if (type.dtype != tensor.dtype()) continue;
    auto* holder = new Holder;
    holder->tensor = tensor;
    holder->shape.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
    holder->strides.assign(holder->shape.size(), 1);
    for (int d = tensor.rank() - 2; d >= 0; --d) {
      holder->strides[d] = holder->strides[d + 1] * std::max<int64_t>(1, holder->shape[d + 1]);
    }
    ManagedTensor& managed = holder->managed;
    managed.array = {const_cast<void*>(tensor.raw_data()),
                     device,
                     tensor.rank(),
                     {type.code, type.bits, 1},
                     holder->shape.data(),
                     holder->strides.data(),
                     0};
    managed.manager_ctx = holder;
    managed.deleter = [](ManagedTensor* self) { delete static_cast<Holder*>(self->manager_ctx); };
    return &managed;
  }
  return InvalidArgument("DLPack has no type for ", Name(tensor.dtype()));
}

StatusOr<Tensor> FromDLPack(ManagedTensor* managed, const DLPackHome& home) {
  if (managed == nullptr) return InvalidArgument("No DLPack tensor");
  const dlpack::Array& array = managed->array;
  const bool is_on_host = array.device.device_type == dlpack::kCpu || array.device.device_type == dlpack::kCudaHost;
  if (!is_on_host && home.memory == nullptr) {
    return Unimplemented("DLPack tensor of device type ", array.device.device_type, ": only host memory is supported");
  }
  DType dtype = DType::kInvalid;
  for (const TypeName& type : kDlpackTypes) {
    if (type.code == array.dtype.code && type.bits == array.dtype.bits && array.dtype.lanes == 1) dtype = type.dtype;
  }
  if (dtype == DType::kInvalid) {
    return InvalidArgument("DLPack tensor of type code ", static_cast<int>(array.dtype.code), ", ",
                           static_cast<int>(array.dtype.bits), " bits, ", array.dtype.lanes, " lanes");
  }
  if (array.ndim < 0 || (array.ndim > 0 && array.shape == nullptr))
    return InvalidArgument("DLPack tensor without shape");
  WEIR_ASSIGN_OR_RETURN(Shape shape,
                        Shape::Make(std::span<const int64_t>(array.shape, static_cast<size_t>(array.ndim))));
  char* data = static_cast<char*>(array.data) + array.byte_offset;
  if (array.data == nullptr && shape.num_elements() > 0) return InvalidArgument("DLPack tensor without data");
  auto release = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  if (!is_on_host) {
    if (!IsCompact(array, shape)) return Unimplemented("DLPack tensor of a device whose elements are not one by one");
    auto later = [when_idle = home.when_idle, release] { when_idle(release); };
    return Tensor::WrapOnDevice(dtype, shape, data, home.memory, later);
  }
  bool aligned = reinterpret_cast<uintptr_t>(data) % std::min<size_t>(SizeOf(dtype), 8) == 0;
  if (shape.num_elements() > 0 && IsCompact(array, shape) && aligned) {
    return Tensor::Wrap(dtype, shape, data, release);
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  if (shape.num_elements() > 0) {
    if (IsCompact(array, shape)) {
      std::memcpy(out.raw_data(), data, out.num_bytes());
    } else {
      CopyStrided(array, data, &out);
    }
  }
  release();
  return out;
}

}  // namespace weir

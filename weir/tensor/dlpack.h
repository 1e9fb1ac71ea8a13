// Tensors shared with other libraries of the process through DLPack. The records are those of its C interface (the
// unversioned DLManagedTensor); cast a pointer between the two.
#ifndef WEIR_TENSOR_DLPACK_H_
#define WEIR_TENSOR_DLPACK_H_

#include <cstdint>
#include <functional>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {
namespace dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kOpaque = 3, kBFloat = 4, kComplex = 5, kBool = 6 };

struct Device {
  int32_t device_type;
  int32_t device_id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Array {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: compact and row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  Array array;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

}  // namespace dlpack

// The same memory, alive until the receiver calls the deleter. `device` says whose it is; UNIMPLEMENTED if that is the
// host and the memory is not. INVALID_ARGUMENT for types that DLPack lacks.
StatusOr<dlpack::ManagedTensor*> ToDLPack(const Tensor& tensor, dlpack::Device device = {dlpack::kCpu, 0});

// A device of this process, for arrays in its memory.
struct DLPackHome {
  Allocator* memory = nullptr;
  // Calls back when the device has done all that it was given so far.
  std::function<void(std::function<void()>)> when_idle;
};
// Compact row-major arrays are shared, others copied. Takes `managed` over if it succeeds; else it stays the caller's.
// UNIMPLEMENTED for memory of other devices than the host and `home`, where arrays must be compact.
StatusOr<Tensor> FromDLPack(dlpack::ManagedTensor* managed, const DLPackHome& home = {});

}  // namespace weir

#endif  // WEIR_TENSOR_DLPACK_H_

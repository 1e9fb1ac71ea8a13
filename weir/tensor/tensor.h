// Tensor: a typed n-dimensional array, a value over a shared buffer.
//
// A Tensor is one pointer to a counted record of type, shape and data. Copies share it; slices and reshapes make a
// new record over the same memory. Who holds the only reference may write in place (`unique()`); kernels use that to
// reuse an input's memory for their output. Shared memory is never written, except that of variables under their
// lock.
#ifndef WEIR_TENSOR_TENSOR_H_
#define WEIR_TENSOR_TENSOR_H_

#include <algorithm>
#include <cassert>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/ref_counted.h"
#include "weir/base/status.h"
#include "weir/tensor/allocator.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"

namespace WEIR_PUBLIC weir {

// Private to Tensor: the counted record. It fills a cache line; the data of a tensor with memory of its own follow in
// the same block.
struct TensorRep : RefCounted<TensorRep> {
  enum class Kind : uint8_t {
    kInline,   // data behind the record
    kView,     // data of another record
    kWrapped,  // data of somebody outside
    kDevice,   // data of an allocator whose memory is not the host's
  };
  DType dtype = DType::kInvalid;
  Kind kind = Kind::kInline;
  bool writable = true;      // false for wrapped memory that its owner may still read
  bool from_system = false;  // the record is not a block of CpuAllocator()
  char* data = nullptr;
  Shape shape;

  TensorRep() = default;
  TensorRep(DType type, const Shape& shape, char* memory) : dtype(type), data(memory), shape(shape) {}

  // Whose memory this is.
  const TensorRep* root() const;
  // REQUIRES: kind is not kInline.
  bool MemoryIsUnique() const;
  static void Dispose(TensorRep* rep);
};
static_assert(sizeof(TensorRep) <= kTensorAlignment);

class Tensor {
 public:
  // No value at all: dtype() is kInvalid. Not to be confused with an empty tensor.
  Tensor() = default;

  // Memory for `shape`: zeros for types that are not plain (empty strings), uninitialised for plain ones.
  // RESOURCE_EXHAUSTED if there is not enough.
  static StatusOr<Tensor> Allocate(DType dtype, const Shape& shape, Allocator* allocator = CpuAllocator());
  // As above with every byte zero.
  static StatusOr<Tensor> Zeros(DType dtype, const Shape& shape);
  // Wraps memory that somebody else owns; `release` (may be empty) is called when the last reference goes. Only with
  // `writable` may a sole holder write into it. The memory may be unaligned. REQUIRES: a plain dtype.
  static Tensor Wrap(DType dtype, const Shape& shape, void* data, std::function<void()> release, bool writable = false);
  // The same for memory of a device, which counts as `device`'s.
  static Tensor WrapOnDevice(DType dtype, const Shape& shape, void* data, Allocator* device,
                             std::function<void()> release);

  // Small tensors from values; they die if memory is out. Scalar(1.0f), Vector<int32_t>({1, 2}).
  template <typename T>
  static Tensor Scalar(T value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return FromSpan<T>(std::span<const T>(values.begin(), values.size()), Shape({static_cast<int64_t>(values.size())}));
  }
  template <typename T>
  static Tensor Vector(std::span<const T> values) {
    return FromSpan<T>(values, Shape({static_cast<int64_t>(values.size())}));
  }
  // REQUIRES: values.size() == shape.num_elements().
  template <typename T>
  static Tensor FromSpan(std::span<const T> values, const Shape& shape);

  bool has_value() const { return static_cast<bool>(rep_); }
  DType dtype() const { return rep_ ? rep_->dtype : DType::kInvalid; }
  // Of a tensor without a value: the scalar shape.
  const Shape& shape() const { return rep_ ? rep_->shape : NoShape(); }
  int rank() const { return shape().rank(); }
  int64_t dim(int i) const { return rep_->shape.dim(i); }
  int64_t num_elements() const { return rep_ ? rep_->shape.num_elements() : 0; }
  // Bytes of the elements themselves, without what strings and variants point to.
  size_t num_bytes() const { return rep_ ? static_cast<size_t>(num_elements()) * SizeOf(rep_->dtype) : 0; }
  // Bytes with string contents.
  size_t total_bytes() const;

  const void* raw_data() const { return rep_ ? rep_->data : nullptr; }
  // REQUIRES: this holder may write (unique(), or a fresh output, or a variable under its lock).
  void* raw_data() { return rep_ ? rep_->data : nullptr; }
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(raw_data()) % kTensorAlignment == 0; }

  // The elements. REQUIRES: kDTypeOf<T> == dtype().
  template <typename T>
  const T* data() const {
    assert(kDTypeOf<T> == dtype());
    return rep_ ? reinterpret_cast<const T*>(rep_->data) : nullptr;
  }
  template <typename T>
  T* data() {
    assert(kDTypeOf<T> == dtype());
    return rep_ ? reinterpret_cast<T*>(rep_->data) : nullptr;
  }
  template <typename T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  template <typename T>
  std::span<T> span() {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  // The only element. REQUIRES: num_elements() >= 1.
  template <typename T>
  const T& scalar() const {
    return *data<T>();
  }

  // True if nobody else sees this record or its memory, and the memory may be written.
  bool unique() const {
    return rep_ && rep_->unique() && (rep_->kind == TensorRep::Kind::kInline || rep_->MemoryIsUnique());
  }
  bool SharesBufferWith(const Tensor& other) const;
  // False if the data lie in memory of a device that the host cannot read.
  bool in_host_memory() const { return device_allocator() == nullptr; }
  // Whose memory it is then; null for the host's.
  Allocator* device_allocator() const;

  // The same memory under another shape. INVALID_ARGUMENT if the number of elements differs.
  StatusOr<Tensor> Reshaped(const Shape& shape) const&;
  StatusOr<Tensor> Reshaped(const Shape& shape) &&;  // no new record if this holds the only reference
  // The same bytes as another plain type of a shape with as many bytes.
  StatusOr<Tensor> Bitcast(DType dtype, const Shape& shape) const;
  // Rows [begin, end) of dimension 0, without a copy; may be unaligned. REQUIRES: rank >= 1, 0 <= begin <= end <=
  // dim(0).
  Tensor Slice(int64_t begin, int64_t end) const;
  // Row `index` of dimension 0, with that dimension removed. REQUIRES: rank >= 1, 0 <= index < dim(0).
  Tensor SubTensor(int64_t index) const;
  // A copy in memory of its own.
  StatusOr<Tensor> Clone() const;

  // "float [2,3]: 1 2 3 ..." with at most `max_elements` values.
  std::string ToString(int max_elements = 8) const;
  // The values alone as TensorFlow's Print and Assert show them: "[1 2 3...]".
  std::string SummarizeValues(int64_t max_entries, bool print_v2 = false) const;

 private:
  explicit Tensor(RefPtr<TensorRep> rep) : rep_(std::move(rep)) {}
  static const Shape& NoShape();
  Tensor View(DType dtype, const Shape& shape, char* data) const;
  RefPtr<TensorRep> rep_;
};

template <typename T>
Tensor Tensor::FromSpan(std::span<const T> values, const Shape& shape) {
  Tensor out = Allocate(kDTypeOf<T>, shape).value();
  std::copy(values.begin(), values.end(), out.data<T>());
  return out;
}

template <typename T>
Tensor Tensor::Scalar(T value) {
  Tensor out = Allocate(kDTypeOf<T>, Shape()).value();
  *out.data<T>() = std::move(value);
  return out;
}

}  // namespace weir

#endif  // WEIR_TENSOR_TENSOR_H_

#include "weir/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

constexpr size_t kHeader = kTensorAlignment;
using ObjectTypes = TypeList<std::string, ResourceHandle, Variant>;

// The record of a tensor whose data are not behind it.
struct OutsideRep : TensorRep {
  using TensorRep::TensorRep;
  RefPtr<TensorRep> owner;         // kView
  std::function<void()> release;   // kWrapped
  Allocator* allocator = nullptr;  // kDevice; kWrapped if the memory is a device's
};

// Records are small; they are made even when the memory limit is reached.
OutsideRep* NewOutside(TensorRep::Kind kind, DType dtype, const Shape& shape, char* data) {
  void* block = CpuAllocate(sizeof(OutsideRep));
  bool from_system = block == nullptr;
  if (from_system) block = ::operator new(sizeof(OutsideRep), std::align_val_t(kTensorAlignment));
  auto* rep = new (block) OutsideRep(dtype, shape, data);
  rep->kind = kind;
  rep->from_system = from_system;
  return rep;
}

void Construct(DType dtype, void* data, int64_t count) {
  DispatchDType(dtype, ObjectTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::uninitialized_value_construct_n(static_cast<T*>(data), count);
  });
}

void Destroy(DType dtype, void* data, int64_t count) {
  DispatchDType(dtype, ObjectTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::destroy_n(static_cast<T*>(data), count);
  });
}

Status NoMemory(DType dtype, const Shape& shape, const Allocator& allocator) {
  return ResourceExhausted("OOM when allocating tensor with shape", shape.ToString(), " and type ", Name(dtype), " on ",
                           allocator.is_host_memory() ? "CPU:0" : "device", " by allocator ", allocator.name());
}

}  // namespace

const TensorRep* TensorRep::root() const {
  return kind == Kind::kView ? static_cast<const OutsideRep*>(this)->owner.get() : this;
}

bool TensorRep::MemoryIsUnique() const {
  const TensorRep* memory = root();
  return memory->writable && (memory == this || memory->unique());
}

void TensorRep::Dispose(TensorRep* rep) {
  size_t bytes = static_cast<size_t>(rep->shape.num_elements()) * SizeOf(rep->dtype);
  if (rep->kind == Kind::kInline) {
    if (!IsPlain(rep->dtype)) Destroy(rep->dtype, rep->data, rep->shape.num_elements());
    rep->~TensorRep();
    CpuDeallocate(rep, kHeader + bytes);
    return;
  }
  auto* outside = static_cast<OutsideRep*>(rep);
  if (rep->kind == Kind::kDevice) {
    // A host allocator that is not ours also serves objects.
    if (!IsPlain(rep->dtype)) Destroy(rep->dtype, rep->data, rep->shape.num_elements());
    outside->allocator->Deallocate(rep->data, bytes);
  }
  bool from_system = rep->from_system;
  std::function<void()> release = std::move(outside->release);
  outside->~OutsideRep();
  if (from_system) {
    ::operator delete(static_cast<void*>(outside), std::align_val_t(kTensorAlignment));
  } else {
    CpuDeallocate(outside, sizeof(OutsideRep));
  }
  if (release) release();
}

StatusOr<Tensor> Tensor::Allocate(DType dtype, const Shape& shape, Allocator* allocator) {
  size_t element = IsRef(dtype) ? 0 : SizeOf(dtype);
  if (element == 0) [[unlikely]]
    return InvalidArgument("Cannot allocate a tensor of type ", Name(dtype));
  size_t bytes;
  if (__builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), element, &bytes) ||
      bytes > static_cast<size_t>(INT64_MAX) - kHeader) [[unlikely]] {
    return NoMemory(dtype, shape, *allocator);
  }
  if (allocator == CpuAllocator()) [[likely]] {
    void* block = CpuAllocate(kHeader + bytes);
    if (block == nullptr) [[unlikely]]
      return NoMemory(dtype, shape, *allocator);
    auto* rep = new (block) TensorRep(dtype, shape, static_cast<char*>(block) + kHeader);
    if (!IsPlain(dtype)) Construct(dtype, rep->data, shape.num_elements());
    return Tensor(RefPtr<TensorRep>::Adopt(rep));
  }
  if (!IsPlain(dtype) && !allocator->is_host_memory()) {
    return InvalidArgument("Tensors of type ", Name(dtype), " live in host memory only");
  }
  void* data = allocator->Allocate(bytes);
  if (data == nullptr) return NoMemory(dtype, shape, *allocator);
  OutsideRep* rep = NewOutside(TensorRep::Kind::kDevice, dtype, shape, static_cast<char*>(data));
  rep->allocator = allocator;
  if (!IsPlain(dtype)) Construct(dtype, data, shape.num_elements());
  return Tensor(RefPtr<TensorRep>::Adopt(rep));
}

StatusOr<Tensor> Tensor::Zeros(DType dtype, const Shape& shape) {
  StatusOr<Tensor> out = Allocate(dtype, shape);
  if (out.ok() && IsPlain(dtype)) std::memset(out->raw_data(), 0, out->num_bytes());
  return out;
}

Tensor Tensor::Wrap(DType dtype, const Shape& shape, void* data, std::function<void()> release, bool writable) {
  assert(IsPlain(dtype));
  OutsideRep* rep = NewOutside(TensorRep::Kind::kWrapped, dtype, shape, static_cast<char*>(data));
  rep->writable = writable;
  rep->release = std::move(release);
  return Tensor(RefPtr<TensorRep>::Adopt(rep));
}

Tensor Tensor::WrapOnDevice(DType dtype, const Shape& shape, void* data, Allocator* device,
                            std::function<void()> release) {
  Tensor out = Wrap(dtype, shape, data, std::move(release));
  static_cast<OutsideRep*>(out.rep_.get())->allocator = device;
  return out;
}

Tensor Tensor::View(DType dtype, const Shape& shape, char* data) const {
  OutsideRep* rep = NewOutside(TensorRep::Kind::kView, dtype, shape, data);
  rep->owner = rep_->kind == TensorRep::Kind::kView ? static_cast<OutsideRep*>(rep_.get())->owner : rep_;
  return Tensor(RefPtr<TensorRep>::Adopt(rep));
}

const Shape& Tensor::NoShape() {
  static const Shape* shape = new Shape;
  return *shape;
}

size_t Tensor::total_bytes() const {
  size_t bytes = num_bytes();
  if (dtype() == DType::kString) {
    for (const std::string& s : span<std::string>()) bytes += s.size();
  }
  return bytes;
}

bool Tensor::SharesBufferWith(const Tensor& other) const {
  return rep_ && other.rep_ && rep_->root() == other.rep_->root();
}

Allocator* Tensor::device_allocator() const {
  if (!rep_ || rep_->kind == TensorRep::Kind::kInline) return nullptr;
  const TensorRep* memory = rep_->root();
  if (memory->kind == TensorRep::Kind::kInline) return nullptr;
  Allocator* allocator = static_cast<const OutsideRep*>(memory)->allocator;
  return allocator == nullptr || allocator->is_host_memory() ? nullptr : allocator;
}

StatusOr<Tensor> Tensor::Reshaped(const Shape& shape) const& {
  if (!rep_) return FailedPrecondition("Cannot reshape a tensor without a value");
  if (shape.num_elements() != num_elements()) {
    return InvalidArgument("Input to reshape is a tensor with ", num_elements(),
                           " values, but the requested shape has ", shape.num_elements());
  }
  if (shape == rep_->shape) return *this;
  return View(rep_->dtype, shape, rep_->data);
}

StatusOr<Tensor> Tensor::Reshaped(const Shape& shape) && {
  if (rep_ && rep_->unique() && shape.num_elements() == num_elements()) {
    rep_->shape = shape;
    return std::move(*this);
  }
  return static_cast<const Tensor&>(*this).Reshaped(shape);
}

StatusOr<Tensor> Tensor::Bitcast(DType dtype, const Shape& shape) const {
  if (!rep_) return FailedPrecondition("Cannot bitcast a tensor without a value");
  std::optional<int64_t> bytes = CheckedMultiply(shape.num_elements(), static_cast<int64_t>(SizeOf(dtype)));
  if (!IsPlain(dtype) || !IsPlain(rep_->dtype) || IsRef(dtype) || !bytes ||
      static_cast<size_t>(*bytes) != num_bytes()) {
    return InvalidArgument("Cannot bitcast from ", Name(rep_->dtype), " ", rep_->shape.ToString(), " to ", Name(dtype),
                           " ", shape.ToString());
  }
  return View(dtype, shape, rep_->data);
}

Tensor Tensor::Slice(int64_t begin, int64_t end) const {
  assert(rank() >= 1 && 0 <= begin && begin <= end && end <= dim(0));
  int64_t rows = dim(0);
  if (begin == 0 && end == rows) return *this;
  size_t row_bytes = rows > 0 ? num_bytes() / static_cast<size_t>(rows) : 0;
  Shape shape = rep_->shape;
  // Cannot fail: no dimension grows.
  shape.SetDim(0, end - begin).IgnoreError();
  return View(rep_->dtype, shape, rep_->data + row_bytes * static_cast<size_t>(begin));
}

Tensor Tensor::SubTensor(int64_t index) const {
  assert(rank() >= 1 && 0 <= index && index < dim(0));
  size_t row_bytes = num_bytes() / static_cast<size_t>(dim(0));
  return View(rep_->dtype, rep_->shape.Slice(1, rank()), rep_->data + row_bytes * static_cast<size_t>(index));
}

StatusOr<Tensor> Tensor::Clone() const {
  if (!rep_) return Tensor();
  if (!in_host_memory()) {
    return Unimplemented("Cannot clone a tensor in the memory of a device");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Allocate(rep_->dtype, rep_->shape));
  if (IsPlain(rep_->dtype)) {
    if (num_bytes() > 0) std::memcpy(out.raw_data(), rep_->data, num_bytes());
  } else {
    DispatchDType(rep_->dtype, ObjectTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::copy_n(data<T>(), num_elements(), out.data<T>());
    });
  }
  return out;
}

}  // namespace weir

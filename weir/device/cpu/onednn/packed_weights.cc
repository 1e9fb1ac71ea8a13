#include <algorithm>

#include "weir/device/cpu/onednn/packed_weights_internal.h"
#include "weir/tensor/trim.h"

namespace weir {
namespace onednn {
namespace {

// Frees a tensor for good.
struct Dropped {
  Tensor tensor;
  ~Dropped() {
    const size_t bytes = tensor.num_bytes();
    tensor = Tensor();
    if (bytes > 0) CpuTrim(bytes);
  }
};

}  // namespace

bool PackedConstant::Is(const Tensor& tensor) const {
  absl::MutexLock lock(&mu_);
  const void* data = tensor.raw_data();
  return data != nullptr && (data == plain_.raw_data() || data == lent_);
}

void* PackedConstant::Find(const ConstantPart& part, const MemoryDesc& given, const MemoryDesc& wanted) {
  const Library& library = *GetLibrary();
  const OneThread one_thread;
  Dropped dropped;  // after the lock
  absl::MutexLock lock(&mu_);
  for (const Form& form : forms_) {
    if (form.first == part.first && library.memory_desc_equal(form.layout.get(), wanted.get())) return form.data.data();
  }
  Form form{MemoryDesc::Copy(wanted.get()), MemoryDesc::Copy(given.get()), part.first, part.index, part.count,
            Scratch(wanted.bytes())};
  Scratch unpacked(plain_.has_value() ? 0 : plain_bytes());
  if (!form.data.ok() || !unpacked.ok() || (!plain_.has_value() && !Unpack(unpacked.data()))) return nullptr;
  float* from = plain_.has_value() ? plain_.data<float>() : reinterpret_cast<float*>(unpacked.data());
  const Primitive reorder = MakeReorder(given, wanted);
  Views views(library);
  if (!reorder || !Reorder(library, ThisThreadStream(library), reorder, views.Add(given, from + part.first),
                           views.Add(wanted, form.data.data()))) {
    return nullptr;
  }
  forms_.push_back(std::move(form));
  if (may_drop_ && plain_.has_value() && IsWhole(part.count)) dropped.tensor = std::exchange(plain_, Tensor());
  return forms_.back().data.data();
}

bool PackedConstant::IsWhole(int count) {
  whole_.assign(static_cast<size_t>(count), nullptr);
  for (const Form& form : forms_) {
    if (form.count == count && MakeReorder(form.layout, form.given)) whole_[form.index] = &form;
  }
  return std::ranges::find(whole_, nullptr) == whole_.end();
}

bool PackedConstant::Unpack(void* to) {
  const Library& library = *GetLibrary();
  const OneThread one_thread;
  for (const Form* form : whole_) {
    const Primitive reorder = MakeReorder(form->layout, form->given);
    Views views(library);
    if (!reorder || !Reorder(library, ThisThreadStream(library), reorder, views.Add(form->layout, form->data.data()),
                             views.Add(form->given, static_cast<float*>(to) + form->first))) {
      return false;
    }
  }
  return true;
}

const void* PackedConstant::Keep() {
  absl::MutexLock lock(&mu_);
  may_drop_ = false;
  if (!plain_.has_value()) {
    StatusOr<Tensor> plain = Tensor::Allocate(DType::kFloat, shape_);
    if (!plain.ok() || !Unpack(plain->raw_data())) return nullptr;
    plain_ = *std::move(plain);
  }
  return plain_.raw_data();
}

StatusOr<Tensor> PackedConstant::Restore() {
  absl::MutexLock lock(&mu_);
  if (plain_.has_value()) return plain_;
  const size_t bytes = plain_bytes();
  void* data = CpuAllocate(bytes);
  if (data == nullptr || !Unpack(data)) {
    CpuDeallocate(data, bytes);
    return ResourceExhausted("No memory for a constant of shape ", shape_.ToString());
  }
  lent_ = data;
  return Tensor::Wrap(DType::kFloat, shape_, data, [self = shared_from_this(), data, bytes] {
    {
      absl::MutexLock lock(&self->mu_);
      if (self->lent_ == data) self->lent_ = nullptr;
    }
    CpuDeallocate(data, bytes);
    CpuTrim(bytes);
  });
}

}  // namespace onednn

using onednn::PackedConstant;

PackedConstant* PackedWeights::Look(const Tensor& tensor) {
  for (const Entry& entry : entries_) {
    if (IsAbsent(tensor) ? entry.absent.SharesBufferWith(tensor) : entry.constant->Is(tensor)) {
      return entry.constant.get();
    }
  }
  return nullptr;
}

void* PackedWeights::Find(const onednn::ConstantPart& part, const onednn::MemoryDesc& given,
                          const onednn::MemoryDesc& wanted) {
  const Tensor& constant = *part.weights->tensor;
  PackedConstant* found = nullptr;
  {
    absl::MutexLock lock(&mu_);
    found = Look(constant);
    if (found == nullptr && IsAbsent(constant)) return nullptr;
    // Kept, so that no other tensor can come to lie at its place.
    if (found == nullptr) {
      entries_.push_back({std::make_shared<PackedConstant>(constant, /*may_drop=*/false), Tensor()});
      found = entries_.back().constant.get();
    }
  }
  return found->Find(part, given, wanted);
}

TakenConstant PackedWeights::Take(const Tensor& constant) {
  absl::MutexLock lock(&mu_);
  auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.absent.has_value() && entry.constant->Is(constant); });
  if (found == entries_.end()) {
    entries_.push_back({std::make_shared<PackedConstant>(constant, /*may_drop=*/true), AbsentTensor(constant)});
    found = entries_.end() - 1;
  }
  return {found->absent, [taken = found->constant] { return taken->Restore(); }};
}

const void* PackedWeights::Keep(const Tensor& absent) {
  absl::MutexLock lock(&mu_);
  PackedConstant* found = Look(absent);
  return found == nullptr ? nullptr : found->Keep();
}

std::shared_ptr<PackedWeights> MakePackedWeights() { return std::make_shared<PackedWeights>(); }

std::optional<TakenConstant> TakeWeights(const std::shared_ptr<PackedWeights>& packed, const Tensor& constant) {
  constexpr size_t kLarge = 64 << 10;
  if (packed == nullptr || constant.dtype() != DType::kFloat || constant.num_bytes() < kLarge) return std::nullopt;
  if (onednn::GetLibrary() == nullptr) return std::nullopt;
  return packed->Take(constant);
}

const float* PlainElements(const Weights& weights) {
  if (!IsAbsent(*weights.tensor)) return weights.tensor->data<float>();
  return static_cast<const float*>(weights.packed->Keep(*weights.tensor));
}

}  // namespace weir

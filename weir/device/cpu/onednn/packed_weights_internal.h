// Constants as oneDNN wants them.
#ifndef WEIR_DEVICE_CPU_ONEDNN_PACKED_WEIGHTS_INTERNAL_H_
#define WEIR_DEVICE_CPU_ONEDNN_PACKED_WEIGHTS_INTERNAL_H_

#include <deque>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/operation_internal.h"
#include "weir/framework/constant_taker.h"

namespace weir {
namespace onednn {

// One constant: as it was given, as the library wants it, or both. Thread-safe.
class PackedConstant : public std::enable_shared_from_this<PackedConstant> {
 public:
  // With `may_drop` the plain form goes as soon as there is another one from which it can be made again.
  PackedConstant(Tensor plain, bool may_drop) : shape_(plain.shape()), plain_(std::move(plain)), may_drop_(may_drop) {}
  PackedConstant(const PackedConstant&) = delete;
  PackedConstant& operator=(const PackedConstant&) = delete;

  // True if the tensor is the plain form, or what Restore has made of it.
  bool Is(const Tensor& tensor) const;
  // The part in the layout `wanted`; null if memory is short. `given`: the part's layout within the plain form.
  void* Find(const ConstantPart& part, const MemoryDesc& given, const MemoryDesc& wanted);
  // In the plain form, which is kept from now on; null if memory is short.
  const void* Keep();
  // The plain form for somebody else.
  StatusOr<Tensor> Restore();

 private:
  // A part of the constant in a layout of the library's.
  struct Form {
    MemoryDesc layout, given;
    int64_t first;
    int index, count;
    Scratch data;
  };
  size_t plain_bytes() const { return static_cast<size_t>(shape_.num_elements()) * sizeof(float); }
  // Whether there are forms, which can be brought back, of all parts that the constant was cut into; remembers them.
  bool IsWhole(int count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // REQUIRES: the plain form was dropped.
  bool Unpack(void* to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Shape shape_;
  mutable absl::Mutex mu_;
  Tensor plain_ ABSL_GUARDED_BY(mu_);  // without a value once dropped
  bool may_drop_ ABSL_GUARDED_BY(mu_);
  std::deque<Form> forms_ ABSL_GUARDED_BY(mu_);
  std::vector<const Form*> whole_ ABSL_GUARDED_BY(mu_);  // those that the plain form is made of again
  const void* lent_ ABSL_GUARDED_BY(mu_) = nullptr;      // the memory that Restore gave out last, while it lives
};

}  // namespace onednn

class PackedWeights {
 public:
  // A part of the constant, or of the one that an absent tensor stands for, in the layout `wanted`.
  void* Find(const onednn::ConstantPart& part, const onednn::MemoryDesc& given, const onednn::MemoryDesc& wanted);
  TakenConstant Take(const Tensor& constant);
  const void* Keep(const Tensor& absent);

 private:
  struct Entry {
    std::shared_ptr<onednn::PackedConstant> constant;
    Tensor absent;  // without a value if the constant was not taken
  };
  // Null if there is none.
  onednn::PackedConstant* Look(const Tensor& tensor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_ONEDNN_PACKED_WEIGHTS_INTERNAL_H_

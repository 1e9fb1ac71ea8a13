// FusionBuffer: packs several tensors into one buffer, so that they are sent together.
#ifndef WEIR_COLLECTIVE_FUSION_BUFFER_H_
#define WEIR_COLLECTIVE_FUSION_BUFFER_H_

#include <vector>

#include "weir/collective/collective.h"

namespace weir::collective {

class FusionBuffer {
 public:
  explicit FusionBuffer(Compression compression) : compression_(compression) {}

  void Add(const Tensor& value) { values_.push_back(value); }
  // Copies the tensors into one part per type in which values are sent.
  Status Pack();
  std::vector<Tensor>& parts() { return parts_; }
  // The part that holds a tensor, and its first element there.
  size_t part_of(size_t value) const { return slots_[value].part; }
  int64_t begin_of(size_t value) const { return slots_[value].begin; }
  // The tensors as they were added, with the values of the parts. They share the memory of the parts unless values have
  // to be converted back.
  StatusOr<std::vector<Tensor>> Unpack() const;

 private:
  struct Slot {
    size_t part;
    int64_t begin;
  };
  DType TravelType(DType dtype) const;

  const Compression compression_;
  std::vector<Tensor> values_;
  std::vector<Tensor> parts_;
  std::vector<Slot> slots_;  // by value
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_FUSION_BUFFER_H_

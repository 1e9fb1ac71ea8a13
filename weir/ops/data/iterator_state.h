// The position of an iterator, to be written into a checkpoint: tensors by name, nested as the iterators are.
#ifndef WEIR_OPS_DATA_ITERATOR_STATE_H_
#define WEIR_OPS_DATA_ITERATOR_STATE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/tensor/variant.h"

namespace weir {

// The components of one element of a dataset.
using Element = std::vector<Tensor>;

class IteratorState : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::Iterator";
  std::map<std::string, Tensor, std::less<>> tensors;

  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override;
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data);
};

// Writes below a prefix. REQUIRES: the state outlives it.
class StateWriter {
 public:
  explicit StateWriter(IteratorState* state, std::string prefix = "") : state_(state), prefix_(std::move(prefix)) {}
  StateWriter Child(std::string_view name) const { return StateWriter(state_, Cat(prefix_, name, "/")); }
  StateWriter Child(int64_t index) const { return Child(Cat(index)); }
  void Put(std::string_view name, Tensor value) { state_->tensors[Cat(prefix_, name)] = std::move(value); }
  void PutInt(std::string_view name, int64_t value) { Put(name, Tensor::Scalar(value)); }
  void PutElement(std::string_view name, const Element& element);
  void PutElements(std::string_view name, const std::vector<Element>& elements);
  void PutStatus(std::string_view name, const Status& status);

 private:
  IteratorState* state_;
  std::string prefix_;
};

// Reads what a StateWriter wrote; everything may be missing or of another type, since it comes from a file.
class StateReader {
 public:
  explicit StateReader(const IteratorState* state, std::string prefix = "")
      : state_(state), prefix_(std::move(prefix)) {}
  StateReader Child(std::string_view name) const { return StateReader(state_, Cat(prefix_, name, "/")); }
  StateReader Child(int64_t index) const { return Child(Cat(index)); }
  bool Has(std::string_view name) const;
  StatusOr<Tensor> Get(std::string_view name) const;
  StatusOr<int64_t> GetInt(std::string_view name) const;
  // An int64 in [0, limit].
  StatusOr<int64_t> GetCount(std::string_view name, int64_t limit) const;
  StatusOr<Element> GetElement(std::string_view name) const;
  StatusOr<std::vector<Element>> GetElements(std::string_view name) const;
  StatusOr<Status> GetStatus(std::string_view name) const;

 private:
  const IteratorState* state_;
  std::string prefix_;
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_ITERATOR_STATE_H_

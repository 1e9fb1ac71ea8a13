// Iteration over datasets.
#ifndef WEIR_CLIENT_DATA_ELEMENTS_H_
#define WEIR_CLIENT_DATA_ELEMENTS_H_

#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/data/dataset.h"
#include "weir/client/nn/batches.h"

namespace WEIR_PUBLIC weir {
namespace data {

// One iteration. Not thread-safe.
class Elements {
 public:
  explicit Elements(const Dataset& dataset);

  // The next element; false at the end.
  StatusOr<bool> Next(Tensors* element);

  // The position of the iteration, as a string scalar. After Restore, an iteration over an equal dataset continues with
  // the same element; without a value, it starts at the beginning.
  StatusOr<Tensor> Save();
  Status Restore(const Tensor& position);

  // For range-based `for`: ends at the end of the data or at the first error, which status() then returns.
  class Iterator {
   public:
    explicit Iterator(Elements* elements) : elements_(elements) { ++*this; }
    Iterator() = default;
    const Tensors& operator*() const { return elements_->current_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return elements_ != other.elements_; }

   private:
    Elements* elements_ = nullptr;  // null: at the end
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(); }
  const Status& status() const { return status_; }

 private:
  Dataset dataset_;
  ElementSpec spec_;
  EagerTensor iterator_;
  Tensors current_;
  Status status_;
};

// Batches for nn::Model: the last tensor of an element has the labels, the others are inputs; without labels all are
// inputs. Every epoch iterates over the whole dataset. The position can be saved, also in the middle of an epoch.
class DatasetBatches : public nn::Batches {
 public:
  explicit DatasetBatches(const Dataset& dataset, bool has_labels = true)
      : dataset_(dataset), has_labels_(has_labels) {}
  Status Start(int64_t epoch) override;
  StatusOr<bool> Next(nn::Batch* batch) override;
  int64_t count() const override;
  StatusOr<Tensor> SavePosition() override;
  Status RestorePosition(const Tensor& position) override;

 private:
  Dataset dataset_;
  bool has_labels_;
  std::unique_ptr<Elements> elements_;
  bool is_restored_ = false;  // the next Start continues with `elements_`
};

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_ELEMENTS_H_

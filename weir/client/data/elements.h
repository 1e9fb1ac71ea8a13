// Walks over datasets.
#ifndef WEIR_CLIENT_DATA_ELEMENTS_H_
#define WEIR_CLIENT_DATA_ELEMENTS_H_

#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/data/dataset.h"
#include "weir/client/nn/batches.h"

namespace WEIR_PUBLIC weir {
namespace data {

// One walk. Not thread-safe.
class Elements {
 public:
  explicit Elements(const Dataset& dataset);

  // The next element; false at the end.
  StatusOr<bool> Next(Tensors* element);

  // Where the walk is, as a string scalar, and back: a walk over an equal dataset goes on at the same element. Without
  // a value: at the first.
  StatusOr<Tensor> Save();
  Status Restore(const Tensor& position);

  // For `for`: it ends at the end or at the first error, which status() has then.
  class Iterator {
   public:
    explicit Iterator(Elements* elements) : elements_(elements) { ++*this; }
    Iterator() = default;
    const Tensors& operator*() const { return elements_->current_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return elements_ != other.elements_; }

   private:
    Elements* elements_ = nullptr;  // null: the end
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

// Batches for nn::Model: an element's last tensor are the labels, the others the inputs; without labels all are inputs.
// Every epoch walks over the whole dataset. Where the walk is can be saved, in the middle of an epoch too.
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
  bool is_restored_ = false;  // the next Start goes on with `elements_`
};

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_ELEMENTS_H_

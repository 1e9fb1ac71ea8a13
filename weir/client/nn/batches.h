// Where a model's examples come from, a batch at a time.
#ifndef WEIR_CLIENT_NN_BATCHES_H_
#define WEIR_CLIENT_NN_BATCHES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {
namespace nn {

struct Batch {
  std::vector<Tensor> inputs;
  Tensor labels;  // without a value where only predictions are wanted
};

class Batches {
 public:
  virtual ~Batches() = default;
  // Begins an epoch.
  virtual Status Start(int64_t epoch) = 0;
  // The next batch; false at the end of the epoch.
  virtual StatusOr<bool> Next(Batch* batch) = 0;
  // Of an epoch; -1 if it is not known before.
  virtual int64_t count() const { return -1; }
  // Where in the epoch it is, to be saved with the model; without a value for one that always begins with an epoch.
  virtual StatusOr<Tensor> SavePosition() { return Tensor(); }
  // The next Start goes on there.
  virtual Status RestorePosition(const Tensor& position) {
    return Unimplemented("these batches cannot go on in the middle of an epoch");
  }
};

struct TensorBatchesOptions {
  int64_t batch_size = 32;
  bool shuffle = false;
  int64_t seed = 1;
  bool drop_remainder = false;
};
// Examples are rows of tensors in memory, as many in each. Shuffling is different every epoch and the same in every
// run.
StatusOr<std::unique_ptr<Batches>> TensorBatches(std::vector<Tensor> inputs, Tensor labels,
                                                 const TensorBatchesOptions& options = {});

// From a function that is asked for one batch after the other; false ends the epoch.
std::unique_ptr<Batches> GeneratedBatches(std::function<StatusOr<bool>(int64_t epoch, int64_t index, Batch*)> next,
                                          int64_t count = -1);

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_BATCHES_H_

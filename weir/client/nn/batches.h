// Batches: the sources of a model's examples, one batch at a time.
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
  Tensor labels;  // without a value for predictions only
};

class Batches {
 public:
  virtual ~Batches() = default;
  // Starts an epoch.
  virtual Status Start(int64_t epoch) = 0;
  // The next batch; false at the end of the epoch.
  virtual StatusOr<bool> Next(Batch* batch) = 0;
  // The number of batches per epoch; -1 if it is not known in advance.
  virtual int64_t count() const { return -1; }
  // The position in the epoch, to be saved with the model; no value for a source that can only start with an epoch.
  virtual StatusOr<Tensor> SavePosition() { return Tensor(); }
  // The next Start continues at this position.
  virtual Status RestorePosition(const Tensor& position) {
    return Unimplemented("these batches cannot resume in the middle of an epoch");
  }
};

struct TensorBatchesOptions {
  int64_t batch_size = 32;
  bool shuffle = false;
  int64_t seed = 1;
  bool drop_remainder = false;
};
// Examples are rows of tensors in memory, which must have the same number of rows. Shuffling differs between epochs,
// but is the same in every run.
StatusOr<std::unique_ptr<Batches>> TensorBatches(std::vector<Tensor> inputs, Tensor labels,
                                                 const TensorBatchesOptions& options = {});

// Gets batches from a function, one at a time; false ends the epoch.
std::unique_ptr<Batches> GeneratedBatches(std::function<StatusOr<bool>(int64_t epoch, int64_t index, Batch*)> next,
                                          int64_t count = -1);

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_BATCHES_H_

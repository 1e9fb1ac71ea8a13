// The state of Keras 3's optimizers in a checkpoint of objects, under the names that TensorFlow 1's optimizers, and so
// weir's, give it: "dense/kernel/Adam_1".
//
// An optimizer of Keras keeps a list a slot ("optimizer/_momentums/3"), in the order of the variables that it trains.
// What Keras computes in another way than TensorFlow 1 is converted, or refused where that cannot be done:
//
//   Adam, AdamW, Nadam, Lamb   _momentums, _velocities
//   AdaMax                     _m, _u
//   RMSProp                    _velocities, _average_gradients (if centered), _momentums (zeros where Keras has none)
//   Momentum                   momentums, which hold the learning rate too: divided by -_learning_rate
//   Adagrad                    _accumulators
//   Ftrl                       _accumulators, _linears
//   Adadelta                   _accumulated_grads, _accumulated_delta_vars
#ifndef WEIR_IO_KERAS_OPTIMIZER_H_
#define WEIR_IO_KERAS_OPTIMIZER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/io/checkpoint_reader.h"

namespace weir {

class KerasOptimizerState {
 public:
  // `keys` are the reader's ObjectGraphKeys: a slot is known by every name of its variable. Empty for a checkpoint
  // without an optimizer of Keras 3. `reader` must outlive the result.
  static StatusOr<KerasOptimizerState> Read(const CheckpointReader& reader,
                                            const std::map<std::string, std::string>& keys);

  // NOT_FOUND if the checkpoint lacks the slot, or has it in a form that TensorFlow 1's rule cannot go on with.
  StatusOr<Tensor> Slot(const std::string& name) const;
  // A slot that a graph must have beside this one, or this one means something else there; empty: none.
  std::string Companion(const std::string& name) const;
  // How many steps were made. Nothing without an optimizer, FAILED_PRECONDITION if there are several that disagree.
  StatusOr<std::optional<int64_t>> Steps() const;
  // For messages: "'adam' (slots of Adam, AdamW, Nadam, Lamb)"; empty without an optimizer.
  const std::string& description() const { return description_; }

 private:
  struct StoredSlot {
    std::string variable_key;  // of the variable that it belongs to
    size_t index = 0;          // among the rule's slots: "Adam" is 0, "Adam_1" is 1
    std::string key;
    double factor = 1;      // the slot is this times the tensor
    Status refused;         // why there is no such slot after all
    std::string companion;  // see Companion
  };
  class Optimizer;
  explicit KerasOptimizerState(const CheckpointReader& reader) : reader_(&reader) {}
  void Add(const std::string& variable, const std::string& rule, StoredSlot slot);

  const CheckpointReader* reader_;
  std::map<std::string, StoredSlot> slots_;
  std::vector<int64_t> steps_;  // of each optimizer
  std::string description_;
};

}  // namespace weir

#endif  // WEIR_IO_KERAS_OPTIMIZER_H_

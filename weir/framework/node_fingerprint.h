// Numbers that stand for what a node computes, whatever it is called. They are those that TensorFlow gives the graph of
// a dataset, so that a snapshot which one system wrote is found by the other.
#ifndef WEIR_FRAMEWORK_NODE_FINGERPRINT_H_
#define WEIR_FRAMEWORK_NODE_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "weir/framework/op_schema.h"

namespace weir {

// The order matters.
uint64_t CombineFingerprints(uint64_t a, uint64_t b);

// TensorFlow writes equal tensors in two ways, and takes the fingerprint of what it wrote.
enum class TensorForm {
  kInFunction,  // in the attribute of a node of a function
  kOfDataset,   // given to a dataset
};

using FunctionFingerprints = std::function<StatusOr<uint64_t>(const FunctionAttr&)>;
// Of the op, its attributes and device, without its inputs. `functions` says what a function is that an attribute
// names; null: they do not count. `op` is Hash64 of the op's name, or the fingerprint of the function that is called as
// an op.
StatusOr<uint64_t> NodeFingerprint(uint64_t op, const OpSchema& schema, const AttrMap& attrs, std::string_view device,
                                   TensorForm form, const FunctionFingerprints& functions);

// Of a node by that of itself, of its control inputs, and of its inputs.
uint64_t WithInputs(uint64_t node, uint64_t control_inputs, uint64_t inputs);
// `inputs` with one more: output `index` of a node.
uint64_t AddInput(uint64_t inputs, uint64_t node, int index);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_NODE_FINGERPRINT_H_

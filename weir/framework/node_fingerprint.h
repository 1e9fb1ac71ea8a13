// Fingerprints of what a node computes, whatever its name. They are equal to those that TensorFlow computes for the
// graph of a dataset, so that each system finds snapshots that the other one wrote.
#ifndef WEIR_FRAMEWORK_NODE_FINGERPRINT_H_
#define WEIR_FRAMEWORK_NODE_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "weir/framework/op_schema.h"

namespace weir {

// The order of the arguments matters.
uint64_t CombineFingerprints(uint64_t a, uint64_t b);

// TensorFlow serializes equal tensors in two ways, and computes the fingerprint from the serialized form.
enum class TensorForm {
  kInFunction,  // in an attribute of a node of a function
  kOfDataset,   // an argument of a dataset
};

using FunctionFingerprints = std::function<StatusOr<uint64_t>(const FunctionAttr&)>;
// The fingerprint of an op, its attributes and device, without its inputs. `functions` computes the fingerprints of
// functions that attributes name; if null, these are ignored. `op` is Hash64 of the op's name, or the fingerprint of
// the function if a function is called like an op.
StatusOr<uint64_t> NodeFingerprint(uint64_t op, const OpSchema& schema, const AttrMap& attrs, std::string_view device,
                                   TensorForm form, const FunctionFingerprints& functions);

// The fingerprint of a node, given its own, that of its control inputs, and that of its inputs.
uint64_t WithInputs(uint64_t node, uint64_t control_inputs, uint64_t inputs);
// `inputs` with one input added: output `index` of a node.
uint64_t AddInput(uint64_t inputs, uint64_t node, int index);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_NODE_FINGERPRINT_H_

// Device code for programs of elementwise operations: one kernel for a whole group, which reads each operand once and
// writes only what others want. A single operation is a program of one step.
#ifndef WEIR_DEVICE_CUDA_ELEMENTWISE_SOURCE_H_
#define WEIR_DEVICE_CUDA_ELEMENTWISE_SOURCE_H_

#include <span>
#include <string>
#include <vector>

#include "weir/tensor/dtype.h"

namespace weir::cuda {

// Values are numbered: the inputs, then the results of the steps.
struct ElementwiseStep {
  std::string operation;  // a struct of device_code/elementwise.cuh, or another expression with a static Do
  std::vector<int> operands;
  DType compute = DType::kInvalid;  // the operands' type; half and bfloat16 are widened
  DType result = DType::kInvalid;
};

struct ElementwiseProgram {
  std::vector<DType> inputs;
  std::vector<ElementwiseStep> steps;
  std::vector<int> outputs;  // values
  std::string include = "weir/device/cuda/device_code/elementwise.cuh";
};

// How an operand's elements line up with those of the result.
enum class Alignment : char {
  kFull = 'F',       // one each
  kSingle = 'S',     // one for all
  kBroadcast = 'B',  // by strides over the dimensions of the result
  kRow = 'R',        // the same, and what a thread takes at once are neighbours; else it is one element for them
};

struct ElementwiseLayout {
  std::vector<Alignment> inputs;
  int rank = 0;    // of the dimensions that strides are given for; 0 if no operand broadcasts
  int vector = 1;  // elements that a thread takes at once: none of them in another row of the last dimension
  bool long_index = false;
};

// A step as an expression of operands of the given types.
std::string ElementwiseCall(const ElementwiseStep& step, std::span<const std::string> operands,
                            std::span<const DType> types);

// The text of a source with a kernel `Elementwise` whose only parameter is the struct that PackArguments fills.
std::string ElementwiseSource(const ElementwiseProgram& program, const ElementwiseLayout& layout);

// The parameter: addresses of inputs and outputs, the number of loop turns (elements / vector), the dimensions of the
// result, the last one in turns, and each broadcasting input's strides, all 8 bytes each. `strides` has `rank` numbers
// for every input whose alignment is kBroadcast or kRow, from one turn to the next along the last dimension.
std::vector<uint64_t> PackArguments(const std::vector<uint64_t>& inputs, const std::vector<uint64_t>& outputs,
                                    int64_t turns, const std::vector<int64_t>& dims,
                                    const std::vector<std::vector<int64_t>>& strides);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ELEMENTWISE_SOURCE_H_

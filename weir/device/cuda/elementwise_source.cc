#include "weir/device/cuda/elementwise_source.h"

#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {
namespace {

std::string Value(int index) { return Cat("v", index); }

DType TypeOf(const ElementwiseProgram& program, int value) {
  const int num_inputs = static_cast<int>(program.inputs.size());
  return value < num_inputs ? program.inputs[value] : program.steps[value - num_inputs].result;
}

// The steps for one element, whose inputs are in variables already.
std::string Steps(const ElementwiseProgram& program, const std::string& indent) {
  std::string text;
  const int num_inputs = static_cast<int>(program.inputs.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ElementwiseStep& step = program.steps[i];
    std::vector<std::string> operands;
    std::vector<DType> types;
    for (int operand : step.operands) {
      operands.push_back(Value(operand));
      types.push_back(TypeOf(program, operand));
    }
    text += Cat(indent, "const ", DeviceTypeName(step.result), " ", Value(num_inputs + static_cast<int>(i)), " = ",
                ElementwiseCall(step, operands, types), ";\n");
  }
  return text;
}

}  // namespace

std::string ElementwiseCall(const ElementwiseStep& step, std::span<const std::string> operands,
                            std::span<const DType> types) {
  const bool is_small = step.result == DType::kHalf || step.result == DType::kBFloat16;
  const bool is_narrow = is_small && std::ranges::all_of(types, [&](DType type) { return type == step.result; });
  const std::string_view result = DeviceTypeName(step.result);
  std::string text = is_narrow ? Cat("Narrow<", step.operation, ", ", result, ">::Do(")
                               : Cat("(", result, ")", step.operation, "::Do(");
  for (size_t i = 0; i < operands.size(); ++i) {
    text += Cat(i == 0 ? "" : ", ", is_narrow ? "" : Cat("(wide<", DeviceTypeName(types[i]), ">)"), operands[i]);
  }
  return text + ")";
}

std::string ElementwiseSource(const ElementwiseProgram& program, const ElementwiseLayout& layout) {
  const size_t num_inputs = program.inputs.size(), num_outputs = program.outputs.size();
  std::string text = Cat("#include \"", program.include, "\"\n\nstruct Arguments {\n  const void* in[", num_inputs,
                         "];\n  void* out[", num_outputs, "];\n  int64 turns;\n");
  int num_broadcasts = 0;
  for (Alignment alignment : layout.inputs) {
    num_broadcasts += alignment == Alignment::kBroadcast || alignment == Alignment::kRow;
  }
  if (num_broadcasts > 0) {
    text += Cat("  int64 dims[", layout.rank, "];\n  int64 strides[", num_broadcasts, "][", layout.rank, "];\n");
  }
  const std::string_view index = layout.long_index ? "int64" : "uint32";
  text += Cat("};\n\nextern \"C\" __global__ void Elementwise(const Arguments a) {\n");
  for (size_t i = 0; i < num_inputs; ++i) {
    if (layout.inputs[i] != Alignment::kSingle) continue;
    const std::string_view type = DeviceTypeName(program.inputs[i]);
    text += Cat("  const ", type, " v", i, " = *(const ", type, "*)a.in[", i, "];\n");
  }
  text += Cat("  for (", index, " i = (", index, ")GridFirst(); i < (", index, ")a.turns; i += (", index,
              ")GridStride()) {\n");
  if (num_broadcasts > 0) {
    text += Cat("    ", index, " rest = i");
    for (int b = 0; b < num_broadcasts; ++b) text += Cat(", at", b, " = 0");
    text += ";\n";
    for (int d = layout.rank - 1; d >= 0; --d) {
      const std::string place = d == 0 ? std::string("rest") : Cat("(rest % (", index, ")a.dims[", d, "])");
      for (int b = 0; b < num_broadcasts; ++b) {
        text += Cat("    at", b, " += ", place, " * (", index, ")a.strides[", b, "][", d, "];\n");
      }
      if (d > 0) text += Cat("    rest /= (", index, ")a.dims[", d, "];\n");
    }
  }
  const bool is_vector = layout.vector > 1;
  int broadcast = 0;
  for (size_t i = 0; i < num_inputs; ++i) {
    const std::string_view type = DeviceTypeName(program.inputs[i]);
    if (layout.inputs[i] == Alignment::kFull && is_vector) {
      text += Cat("    const Pack<", type, ", ", layout.vector, "> p", i, " = ((const Pack<", type, ", ", layout.vector,
                  ">*)a.in[", i, "])[i];\n");
    } else if (layout.inputs[i] == Alignment::kFull) {
      text += Cat("    const ", type, " v", i, " = ((const ", type, "*)a.in[", i, "])[i];\n");
    } else if (layout.inputs[i] == Alignment::kBroadcast) {
      text += Cat("    const ", type, " v", i, " = ((const ", type, "*)a.in[", i, "])[at", broadcast++, "];\n");
    } else if (layout.inputs[i] == Alignment::kRow) {
      text += Cat("    const Pack<", type, ", ", layout.vector, "> p", i, " = *(const Pack<", type, ", ", layout.vector,
                  ">*)((const ", type, "*)a.in[", i, "] + at", broadcast++, ");\n");
    }
  }
  if (!is_vector) {
    text += Steps(program, "    ");
    for (size_t i = 0; i < num_outputs; ++i) {
      text += Cat("    ((", DeviceTypeName(TypeOf(program, program.outputs[i])), "*)a.out[", i,
                  "])[i] = ", Value(program.outputs[i]), ";\n");
    }
    return text + "  }\n}\n";
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    text += Cat("    Pack<", DeviceTypeName(TypeOf(program, program.outputs[i])), ", ", layout.vector, "> q", i, ";\n");
  }
  text += Cat("#pragma unroll\n    for (int j = 0; j < ", layout.vector, "; ++j) {\n");
  for (size_t i = 0; i < num_inputs; ++i) {
    if (layout.inputs[i] == Alignment::kFull || layout.inputs[i] == Alignment::kRow) {
      text += Cat("      const ", DeviceTypeName(program.inputs[i]), " v", i, " = p", i, ".v[j];\n");
    }
  }
  text += Steps(program, "      ");
  for (size_t i = 0; i < num_outputs; ++i) text += Cat("      q", i, ".v[j] = ", Value(program.outputs[i]), ";\n");
  text += "    }\n";
  for (size_t i = 0; i < num_outputs; ++i) {
    text += Cat("    ((Pack<", DeviceTypeName(TypeOf(program, program.outputs[i])), ", ", layout.vector, ">*)a.out[", i,
                "])[i] = q", i, ";\n");
  }
  return text + "  }\n}\n";
}

std::vector<uint64_t> PackArguments(const std::vector<uint64_t>& inputs, const std::vector<uint64_t>& outputs,
                                    int64_t turns, const std::vector<int64_t>& dims,
                                    const std::vector<std::vector<int64_t>>& strides) {
  std::vector<uint64_t> packed(inputs);
  packed.insert(packed.end(), outputs.begin(), outputs.end());
  packed.push_back(static_cast<uint64_t>(turns));
  if (strides.empty()) return packed;
  for (int64_t dim : dims) packed.push_back(static_cast<uint64_t>(dim));
  for (const std::vector<int64_t>& each : strides) {
    for (int64_t stride : each) packed.push_back(static_cast<uint64_t>(stride));
  }
  return packed;
}

}  // namespace weir::cuda

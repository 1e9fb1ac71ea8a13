#include "weir/device/cuda/row_source.h"

#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {
namespace {

constexpr std::pair<std::string_view, std::string_view> kRowOperations[] = {
    {"Max", "RowMax"}, {"Mean", "RowMean"}, {"Softmax", "RowSoftmax"}, {"Sum", "RowSum"}};

class RowWriter {
 public:
  RowWriter(const ElementwiseProgram& program, const RowLayout& layout, const std::vector<bool>& is_single)
      : program_(program), layout_(layout), is_single_(is_single) {}

  std::string Write() {
    const size_t num_inputs = program_.inputs.size();
    text_ =
        Cat("#include \"weir/device/cuda/device_code/rows.cuh\"\n\nstruct Arguments {\n  const void* in[", num_inputs,
            "];\n  void* out[", program_.outputs.size(), "];\n  int64 rows;\n};\n\nconstexpr int kRow = ", layout_.row,
            ", kBlock = ", layout_.block, ", kEach = ", Each(),
            ";\n\nextern \"C\" __global__ void __launch_bounds__(kBlock) Rows(const Arguments a) {\n");
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (IsColumnSum(i)) text_ += Cat("  float sum", i, "[kEach] = {};\n");
    }
    text_ += "  for (int64 row = blockIdx.x; row < a.rows; row += gridDim.x) {\n";
    for (size_t i = 0; i < num_inputs; ++i) Load(i);
    for (size_t i = 0; i < program_.steps.size(); ++i) Step(i);
    for (size_t i = 0; i < program_.outputs.size(); ++i) Store(i);
    text_ += "  }\n";
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (IsColumnSum(i))
        text_ += Loop(Cat("((float*)a.out[", i, "])[(int64)blockIdx.x * kRow + at] = sum", i, "[i];\n"));
    }
    return text_ + "}\n";
  }

 private:
  int64_t Each() const { return (layout_.row + layout_.block - 1) / layout_.block; }
  bool IsColumnSum(size_t output) const { return !layout_.column_sums.empty() && layout_.column_sums[output]; }
  bool IsWhole() const { return layout_.row % layout_.block == 0; }
  DType TypeOf(int value) const {
    const int num_inputs = static_cast<int>(program_.inputs.size());
    return value < num_inputs ? program_.inputs[value] : program_.steps[value - num_inputs].result;
  }
  // A loop over this thread's elements of a row; `i` counts them, `at` is the place in the row.
  std::string Loop(std::string_view body) const {
    const std::string_view guard = IsWhole() ? "" : "if (at < kRow) ";
    return Cat(
        "#pragma unroll\n    for (int i = 0; i < kEach; ++i) {\n      const int at = threadIdx.x + i * kBlock;\n"
        "      ",
        guard, body, "    }\n");
  }

  void Load(size_t i) {
    const std::string_view type = DeviceTypeName(program_.inputs[i]);
    const std::string from = Cat("((const ", type, "*)a.in[", i, "])[", layout_.inputs[i].first);
    if (layout_.inputs[i].is_single) {
      text_ += Cat("    const ", type, " v", i, " = ", from, "];\n");
    } else {
      text_ += Cat("    ", type, " v", i, "[kEach];\n    ", Loop(Cat("v", i, "[i] = ", from, " + at];\n")));
    }
  }

  void Step(size_t i) {
    const ElementwiseStep& step = program_.steps[i];
    const int value = static_cast<int>(program_.inputs.size() + i);
    const std::string_view type = DeviceTypeName(step.result);
    if (const std::string_view row_operation = RowOperation(step.operation); !row_operation.empty()) {
      const std::string_view declared = is_single_[value] ? "" : "[kEach]";
      text_ += Cat("    ", type, " v", value, declared, ";\n    ", row_operation, "<", type, ", kRow, kBlock, kEach>(v",
                   step.operands[0], ", v", value, ");\n");
      return;
    }
    std::vector<std::string> operands;
    std::vector<DType> types;
    for (int operand : step.operands) {
      operands.push_back(Cat("v", operand, is_single_[operand] ? "" : "[i]"));
      types.push_back(TypeOf(operand));
    }
    const std::string call = Cat(ElementwiseCall(step, operands, types), ";\n");
    if (is_single_[value]) {
      text_ += Cat("    const ", type, " v", value, " = ", call);
    } else {
      text_ += Cat("    ", type, " v", value, "[kEach];\n", Loop(Cat("v", value, "[i] = ", call)));
    }
  }

  void Store(size_t i) {
    const int value = program_.outputs[i];
    if (IsColumnSum(i)) {
      text_ += Loop(Cat("sum", i, "[i] += v", value, "[i];\n"));
      return;
    }
    const std::string to = Cat("((", DeviceTypeName(TypeOf(value)), "*)a.out[", i, "])");
    if (is_single_[value]) {
      text_ += Cat("    if (threadIdx.x == 0) ", to, "[row] = v", value, ";\n");
    } else {
      text_ += Loop(Cat(to, "[row * kRow + at] = v", value, "[i];\n"));
    }
  }

  const ElementwiseProgram& program_;
  const RowLayout& layout_;
  const std::vector<bool>& is_single_;
  std::string text_;
};

}  // namespace

std::string_view RowOperation(std::string_view op) {
  for (const auto& [name, device_name] : kRowOperations) {
    if (name == op) return device_name;
  }
  return {};
}

bool ReducesRows(std::string_view op) { return !RowOperation(op).empty() && op != "Softmax"; }

int RowBlock(int64_t row) {
  // Four elements for each thread keep loads in flight without taking many registers.
  const int64_t threads = (row + 3) / 4;
  return static_cast<int>(std::clamp<int64_t>((threads + 31) / 32 * 32, 32, 1024));
}

std::string RowSource(const ElementwiseProgram& program, const RowLayout& layout, const std::vector<bool>& is_single) {
  return RowWriter(program, layout, is_single).Write();
}

}  // namespace weir::cuda

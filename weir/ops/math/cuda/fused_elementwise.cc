// _FusedElementwise and _FusedMixedElementwise on GPUs: groups of elementwise operations, each group one generated
// kernel, which rounds every value to its type as a kernel of its own would.
//
// Operations whose results have the same shape, and that need nothing of another kernel's in between, run in one
// kernel; only what others want is stored. A program made by the fusing pass is nearly always one kernel. With sums,
// means or softmax along the last dimension it is one kernel whose blocks hold a row each.
#include <map>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cuda/elementwise.h"
#include "weir/device/cuda/reduction.h"
#include "weir/device/cuda/row_source.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/cuda/elementwise_operations.h"

namespace weir::cuda {
namespace {

// Programs of one type (_FusedElementwise) have two places for operands of an operation, those whose values have types
// of their own (_FusedMixedElementwise) three.
class FusedElementwiseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FusedElementwiseKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Shape> shapes, InferShapes(ctx));
    if (has_rows_) return ComputeRows(ctx, shapes);
    const std::shared_ptr<const Plan> plan = PlanFor(shapes);
    std::vector<Tensor> values(shapes.size());
    for (int i = 0; i < num_inputs_; ++i) values[i] = ctx.input(i);
    for (const Part& part : plan->parts) {
      std::vector<ElementwiseOperand> inputs;
      for (int value : part.inputs) inputs.emplace_back(values[value]);
      std::vector<Tensor*> outputs;
      for (int value : part.outputs) {
        WEIR_ASSIGN_OR_RETURN(values[value], ctx.AllocateTemp(types_[value], shapes[value]));
        outputs.push_back(&values[value]);
      }
      WEIR_RETURN_IF_ERROR(part.function->Run(ctx, inputs, shapes[part.outputs.front()], outputs));
    }
    for (size_t i = 0; i < results_.size(); ++i) ctx.set_output(static_cast<int>(i), values[num_inputs_ + results_[i]]);
    return OkStatus();
  }

 private:
  struct Operation {
    std::string name;    // as the op's
    std::string device;  // in device code
    std::vector<int> operands;
    bool broadcasts = true;
    bool is_sum = false;
    bool is_along_rows = false;
  };
  // One kernel.
  struct Part {
    std::vector<int> inputs, outputs;  // values
    std::unique_ptr<ElementwiseFunction> function;
  };
  struct Plan {
    std::vector<Part> parts;
  };

  Status Read(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(auto names, init.Attr<std::vector<std::string>>("ops"));
    WEIR_ASSIGN_OR_RETURN(auto operands, init.Attr<std::vector<int64_t>>("operands"));
    WEIR_ASSIGN_OR_RETURN(results_, init.Attr<std::vector<int64_t>>("results"));
    num_inputs_ = init.num_inputs();
    for (int i = 0; i < num_inputs_; ++i) types_.push_back(init.input_type(i));
    const std::string& op = init.schema().name;
    const auto count = static_cast<int64_t>(names.size());
    size_t places = 2;
    std::vector<DType> types;
    if (init.HasAttr("types")) {
      places = 3;
      WEIR_ASSIGN_OR_RETURN(types, init.Attr<std::vector<DType>>("types"));
    } else {
      WEIR_ASSIGN_OR_RETURN(DType dtype, init.Attr<DType>("T"));
      types.assign(names.size(), dtype);
    }
    if (count == 0 || operands.size() != places * names.size() || types.size() != names.size() ||
        results_.size() != static_cast<size_t>(init.num_outputs())) {
      return InvalidArgument(op, " of ", count, " operations has ", operands.size(), " operands, ", types.size(),
                             " types and ", results_.size(), " results");
    }
    for (size_t i = 0; i < names.size(); ++i) {
      WEIR_RETURN_IF_ERROR(Add(op, names[i], std::span(operands).subspan(places * i, places), types[i]));
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      if (results_[i] < 0 || results_[i] >= count) return InvalidArgument(op, " has no operation ", results_[i]);
      if (init.output_type(static_cast<int>(i)) != types[results_[i]]) {
        return InvalidArgument(op, " cannot give ", Name(types[results_[i]]), " as ",
                               Name(init.output_type(static_cast<int>(i))));
      }
    }
    return ReadColumnSums(init);
  }
  Status ReadColumnSums(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(auto sums, init.Attr<std::vector<int64_t>>("column_sums"));
    if (sums.empty()) return OkStatus();
    has_column_sums_ = true;
    column_sums_.assign(results_.size(), false);
    for (int64_t output : sums) {
      if (output < 0 || output >= std::ssize(results_) || init.output_type(static_cast<int>(output)) != DType::kFloat ||
          !has_rows_) {
        return InvalidArgument(init.schema().name, " cannot sum the columns of output ", output);
      }
      column_sums_[static_cast<size_t>(output)] = true;
    }
    return OkStatus();
  }
  Status Add(const std::string& op, const std::string& name, std::span<const int64_t> operands, DType type) {
    Operation operation{.name = name};
    operation.is_sum = name == "AddN";
    operation.is_along_rows = !RowOperation(name).empty();
    has_rows_ |= operation.is_along_rows;
    std::vector<DType> types;
    for (int64_t operand : operands) {
      if (operand == -1) continue;
      if (operand < 0 || operand >= std::ssize(types_)) {
        return InvalidArgument(op, " cannot give ", name, " the operand ", operand);
      }
      operation.operands.push_back(static_cast<int>(operand));
      types.push_back(types_[operand]);
    }
    if (types.empty()) return InvalidArgument(op, " gives ", name, " no operand");
    if (operation.is_along_rows) {
      if (types.size() != 1 || types[0] != type || !IsFloating(type) || SizeOf(type) < 2) {
        return InvalidArgument(op, " cannot give ", name, " such operands");
      }
      operation.device = name;
    } else {
      const std::string_view known_op =
          operation.is_sum || name == "BiasAdd" ? std::string_view("AddV2") : std::string_view(name);
      const ElementwiseOperation* known = FindElementwiseOperation(known_op);
      if (known == nullptr && name != "Cast" && name != "SelectV2") {
        return Unimplemented(op, " does not know ", name, " on a GPU");
      }
      if (!FitsFusedProgram(known_op, types, type)) {
        return InvalidArgument(op, " cannot give ", name, " such operands, or the type ", Name(type));
      }
      operation.device = known != nullptr ? std::string(known->name)
                         : name == "Cast" ? Cat("Cast<", DeviceTypeName(type), ">")
                                          : std::string("Select3");
      operation.broadcasts = (known == nullptr || known->broadcasts) && !operation.is_sum;
    }
    operations_.push_back(std::move(operation));
    types_.push_back(type);
    return OkStatus();
  }

  StatusOr<std::vector<Shape>> InferShapes(KernelContext& ctx) const {
    std::vector<Shape> shapes;
    for (int i = 0; i < num_inputs_; ++i) shapes.push_back(ctx.input(i).shape());
    for (size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      StatusOr<Shape> shape = shapes[operation.operands[0]];
      if (operation.is_along_rows && shape->rank() < 1) {
        shape = InvalidArgument(operation.name, " along the last dimension of a scalar");
      } else if (ReducesRows(operation.name)) {
        WEIR_RETURN_IF_ERROR(shape->SetDim(shape->rank() - 1, 1));
      }
      for (size_t k = 1; k < operation.operands.size() && shape.ok(); ++k) {
        const Shape& other = shapes[operation.operands[k]];
        if (operation.broadcasts) {
          shape = BroadcastShape(*shape, other);
        } else if (shape->num_elements() != other.num_elements()) {
          shape = InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                  shape->num_elements(), " and ", other.num_elements());
        }
      }
      if (!shape.ok()) return OfFusedNode(shape.status(), i);
      shapes.push_back(*std::move(shape));
    }
    return shapes;
  }

  // With operations along rows all of the program is one kernel (row_source.h). The fusing pass sees to it that every
  // operation's result has full rows or one number for each.
  Status ComputeRows(KernelContext& ctx, const std::vector<Shape>& shapes) {
    Shape whole;
    for (const Operation& operation : operations_) {
      if (operation.is_along_rows && !shapes[operation.operands[0]].IsScalar()) whole = shapes[operation.operands[0]];
    }
    const int64_t row = whole.dim(whole.rank() - 1);
    if (row == 0 || row > kLongestRow) return Unimplemented("Rows of ", row, " elements in _FusedElementwise on a GPU");
    const int64_t rows = whole.num_elements() / row;
    RowLayout layout{.inputs = {}, .column_sums = column_sums_, .row = row, .block = RowBlock(row)};
    std::vector<bool> is_single;
    for (int i = 0; i < num_inputs_; ++i) {
      WEIR_ASSIGN_OR_RETURN(RowInput input, PlaceInput(shapes[i], whole));
      is_single.push_back(input.is_single);
      layout.inputs.push_back(std::move(input));
    }
    for (const Operation& operation : operations_) {
      const bool are_single = std::ranges::all_of(operation.operands, [&](int operand) { return is_single[operand]; });
      is_single.push_back(operation.is_along_rows ? ReducesRows(operation.name) : are_single);
    }
    std::vector<uint64_t> from, to;
    for (int i = 0; i < num_inputs_; ++i) from.push_back(Address(ctx.input(i)));
    // As many blocks as run at a time, if each sums its rows.
    const int64_t most_blocks = has_column_sums_ ? ShapeFor(ctx, rows * layout.block).grid : 1 << 20;
    const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, most_blocks));
    std::vector<Tensor> parts(results_.size());
    for (size_t i = 0; i < results_.size(); ++i) {
      const int value = num_inputs_ + static_cast<int>(results_[i]);
      if (!layout.column_sums.empty() && layout.column_sums[i]) {
        if (is_single[value]) return OfFusedNode(InvalidArgument("The sum of a column of single numbers"), i);
        WEIR_ASSIGN_OR_RETURN(parts[i], ctx.AllocateTemp(DType::kFloat, Shape({int64_t{blocks}, row})));
        WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(static_cast<int>(i), Shape({row})));
        if (rows == 0) WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(*out), out->num_bytes()));
        to.push_back(Address(parts[i]));
        continue;
      }
      if (shapes[value].num_elements() != (is_single[value] ? rows : rows * row)) {
        return OfFusedNode(
            InvalidArgument("A result of shape ", shapes[value].ToString(), " beside rows of ", whole.ToString()),
            static_cast<size_t>(results_[i]));
      }
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(static_cast<int>(i), shapes[value]));
      to.push_back(Address(*out));
    }
    if (rows == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(FunctionHandle function, FindGenerated(ctx, "rows.cu", RowText(layout, is_single), "Rows"));
    std::vector<uint64_t> packed = PackArguments(from, to, rows, {}, {});
    if (packed.size() * sizeof(uint64_t) > 4096) return Unimplemented("Too many operands for one kernel of the GPU");
    void* arguments[] = {packed.data()};
    const LaunchShape shape{.grid = blocks, .block = static_cast<unsigned>(layout.block)};
    WEIR_RETURN_IF_ERROR(LaunchFunction(ctx, function, shape, arguments));
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!parts[i].has_value()) continue;
      WEIR_RETURN_IF_ERROR(Reduce(ctx, "Sum", parts[i], {true, false}, ctx.output(static_cast<int>(i))));
    }
    return OkStatus();
  }

  static StatusOr<RowInput> PlaceInput(const Shape& shape, const Shape& whole) {
    const int rank = whole.rank();
    const int64_t last = shape.rank() == 0 ? 1 : shape.dim(shape.rank() - 1);
    RowInput input{.first = "0", .is_single = last == 1};
    WEIR_ASSIGN_OR_RETURN(const Shape together, BroadcastShape(shape, whole));
    if (together != whole) return InvalidArgument("Rows of ", whole.ToString(), " with ", shape.ToString());
    // The place of the row among those of the operand, dimension by dimension from the last but one on.
    int64_t stride = last, before = 1;
    const int64_t operand_rows = shape.num_elements() / std::max<int64_t>(last, 1);
    if (operand_rows * whole.dim(rank - 1) == whole.num_elements()) {
      input.first = Cat("row * ", last, "LL");
      return input;
    }
    for (int i = 2; i <= rank; ++i) {
      const int64_t size = i <= shape.rank() ? shape.dim(shape.rank() - i) : 1, of = whole.dim(rank - i);
      if (size != 1) {
        input.first += Cat(" + row / ", before, "LL % ", of, "LL * ", stride, "LL");
        stride *= size;
      }
      before *= of;
    }
    return input;
  }

  std::string RowText(const RowLayout& layout, const std::vector<bool>& is_single) const {
    std::string key = Cat(layout.row);
    for (const RowInput& input : layout.inputs) key += Cat(",", input.first, input.is_single ? "s" : "");
    absl::MutexLock lock(&mu_);
    std::string& text = row_texts_[key];
    if (text.empty()) text = RowSource(WholeProgram(), layout, is_single);
    return text;
  }

  // All of it, for one kernel.
  ElementwiseProgram WholeProgram() const {
    ElementwiseProgram program;
    program.inputs.assign(types_.begin(), types_.begin() + num_inputs_);
    for (size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      program.steps.push_back({operation.device, operation.operands, types_[operation.operands[0]],
                               types_[static_cast<size_t>(num_inputs_) + i]});
    }
    for (int64_t result : results_) program.outputs.push_back(num_inputs_ + static_cast<int>(result));
    return program;
  }

  // How the operations become kernels depends on which shapes are equal.
  std::shared_ptr<const Plan> PlanFor(const std::vector<Shape>& shapes) const {
    std::map<std::vector<int64_t>, int> numbers;
    std::vector<int> kinds;
    for (const Shape& shape : shapes) {
      std::vector<int64_t> dims;
      for (int d = 0; d < shape.rank(); ++d) dims.push_back(shape.dim(d));
      kinds.push_back(numbers.emplace(std::move(dims), static_cast<int>(numbers.size())).first->second);
    }
    absl::MutexLock lock(&mu_);
    std::shared_ptr<const Plan>& plan = plans_[kinds];
    if (plan == nullptr) plan = MakePlan(kinds);
    return plan;
  }

  std::shared_ptr<const Plan> MakePlan(const std::vector<int>& kinds) const {
    const int count = static_cast<int>(operations_.size());
    // The kernel of each operation: the first in which all operands from other kernels are ready.
    std::vector<int> stages(kinds.size(), 0);
    std::map<std::pair<int, int>, std::vector<int>> members;  // by stage and shape
    for (int i = 0; i < count; ++i) {
      const int value = num_inputs_ + i;
      for (int operand : operations_[i].operands) {
        const bool is_made = operand >= num_inputs_;
        stages[value] = std::max(stages[value], stages[operand] + (is_made && kinds[operand] != kinds[value] ? 1 : 0));
      }
      members[{stages[value], kinds[value]}].push_back(value);
    }
    std::vector<bool> is_wanted(kinds.size(), false);  // outside its kernel
    for (int64_t result : results_) is_wanted[num_inputs_ + result] = true;
    auto same_kernel = [&](int a, int b) { return stages[a] == stages[b] && kinds[a] == kinds[b]; };
    for (int i = 0; i < count; ++i) {
      for (int operand : operations_[i].operands) {
        if (operand >= num_inputs_ && !same_kernel(operand, num_inputs_ + i)) is_wanted[operand] = true;
      }
    }
    auto plan = std::make_shared<Plan>();
    for (const auto& [key, values] : members) plan->parts.push_back(MakePart(values, is_wanted));
    return plan;
  }

  Part MakePart(const std::vector<int>& values, const std::vector<bool>& is_wanted) const {
    Part part;
    std::map<int, int> places;  // of values in the kernel's program
    for (int value : values) {
      for (int operand : operations_[value - num_inputs_].operands) {
        if (std::ranges::count(values, operand) > 0 || places.contains(operand)) continue;
        places[operand] = static_cast<int>(part.inputs.size());
        part.inputs.push_back(operand);
      }
    }
    ElementwiseProgram program;
    for (int input : part.inputs) program.inputs.push_back(types_[input]);
    for (int value : values) {
      const Operation& operation = operations_[value - num_inputs_];
      ElementwiseStep step{operation.device, {}, types_[operation.operands[0]], types_[value]};
      for (int operand : operation.operands) step.operands.push_back(places[operand]);
      places[value] = static_cast<int>(part.inputs.size() + program.steps.size());
      program.steps.push_back(std::move(step));
      if (is_wanted[value]) {
        part.outputs.push_back(value);
        program.outputs.push_back(places[value]);
      }
    }
    part.function = std::make_unique<ElementwiseFunction>(std::move(program));
    return part;
  }

  std::vector<DType> types_;  // of values: the inputs, then the operations' results
  int num_inputs_ = 0;
  bool has_rows_ = false, has_column_sums_ = false;
  std::vector<bool> column_sums_;  // by output; empty if there are none
  std::vector<Operation> operations_;
  std::vector<int64_t> results_;
  mutable absl::Mutex mu_;
  mutable std::map<std::vector<int>, std::shared_ptr<const Plan>> plans_ ABSL_GUARDED_BY(mu_);
  mutable StringMap<std::string> row_texts_ ABSL_GUARDED_BY(mu_);  // by layout
};

}  // namespace

void RegisterFusedKernels(GpuRegistry& registry) {
  registry.kernels().Add(OnGpu("_FusedElementwise").Types("T", {DType::kFloat, DType::kHalf, DType::kBFloat16}),
                         MakeKernel<FusedElementwiseKernel>);
  registry.kernels().Add(OnGpu("_FusedMixedElementwise"), MakeKernel<FusedElementwiseKernel>);
}

}  // namespace weir::cuda

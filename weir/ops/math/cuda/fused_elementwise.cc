// _FusedElementwise on GPUs: groups of elementwise operations, each group one generated kernel.
//
// Operations whose results have the same shape, and that need nothing of another kernel's in between, run in one
// kernel; only what others want is stored. A program made by the fusing pass is nearly always one kernel.
#include <map>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cuda/elementwise.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/cuda/elementwise_operations.h"

namespace weir::cuda {
namespace {

class FusedElementwiseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FusedElementwiseKernel>();
    WEIR_ASSIGN_OR_RETURN(auto names, init.Attr<std::vector<std::string>>("ops"));
    WEIR_ASSIGN_OR_RETURN(auto operands, init.Attr<std::vector<int64_t>>("operands"));
    WEIR_ASSIGN_OR_RETURN(kernel->results_, init.Attr<std::vector<int64_t>>("results"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    kernel->num_inputs_ = init.num_inputs();
    const auto count = static_cast<int64_t>(names.size());
    if (count == 0 || operands.size() != 2 * names.size() ||
        kernel->results_.size() != static_cast<size_t>(init.num_outputs())) {
      return InvalidArgument("_FusedElementwise of ", count, " operations has ", operands.size(), " operands and ",
                             kernel->results_.size(), " results");
    }
    for (int64_t i = 0; i < count; ++i) {
      Operation operation;
      operation.is_sum = names[i] == "AddN";
      const ElementwiseOperation* known = FindElementwiseOperation(operation.is_sum ? "AddV2" : names[i]);
      if (known == nullptr) return Unimplemented("_FusedElementwise does not know ", names[i], " on a GPU");
      operation.name = known->name;
      operation.broadcasts = known->broadcasts && !operation.is_sum;
      for (int64_t operand : {operands[2 * i], operands[2 * i + 1]}) {
        if (operand == -1) continue;
        if (operand < 0 || operand >= kernel->num_inputs_ + i) {
          return InvalidArgument("_FusedElementwise cannot give ", names[i], " the operand ", operand);
        }
        operation.operands.push_back(static_cast<int>(operand));
      }
      if (operation.operands.empty()) return InvalidArgument("_FusedElementwise gives ", names[i], " no operand");
      kernel->operations_.push_back(std::move(operation));
    }
    for (int64_t result : kernel->results_) {
      if (result < 0 || result >= count) return InvalidArgument("_FusedElementwise has no operation ", result);
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Shape> shapes, InferShapes(ctx));
    const std::shared_ptr<const Plan> plan = PlanFor(shapes);
    std::vector<Tensor> values(shapes.size());
    for (int i = 0; i < num_inputs_; ++i) values[i] = ctx.input(i);
    for (const Part& part : plan->parts) {
      std::vector<ElementwiseOperand> inputs;
      for (int value : part.inputs) inputs.emplace_back(values[value]);
      std::vector<Tensor*> outputs;
      for (int value : part.outputs) {
        WEIR_ASSIGN_OR_RETURN(values[value], ctx.AllocateTemp(dtype_, shapes[value]));
        outputs.push_back(&values[value]);
      }
      WEIR_RETURN_IF_ERROR(part.function->Run(ctx, inputs, shapes[part.outputs.front()], outputs));
    }
    for (size_t i = 0; i < results_.size(); ++i) ctx.set_output(static_cast<int>(i), values[num_inputs_ + results_[i]]);
    return OkStatus();
  }

 private:
  struct Operation {
    std::string name;
    std::vector<int> operands;
    bool broadcasts = true;
    bool is_sum = false;
  };
  // One kernel.
  struct Part {
    std::vector<int> inputs, outputs;  // values
    std::unique_ptr<ElementwiseFunction> function;
  };
  struct Plan {
    std::vector<Part> parts;
  };

  StatusOr<std::vector<Shape>> InferShapes(KernelContext& ctx) const {
    std::vector<Shape> shapes;
    for (int i = 0; i < num_inputs_; ++i) shapes.push_back(ctx.input(i).shape());
    for (size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      StatusOr<Shape> shape = shapes[operation.operands[0]];
      if (operation.operands.size() == 2) {
        const Shape& other = shapes[operation.operands[1]];
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
    program.inputs.assign(part.inputs.size(), dtype_);
    for (int value : values) {
      const Operation& operation = operations_[value - num_inputs_];
      ElementwiseStep step{operation.name, {}, dtype_, dtype_};
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

  DType dtype_ = DType::kInvalid;
  int num_inputs_ = 0;
  std::vector<Operation> operations_;
  std::vector<int64_t> results_;
  mutable absl::Mutex mu_;
  mutable std::map<std::vector<int>, std::shared_ptr<const Plan>> plans_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void RegisterFusedKernels(GpuRegistry& registry) {
  registry.kernels().Add(OnGpu("_FusedElementwise").Types("T", {DType::kFloat}), MakeKernel<FusedElementwiseKernel>);
}

}  // namespace weir::cuda

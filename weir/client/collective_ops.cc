#include "weir/client/collective_ops.h"

#include "weir/client/op_call.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/optimizer_internal.h"

namespace weir::collective {
namespace {

constexpr const char* kOpNames[] = {"Sum", "Average", "Min", "Max", "Product", "Adasum"};

Output Reduction(const char* op, const Scope& scope, const Input& value, const AllReduceOptions& options,
                 const std::string& name) {
  OpCall call(scope, op);
  call.Add(value)
      .Set("tensor_name", name)
      .Set("reduction", kOpNames[static_cast<int>(options.op)])
      .Set("prescale", static_cast<float>(options.prescale))
      .Set("postscale", static_cast<float>(options.postscale))
      .Set("process_set", options.set);
  return call.Single();
}

// Rows stay rows: those of all ranks one after the other.
GradientOutput GatherSparse(const Scope& scope, const GradientOutput& gradient, const std::string& name,
                            const DistributedOptions& options) {
  GradientOutput out = gradient;
  out.values = AllGather(scope, gradient.values, name + "/values", options.set);
  out.indices = AllGather(scope, gradient.indices, name + "/indices", options.set);
  if (options.op == ReduceOp::kAverage) {
    OpCall size(scope, "_ProcessSize");
    size.Set("process_set", options.set);
    out.values = out.values / ops::Cast(scope, size.Single(), out.values.dtype());
  }
  return out;
}

std::vector<GradientOutput> ExchangeAll(const Scope& scope, std::span<const Variable> variables,
                                        std::vector<GradientOutput> gradients, const DistributedOptions& options) {
  const Scope inside = scope.SubScope("exchange");
  AllReduceOptions reduce{.op = options.op, .compression = options.compression, .set = options.set};
  reduce.prescale = 1 / options.predivide_factor;
  reduce.postscale = options.predivide_factor;
  for (size_t i = 0; i < gradients.size() && i < variables.size(); ++i) {
    GradientOutput& gradient = gradients[i];
    if (gradient.is_none()) continue;
    const std::string name = Cat("gradient/", variables[i].name());
    if (gradient.is_sparse() && !options.sparse_as_dense && options.op != ReduceOp::kAdasum) {
      gradient = GatherSparse(inside, gradient, name, options);
    } else {
      gradient = {.dense = AllReduce(inside, gradient.ToDense(inside), reduce, name)};
    }
  }
  return gradients;
}

}  // namespace

Output AllReduce(const Scope& scope, const Input& value, const AllReduceOptions& options, const std::string& name) {
  OpCall call(scope, "_ProcessAllReduce");
  call.Add(value)
      .Set("tensor_name", name)
      .Set("reduction", kOpNames[static_cast<int>(options.op)])
      .Set("prescale", static_cast<float>(options.prescale))
      .Set("postscale", static_cast<float>(options.postscale))
      .Set("compression", options.compression == Compression::kHalf   ? "half"
                          : options.compression == Compression::kInt8 ? "int8"
                                                                      : "none")
      .Set("process_set", options.set);
  return call.Single();
}

Output AllGather(const Scope& scope, const Input& value, const std::string& name, ProcessSet set) {
  return OpCall(scope, "_ProcessAllGather").Add(value).Set("tensor_name", name).Set("process_set", set).Single();
}

Output Broadcast(const Scope& scope, const Input& value, int root, const std::string& name, ProcessSet set) {
  OpCall call(scope, "_ProcessBroadcast");
  return call.Add(value).Set("root", root).Set("tensor_name", name).Set("process_set", set).Single();
}

Output ReduceScatter(const Scope& scope, const Input& value, const AllReduceOptions& options, const std::string& name) {
  return Reduction("_ProcessReduceScatter", scope, value, options, name);
}

AllToAllOutputs AllToAll(const Scope& scope, const Input& value, const Input& splits, const std::string& name,
                         ProcessSet set) {
  OpCall call(scope, "_ProcessAllToAll");
  call.Add(value).Add(splits).Set("tensor_name", name).Set("process_set", set);
  call.Finish();
  return {call.One(0), call.One(1)};
}

Optimizer DistributedOptimizer(const Optimizer& optimizer, const DistributedOptions& options) {
  Optimizer::Rule rule = optimizer.rule();
  auto before = rule.exchange;
  rule.exchange = [options, before](const Scope& scope, std::span<const Variable> variables,
                                    std::vector<GradientOutput> gradients) {
    if (before) gradients = before(scope, variables, std::move(gradients));
    return ExchangeAll(scope, variables, std::move(gradients), options);
  };
  return Optimizer(std::make_shared<const Optimizer::Rule>(std::move(rule)));
}

Operation BroadcastVariables(const Scope& scope, std::span<const Variable> variables, int root) {
  const Scope inside = scope.SubScope("broadcast_variables");
  std::vector<Operation> assigned;
  for (const Variable& variable : variables) {
    const Output value = Broadcast(inside, variable.Read(inside), root, Cat("variable/", variable.name()));
    assigned.push_back(variable.Assign(inside, value));
  }
  return Group(inside, assigned);
}

Status BroadcastVariables(ClientSession& session, std::span<const Variable> variables, int root) {
  return session.RunTargets({BroadcastVariables(session.scope(), variables, root)});
}

}  // namespace weir::collective

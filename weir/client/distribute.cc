#include "weir/client/distribute.h"

#include "weir/base/strings.h"
#include "weir/client/collective_ops.h"
#include "weir/client/operators.h"
#include "weir/client/ops/math_ops.h"

namespace weir::distribute {
namespace {

thread_local const Strategy* current = nullptr;

std::vector<std::string> DevicesOfType(Environment& environment, std::string_view type) {
  std::vector<std::string> out;
  for (const auto& device : environment.devices.devices()) {
    if (device->type() == type) out.push_back(Cat("/device:", type, ":", out.size()));
  }
  return out;
}

std::vector<std::string> AllDevices(Environment& environment) {
  std::vector<std::string> gpus = DevicesOfType(environment, "GPU");
  return gpus.empty() ? DevicesOfType(environment, "CPU") : gpus;
}

}  // namespace

Strategy OneDevice(const std::string& device) {
  return {.name = "OneDevice", .devices = {device}, .variable_device = device};
}

Strategy Mirrored(const std::vector<std::string>& devices, Environment* environment) {
  Strategy strategy{.name = "Mirrored", .devices = devices, .mirrors = true};
  if (devices.empty()) strategy.devices = AllDevices(environment != nullptr ? *environment : *DefaultEnvironment());
  strategy.variable_device = strategy.devices[0];
  return strategy;
}

Strategy CentralStorage(const std::vector<std::string>& devices, const std::string& parameter_device) {
  return {.name = "CentralStorage", .devices = devices, .variable_device = parameter_device};
}

StatusOr<Strategy> MultiWorkerMirrored(const std::vector<std::string>& local_devices) {
  if (!collective::IsInitialized()) WEIR_RETURN_IF_ERROR(collective::Init());
  Strategy strategy{.name = "MultiWorkerMirrored", .devices = local_devices, .mirrors = true, .across_ranks = true};
  if (!local_devices.empty()) strategy.variable_device = local_devices[0];
  return strategy;
}

StatusOr<Strategy> Default() {
  WEIR_ASSIGN_OR_RETURN(const collective::Place place, collective::FindPlace());
  const std::vector<std::string> gpus = DevicesOfType(*DefaultEnvironment(), "GPU");
  if (place.size > 1) return MultiWorkerMirrored(gpus);
  if (gpus.size() > 1) return Mirrored(gpus);
  return Strategy{.name = "Default"};
}

StrategyScope::StrategyScope(const Strategy& strategy) : strategy_(strategy), before_(current) { current = &strategy_; }
StrategyScope::~StrategyScope() { current = before_; }

const Strategy& Current() {
  static const Strategy* const kNone = new Strategy();
  return current != nullptr ? *current : *kNone;
}

std::vector<Output> Run(const Scope& scope, const Strategy& strategy,
                        const std::function<Output(const Scope& scope, int replica)>& function) {
  std::vector<Output> out;
  for (int i = 0; i < strategy.num_local_replicas(); ++i) {
    const Scope inside = scope.SubScope(Cat("replica_", i));
    out.push_back(function(strategy.devices.empty() ? inside : inside.WithDevice(strategy.devices[i]), i));
  }
  return out;
}

Output Reduce(const Scope& scope, const Strategy& strategy, Reduction reduction, const std::vector<Output>& values) {
  if (values.empty()) {
    scope.Fail(InvalidArgument("there is nothing to reduce"));
    return {};
  }
  Output sum = values.size() == 1 ? values[0] : ops::AddN(scope, values);
  if (strategy.across_ranks) sum = collective::AllReduce(scope, sum, {.op = collective::ReduceOp::kSum});
  if (reduction == Reduction::kSum) return sum;
  return sum / ops::Cast(scope, Tensor::Scalar(static_cast<float>(strategy.num_replicas())), sum.dtype());
}

}  // namespace weir::distribute

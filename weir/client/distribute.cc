#include "weir/client/distribute.h"

#include <algorithm>
#include <limits>

#include "weir/base/strings.h"
#include "weir/client/collective_ops.h"
#include "weir/client/operators.h"
#include "weir/client/ops/math_ops.h"
#include "weir/distributed/cluster_spec.h"

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

StatusOr<Strategy> ParameterServer(const ParameterServerOptions& options, const collective::Variables& variables) {
  const std::string config = variables("TF_CONFIG");
  if (config.empty()) {
    return FailedPrecondition(
        "Parameter servers need a cluster: TF_CONFIG is not set (weir launch --ps 2 --workers 4 "
        "-- program starts one)");
  }
  WEIR_ASSIGN_OR_RETURN(const ClusterPlace place, FromTfConfig(config));
  if (place.job != "worker" && place.job != "chief") {
    return FailedPrecondition("This task is ", TaskName(place.job, place.task),
                              ", no worker: run `weir server` in it instead of the program");
  }
  ParameterServers servers;
  servers.partitioner = options.partitioner;
  servers.ready_timeout = options.ready_timeout;
  int chiefs = 0;
  servers.workers = servers.devices.ps_tasks = 0;
  for (const ClusterSpec::Task& task : place.cluster.tasks()) {
    if (task.job == "ps") ++servers.devices.ps_tasks;
    if (task.job == "chief") ++chiefs;
    if (task.job == "chief" || task.job == "worker") ++servers.workers;
  }
  if (servers.devices.ps_tasks == 0) return InvalidArgument("The cluster of TF_CONFIG has no parameter servers");
  servers.worker = place.task + (place.job == "worker" ? chiefs : 0);
  servers.devices.worker_device = Cat("/job:", place.job, "/task:", place.task);
  servers.devices.placement = options.placement;
  servers.target = options.target.empty() ? variables("WEIR_TARGET") : options.target;
  if (servers.target.empty()) servers.target = Cat("grpc://", place.cluster.Find(place.job, place.task)->address);
  return Strategy{.name = "ParameterServer", .servers = std::move(servers)};
}

Partitioner FixedShards(int shards) {
  return
      [shards](const Shape& shape, DType) -> int { return std::clamp<int64_t>(shape.dim(0), 1, std::max(shards, 1)); };
}

Partitioner MinSize(int64_t min_shard_bytes, int max_shards) {
  return [=](const Shape& shape, DType dtype) -> int {
    const int64_t bytes = shape.num_elements() * static_cast<int64_t>(SizeOf(dtype));
    const int64_t fitting = (bytes + min_shard_bytes - 1) / std::max<int64_t>(min_shard_bytes, 1);
    return std::max<int64_t>(std::min({shape.dim(0), int64_t{max_shards}, fitting}), 1);
  };
}

Partitioner MaxSize(int64_t max_shard_bytes, std::optional<int> max_shards) {
  return [=](const Shape& shape, DType dtype) -> int {
    const int64_t rows = shape.dim(0);
    if (rows == 0) return 1;
    const int64_t row_bytes = shape.num_elements() / rows * static_cast<int64_t>(SizeOf(dtype));
    const int64_t rows_per_shard = std::max<int64_t>(max_shard_bytes / std::max<int64_t>(row_bytes, 1), 1);
    const int64_t shards = (rows + rows_per_shard - 1) / rows_per_shard;
    return std::min<int64_t>(shards, max_shards.value_or(std::numeric_limits<int>::max()));
  };
}

StatusOr<Strategy> Default() {
  if (const std::string config = collective::ProcessVariable("TF_CONFIG"); !config.empty()) {
    WEIR_ASSIGN_OR_RETURN(const ClusterPlace cluster, FromTfConfig(config));
    if (cluster.cluster.Find("ps", 0) != nullptr) return ParameterServer();
  }
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

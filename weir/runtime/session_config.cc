// SessionOptions from and to the wire's ConfigProto.
#include <algorithm>

#include "weir/proto/config.pb.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

Toggle ToToggle(RewriterConfig::Toggle toggle) {
  switch (toggle) {
    case RewriterConfig::DEFAULT:
      return Toggle::kDefault;
    case RewriterConfig::OFF:
      return Toggle::kOff;
    default:
      return Toggle::kOn;
  }
}

RewriterConfig::Toggle ToProto(Toggle toggle) {
  switch (toggle) {
    case Toggle::kDefault:
      return RewriterConfig::DEFAULT;
    case Toggle::kOff:
      return RewriterConfig::OFF;
    case Toggle::kOn:
      return RewriterConfig::ON;
  }
  return RewriterConfig::DEFAULT;
}

void ToProto(const RewriteOptions& rewrites, GraphOptions* graph_options) {
  RewriterConfig* config = graph_options->mutable_rewrite_options();
  config->set_disable_meta_optimizer(rewrites.disable_all);
  config->set_function_optimization(ToProto(rewrites.inline_functions));
  config->set_constant_folding(ToProto(rewrites.constant_folding));
  config->set_common_subgraph_elimination(ToProto(rewrites.common_subexpressions));
  config->set_arithmetic_optimization(ToProto(rewrites.arithmetic));
  config->set_dependency_optimization(ToProto(rewrites.dependencies));
  config->set_remapping(ToProto(rewrites.fusion));
  graph_options->mutable_optimizer_options()->set_max_folded_constant_in_bytes(rewrites.max_folded_constant_bytes);
}

RewriteOptions ToRewrites(const GraphOptions& graph_options) {
  const RewriterConfig& config = graph_options.rewrite_options();
  const OptimizerOptions& optimizer = graph_options.optimizer_options();
  RewriteOptions out;
  // L0 switches off the passes of the classic optimizer, the rewriter's switch the others; either means a graph that
  // runs as it was written.
  out.disable_all = optimizer.opt_level() == OptimizerOptions::L0 || config.disable_meta_optimizer();
  out.inline_functions = ToToggle(config.function_optimization());
  if (optimizer.do_function_inlining() && out.inline_functions == Toggle::kDefault) out.inline_functions = Toggle::kOn;
  out.constant_folding = ToToggle(config.constant_folding());
  out.common_subexpressions = ToToggle(config.common_subgraph_elimination());
  out.arithmetic = ToToggle(config.arithmetic_optimization());
  out.dependencies = ToToggle(config.dependency_optimization());
  out.fusion = ToToggle(config.remapping());
  if (optimizer.max_folded_constant_in_bytes() > 0) {
    out.max_folded_constant_bytes = optimizer.max_folded_constant_in_bytes();
  }
  return out;
}

// Keeps the value of `placer` if the config names none.
Status FindPlacer(const RewriterConfig& config, PlacerKind* placer) {
  for (const RewriterConfig::CustomGraphOptimizer& custom : config.custom_optimizers()) {
    if (custom.name() != "weir_placer") continue;
    auto kind = custom.parameter_map().find("placer");
    if (kind == custom.parameter_map().end()) return InvalidArgument("weir_placer needs the parameter 'placer'");
    WEIR_ASSIGN_OR_RETURN(*placer, ParsePlacerKind(kind->second.s()));
  }
  return OkStatus();
}

constexpr char kMixedPrecisionOptimizer[] = "weir_mixed_precision";

// TensorFlow's switches select half on GPUs, and half or bfloat16 on the host; our own optimizer entry selects bfloat16
// on GPUs. Options that the config does not mention keep their values.
Status FindMixedPrecision(const RewriterConfig& config, SessionOptions* out) {
  if (ToToggle(config.auto_mixed_precision()) == Toggle::kOn) out->mixed_precision = DType::kHalf;
  if (ToToggle(config.auto_mixed_precision_cpu()) == Toggle::kOn) out->host_mixed_precision = DType::kHalf;
  if (ToToggle(config.auto_mixed_precision_onednn_bfloat16()) == Toggle::kOn ||
      ToToggle(config.auto_mixed_precision_mkl()) == Toggle::kOn) {
    out->host_mixed_precision = DType::kBFloat16;
  }
  for (const RewriterConfig::CustomGraphOptimizer& custom : config.custom_optimizers()) {
    if (custom.name() != kMixedPrecisionOptimizer) continue;
    auto type = custom.parameter_map().find("type");
    if (type == custom.parameter_map().end()) {
      return InvalidArgument(kMixedPrecisionOptimizer, " needs the parameter 'type'");
    }
    const std::string& name = type->second.s();
    if (name != "bfloat16" && name != "float16") {
      return InvalidArgument(kMixedPrecisionOptimizer, "'s type must be bfloat16 or float16, not '", name, "'");
    }
    out->mixed_precision = name == "bfloat16" ? DType::kBFloat16 : DType::kHalf;
  }
  return OkStatus();
}

void MixedPrecisionToProto(const SessionOptions& options, RewriterConfig* config) {
  if (options.mixed_precision == DType::kHalf) config->set_auto_mixed_precision(RewriterConfig::ON);
  if (options.mixed_precision == DType::kBFloat16) {
    RewriterConfig::CustomGraphOptimizer* custom = config->add_custom_optimizers();
    custom->set_name(kMixedPrecisionOptimizer);
    (*custom->mutable_parameter_map())["type"].set_s("bfloat16");
  }
  if (options.host_mixed_precision == DType::kHalf) config->set_auto_mixed_precision_cpu(RewriterConfig::ON);
  if (options.host_mixed_precision == DType::kBFloat16) {
    config->set_auto_mixed_precision_onednn_bfloat16(RewriterConfig::ON);
  }
}

// TensorFlow's manual mode goes by marks, its heuristics choose. Its other modes swap or reorder, and change nothing
// here.
void FindRecomputation(const RewriterConfig& config, RecomputeOptions* out) {
  switch (config.memory_optimization()) {
    case RewriterConfig::MANUAL:
      out->what = Recomputation::kMarked;
      break;
    case RewriterConfig::HEURISTICS:
    case RewriterConfig::RECOMPUTATION_HEURISTICS:
      out->what = Recomputation::kChosen;
      break;
    case RewriterConfig::DEFAULT_MEM_OPT:
      break;
    default:
      out->what = Recomputation::kNone;
  }
  const std::string& scope = config.memory_optimizer_target_node_name_scope();
  if (!scope.empty()) out->gradient_scope = scope;
}

void RecomputationToProto(const RecomputeOptions& options, RewriterConfig* config) {
  if (options.what == Recomputation::kMarked) config->set_memory_optimization(RewriterConfig::MANUAL);
  if (options.what == Recomputation::kChosen) {
    config->set_memory_optimization(RewriterConfig::RECOMPUTATION_HEURISTICS);
  }
  if (options.gradient_scope != RecomputeOptions().gradient_scope) {
    config->set_memory_optimizer_target_node_name_scope(options.gradient_scope);
  }
}

}  // namespace

StatusOr<SessionOptions> SessionOptions::FromConfig(const ConfigProto& config, const SessionOptions& defaults) {
  SessionOptions out = defaults;
  out.inter_op_threads = config.inter_op_parallelism_threads();
  out.intra_op_threads = config.intra_op_parallelism_threads();
  out.own_threads = config.use_per_session_threads();
  if (config.session_inter_op_thread_pool_size() > 0) {
    // A pool with a global name is shared; one without belongs to the session.
    const ThreadPoolOptionProto& pool = config.session_inter_op_thread_pool(0);
    if (pool.num_threads() != 0) out.inter_op_threads = pool.num_threads();
    out.own_threads |= pool.global_name().empty();
  }
  for (const auto& [type, count] : config.device_count()) out.device_count[type] = count;
  WEIR_ASSIGN_OR_RETURN(out.gpu, GpuOptions::FromConfig(config));
  out.device_filters.assign(config.device_filters().begin(), config.device_filters().end());
  out.allow_soft_placement = config.allow_soft_placement();
  out.log_device_placement = config.log_device_placement();
  out.isolate_state = config.isolate_session_state();
  if (config.operation_timeout_in_ms() > 0) {
    out.operation_timeout = absl::Milliseconds(config.operation_timeout_in_ms());
  }
  out.rewrites = ToRewrites(config.graph_options());
  WEIR_RETURN_IF_ERROR(FindPlacer(config.graph_options().rewrite_options(), &out.placer));
  WEIR_RETURN_IF_ERROR(FindMixedPrecision(config.graph_options().rewrite_options(), &out));
  FindRecomputation(config.graph_options().rewrite_options(), &out.recompute);
  out.lossy_transfers |= config.graph_options().enable_bfloat16_sendrecv();
  out.schedule_recvs |= config.graph_options().enable_recv_scheduling();
  out.build_cost_model = config.graph_options().build_cost_model();
  out.build_cost_model_after = config.graph_options().build_cost_model_after();
  return out;
}

void SessionOptions::ToConfig(ConfigProto* config) const {
  config->set_inter_op_parallelism_threads(inter_op_threads);
  config->set_intra_op_parallelism_threads(intra_op_threads);
  config->set_use_per_session_threads(own_threads);
  for (const auto& [type, count] : device_count) (*config->mutable_device_count())[type] = count;
  gpu.ToConfig(config);
  for (const std::string& filter : device_filters) config->add_device_filters(filter);
  config->set_allow_soft_placement(allow_soft_placement);
  config->set_log_device_placement(log_device_placement);
  config->set_isolate_session_state(isolate_state);
  if (operation_timeout < absl::InfiniteDuration()) {
    config->set_operation_timeout_in_ms(std::max<int64_t>(1, absl::ToInt64Milliseconds(operation_timeout)));
  }
  GraphOptions* graph_options = config->mutable_graph_options();
  ToProto(rewrites, graph_options);
  MixedPrecisionToProto(*this, graph_options->mutable_rewrite_options());
  RecomputationToProto(recompute, graph_options->mutable_rewrite_options());
  graph_options->set_enable_bfloat16_sendrecv(lossy_transfers);
  graph_options->set_enable_recv_scheduling(schedule_recvs);
  if (placer != PlacerKind::kDefault) {
    RewriterConfig::CustomGraphOptimizer* custom = graph_options->mutable_rewrite_options()->add_custom_optimizers();
    custom->set_name("weir_placer");
    (*custom->mutable_parameter_map())["placer"].set_s(placer == PlacerKind::kGreedy ? "greedy" : "heft");
  }
  graph_options->set_build_cost_model(build_cost_model);
  graph_options->set_build_cost_model_after(build_cost_model_after);
}

}  // namespace weir

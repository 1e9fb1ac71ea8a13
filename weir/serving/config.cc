#include "weir/serving/config.h"

#include <set>

#include "weir/io/proto_file.h"
#include "weir/proto/serving.pb.h"

namespace weir {
namespace {

StatusOr<VersionPolicy> ReadPolicy(const serving::FileSystemStoragePathSourceConfig::ServableVersionPolicy& policy) {
  VersionPolicy out;
  if (policy.has_all()) {
    out.kind = VersionPolicy::Kind::kAll;
  } else if (policy.has_specific()) {
    out.kind = VersionPolicy::Kind::kSpecific;
    out.versions.assign(policy.specific().versions().begin(), policy.specific().versions().end());
    if (out.versions.empty()) return InvalidArgument("a version policy 'specific' names no version");
  } else if (policy.has_latest()) {
    out.count = std::max<int64_t>(policy.latest().num_versions(), 1);
  }
  return out;
}

StatusOr<ModelSettings> ReadModel(const serving::ModelConfig& config) {
  ModelSettings out;
  out.name = config.name();
  out.base_path = config.base_path();
  if (out.name.empty()) return InvalidArgument("a model of the config has no name");
  if (out.base_path.empty()) return InvalidArgument("model ", out.name, " has no base_path");
  if (!config.model_platform().empty()) out.platform = config.model_platform();
  if (out.platform != "tensorflow") {
    return InvalidArgument("model ", out.name, " has model_platform '", out.platform, "'; only 'tensorflow' is served");
  }
  if (config.model_type() == serving::OTHER) return InvalidArgument("model ", out.name, " has model_type OTHER");
  WEIR_ASSIGN_OR_RETURN(out.policy, ReadPolicy(config.model_version_policy()));
  out.labels.insert(config.version_labels().begin(), config.version_labels().end());
  if (config.has_logging_config()) {
    out.log_prefix = config.logging_config().log_collector_config().filename_prefix();
    out.log_rate = config.logging_config().sampling_config().sampling_rate();
    if (out.log_rate < 0 || out.log_rate > 1) {
      return InvalidArgument("model ", out.name, " has a sampling_rate outside [0, 1]");
    }
  }
  return out;
}

Status CheckRules(const BatchOptions& rules) {
  if (rules.max_batch_size < 1) return InvalidArgument("max_batch_size must be positive");
  if (rules.max_enqueued_batches < 1) return InvalidArgument("max_enqueued_batches must be positive");
  if (rules.timeout < absl::ZeroDuration()) return InvalidArgument("batch_timeout_micros must not be negative");
  if (rules.max_execution_size > 0 && !rules.split_large) {
    return InvalidArgument("max_execution_batch_size needs enable_large_batch_splitting");
  }
  if (rules.max_execution_size > rules.max_batch_size) {
    return InvalidArgument("max_execution_batch_size must not be larger than max_batch_size");
  }
  int64_t last = 0;
  for (int64_t size : rules.allowed_sizes) {
    if (size <= last) return InvalidArgument("allowed_batch_sizes entries must be monotonically increasing");
    last = size;
  }
  if (last > 0 && last != rules.rows_per_step()) {
    return InvalidArgument("the last of allowed_batch_sizes must be the largest batch, ", rules.rows_per_step());
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<ModelSettings>> FromConfig(const serving::ModelServerConfig& config) {
  if (!config.has_model_config_list()) {
    return InvalidArgument("only a config with model_config_list is supported");
  }
  std::vector<ModelSettings> out;
  std::set<std::string> names;
  for (const auto& model : config.model_config_list().config()) {
    WEIR_ASSIGN_OR_RETURN(ModelSettings settings, ReadModel(model));
    if (!names.insert(settings.name).second) return InvalidArgument("model ", settings.name, " is listed twice");
    out.push_back(std::move(settings));
  }
  return out;
}

StatusOr<std::vector<ModelSettings>> ParseModelConfig(std::string_view text) {
  serving::ModelServerConfig config;
  WEIR_RETURN_IF_ERROR(Annotate(ParseTextProto(text, &config), "the model config file: "));
  return FromConfig(config);
}

StatusOr<BatchingFile> ParseBatchingParameters(std::string_view text) {
  serving::BatchingParameters file;
  WEIR_RETURN_IF_ERROR(Annotate(ParseTextProto(text, &file), "the batching parameters file: "));
  BatchingFile out;
  BatchOptions& rules = out.rules;
  rules.adaptive = false;
  rules.max_batch_size = file.has_max_batch_size() ? file.max_batch_size().value() : 1000;
  if (file.has_batch_timeout_micros()) rules.timeout = absl::Microseconds(file.batch_timeout_micros().value());
  if (file.has_max_enqueued_batches()) rules.max_enqueued_batches = file.max_enqueued_batches().value();
  if (file.has_num_batch_threads()) out.num_threads = static_cast<int>(file.num_batch_threads().value());
  rules.allowed_sizes.assign(file.allowed_batch_sizes().begin(), file.allowed_batch_sizes().end());
  rules.pad = file.pad_variable_length_inputs();
  rules.split_large = file.enable_large_batch_splitting().value();
  if (file.has_max_execution_batch_size()) rules.max_execution_size = file.max_execution_batch_size().value();
  WEIR_RETURN_IF_ERROR(CheckRules(rules));
  return out;
}

StatusOr<MonitoringSettings> ParseMonitoringConfig(std::string_view text) {
  serving::MonitoringConfig file;
  WEIR_RETURN_IF_ERROR(Annotate(ParseTextProto(text, &file), "the monitoring config file: "));
  MonitoringSettings out;
  out.enabled = file.prometheus_config().enable();
  if (!file.prometheus_config().path().empty()) out.path = file.prometheus_config().path();
  if (!out.path.starts_with('/')) return InvalidArgument("the path of the monitoring config must begin with '/'");
  return out;
}

StatusOr<TlsSettings> ParseSslConfig(std::string_view text) {
  serving::SSLConfig file;
  WEIR_RETURN_IF_ERROR(Annotate(ParseTextProto(text, &file), "the SSL config file: "));
  TlsSettings out{file.server_key(), file.server_cert(), file.client_verify() ? file.custom_ca() : ""};
  if (out.key.empty() || out.certificate.empty()) {
    return InvalidArgument("the SSL config file needs server_key and server_cert, as PEM texts");
  }
  if (file.client_verify() && out.client_ca.empty()) {
    return InvalidArgument("client_verify needs custom_ca, the CA of the clients' certificates");
  }
  return out;
}

}  // namespace weir

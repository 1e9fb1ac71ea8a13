// The configuration files of a model server, in text format: models, batching, monitoring and TLS.
#ifndef WEIR_SERVING_CONFIG_H_
#define WEIR_SERVING_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"
#include "weir/serving/step_scheduler.h"

namespace weir {

namespace serving {
class ModelServerConfig;  // wire format
}

struct VersionPolicy {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t count = 1;              // for the policy "latest": the number of versions
  std::vector<int64_t> versions;  // for the policy "specific"
};

struct ModelSettings {
  std::string name;
  std::string base_path;
  std::string platform = "tensorflow";
  VersionPolicy policy;
  std::map<std::string, int64_t> labels;
  // Sampled requests are logged to files with this prefix; empty: no logging.
  std::string log_prefix;
  double log_rate = 0;
};

// INVALID_ARGUMENT for a model without name or path, a duplicate name, or a config without model_config_list.
StatusOr<std::vector<ModelSettings>> FromConfig(const serving::ModelServerConfig& config);
StatusOr<std::vector<ModelSettings>> ParseModelConfig(std::string_view text);

struct BatchingFile {
  BatchOptions rules;
  int num_threads = 0;  // 0: not specified
};
// INVALID_ARGUMENT if parameters contradict each other.
StatusOr<BatchingFile> ParseBatchingParameters(std::string_view text);

struct MonitoringSettings {
  bool enabled = false;
  std::string path = "/monitoring/prometheus/metrics";
};
StatusOr<MonitoringSettings> ParseMonitoringConfig(std::string_view text);

struct TlsSettings {
  std::string key, certificate, client_ca;  // PEM texts; with a CA, clients must present a certificate signed by it
};
StatusOr<TlsSettings> ParseSslConfig(std::string_view text);

}  // namespace weir

#endif  // WEIR_SERVING_CONFIG_H_

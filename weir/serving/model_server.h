// ModelServer: TensorFlow Serving's protocols over the models of a configuration.
//
//   ModelServerOptions options;
//   options.models = {{.name = "m", .base_path = "/models/m"}};
//   auto server = weir::ModelServer::Start(options, weir::DefaultEnvironment());
//
// The ports are opened once every model is available.
#ifndef WEIR_SERVING_MODEL_SERVER_H_
#define WEIR_SERVING_MODEL_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/runtime/environment.h"
#include "weir/serving/config.h"
#include "weir/serving/model_manager.h"

namespace weir {

struct ModelServerOptions {
  std::string host = "0.0.0.0";
  int port = 8500;          // gRPC; 0: a free one
  int rest_port = -1;       // HTTP; 0: a free one, < 0: none
  std::string grpc_socket;  // of a UNIX socket for gRPC beside the port; empty: none
  std::vector<ModelSettings> models;
  ManagerOptions manager;  // its `version` needs no scheduler and metrics
  bool warm_up = true;
  int warm_up_iterations = 1;
  int num_slots = 0;  // steps at once; 0: half of the cores
  MonitoringSettings monitoring;
  TlsSettings tls;  // of gRPC
  int64_t max_message_bytes = INT32_MAX;
  // gRPC answers carry numbers as bytes (tensor_content), which is quick to read; false: in typed fields (float_val).
  bool outputs_as_content = true;
  int rest_threads = 0;  // 0: four per core
  absl::Duration rest_timeout = absl::Seconds(30);
  bool rest_cors = false;
  std::string trace_folder;  // traces of calls with the header "weir-trace" go there; empty: none are made
  absl::Duration stay_awake = absl::Milliseconds(1);  // as ServerOptions has it
};

// Thread-safe.
class ModelServer {
 public:
  // Loads the models, then listens. UNAVAILABLE if an address cannot be had.
  static StatusOr<std::unique_ptr<ModelServer>> Start(ModelServerOptions options,
                                                      std::shared_ptr<Environment> environment);
  ~ModelServer();

  int port() const;
  int rest_port() const;  // -1 if there is none
  ModelManager& models();
  const ServingMetrics& metrics() const;
  // Answers what runs within `grace`, then ends.
  void Shutdown(absl::Duration grace = absl::Seconds(5));

 private:
  class Impl;
  explicit ModelServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_SERVING_MODEL_SERVER_H_

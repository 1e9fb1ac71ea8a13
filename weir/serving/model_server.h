// ModelServer: serves the models of a configuration with TensorFlow Serving's protocols.
//
//   ModelServerOptions options;
//   options.models = {{.name = "m", .base_path = "/models/m"}};
//   auto server = weir::ModelServer::Start(options, weir::DefaultEnvironment());
//
// The ports are opened after all models have become available.
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
  int port = 8500;          // for gRPC; 0: any free port
  int rest_port = -1;       // for HTTP; 0: any free port, < 0: none
  std::string grpc_socket;  // the path of a UNIX socket for gRPC, in addition to the port; empty: none
  std::vector<ModelSettings> models;
  ManagerOptions manager;  // its `version` need not have a scheduler or metrics
  bool warm_up = true;
  int warm_up_iterations = 1;
  int num_slots = 0;  // concurrent steps; 0: half of the cores
  MonitoringSettings monitoring;
  TlsSettings tls;  // for gRPC
  int64_t max_message_bytes = INT32_MAX;
  // Send numbers in gRPC answers as bytes (tensor_content), which are faster to read; false: in typed fields
  // (float_val).
  bool outputs_as_content = true;
  int rest_threads = 0;  // 0: four per core
  absl::Duration rest_timeout = absl::Seconds(30);
  bool rest_cors = false;
  std::string trace_folder;  // for traces of calls with the header "weir-trace"; empty: no traces
  absl::Duration stay_awake = absl::Milliseconds(1);  // as in ServerOptions
};

// Thread-safe.
class ModelServer {
 public:
  // Loads the models, then listens. UNAVAILABLE if an address cannot be bound.
  static StatusOr<std::unique_ptr<ModelServer>> Start(ModelServerOptions options,
                                                      std::shared_ptr<Environment> environment);
  ~ModelServer();

  int port() const;
  int rest_port() const;  // -1 if there is none
  ModelManager& models();
  const ServingMetrics& metrics() const;
  // Waits up to `grace` for calls in flight to be answered, then stops.
  void Shutdown(absl::Duration grace = absl::Seconds(5));

 private:
  class Impl;
  explicit ModelServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_SERVING_MODEL_SERVER_H_

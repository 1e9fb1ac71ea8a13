// TensorFlow Serving's REST API for the models of a server.
#ifndef WEIR_SERVING_REST_API_INTERNAL_H_
#define WEIR_SERVING_REST_API_INTERNAL_H_

#include <functional>
#include <string>

#include "weir/serving/call_observer_internal.h"
#include "weir/serving/http_server.h"
#include "weir/serving/model_manager.h"

namespace weir {

struct RestOptions {
  MonitoringSettings monitoring;
  absl::Duration timeout = absl::Seconds(30);
  bool cors = false;
};

// Thread-safe.
class RestApi {
 public:
  // All arguments must outlive this object.
  RestApi(ModelManager* models, CallObserver* observer, ServingMetrics* metrics, RestOptions options);
  // Blocks until the request has been answered.
  HttpResponse Serve(const HttpRequest& request);

 private:
  struct Target;
  StatusOr<std::string> Post(const Target& target, const HttpRequest& request);
  StatusOr<std::string> PostPredict(const Target& target, const HttpRequest& request);
  StatusOr<std::string> PostExamples(const Target& target, const HttpRequest& request);
  StatusOr<std::string> Get(const Target& target);
  HttpResponse Options(const HttpRequest& request);

  ModelManager* const models_;
  CallObserver* const observer_;
  ServingMetrics* const metrics_;
  const RestOptions options_;
};

}  // namespace weir

#endif  // WEIR_SERVING_REST_API_INTERNAL_H_

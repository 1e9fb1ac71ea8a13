// The counters of a task, and an HTTP endpoint for Prometheus.
#ifndef WEIR_DISTRIBUTED_METRICS_H_
#define WEIR_DISTRIBUTED_METRICS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "weir/base/status.h"

namespace weir {

// All counters are monotonic. Thread-safe.
struct TaskMetrics {
  std::atomic<int64_t> steps{0};        // of this task's own sessions
  std::atomic<int64_t> step_errors{0};  // that failed
  std::atomic<int64_t> parts{0};        // of steps of other tasks
  std::atomic<int64_t> part_errors{0};
  std::atomic<int64_t> tensors_sent{0};  // to other tasks
  std::atomic<int64_t> tensor_bytes_sent{0};
  std::atomic<int64_t> tensors_fetched{0};  // from other tasks
  std::atomic<int64_t> tensor_bytes_fetched{0};
  std::atomic<int64_t> tensors_shared{0};     // those of tensors_fetched that came through shared memory
  std::atomic<int64_t> fetch_wait_micros{0};  // from the request to the tensor

  void CountSent(size_t bytes) {
    tensors_sent.fetch_add(1, std::memory_order_relaxed);
    tensor_bytes_sent.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void CountFetched(size_t bytes, int64_t wait_micros) {
    tensors_fetched.fetch_add(1, std::memory_order_relaxed);
    tensor_bytes_fetched.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    fetch_wait_micros.fetch_add(wait_micros, std::memory_order_relaxed);
  }
};

// Lines of Prometheus' text format.
class MetricsText {
 public:
  // `kind` is "counter" or "gauge".
  void Add(std::string_view name, std::string_view kind, std::string_view help, double value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
void AppendMetrics(const TaskMetrics& metrics, MetricsText* text);

// Answers every HTTP request on a port with a text; one at a time, which is enough for a scraper.
class MetricsServer {
 public:
  // `port` 0: any free port. UNAVAILABLE if the port is in use.
  static StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& host, int port,
                                                        std::function<std::string()> text);
  ~MetricsServer();
  int port() const { return port_; }

 private:
  MetricsServer(int listener, int port, std::function<std::string()> text);
  void Serve();
  void Answer(int connection);

  const int listener_;
  const int port_;
  const std::function<std::string()> text_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_METRICS_H_

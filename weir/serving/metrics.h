// Metrics of a model server: counters and histograms by name and labels, as a page of Prometheus' text format.
//
// Names are TensorFlow Serving's, with ':' for its '/': ":tensorflow:serving:request_count". Histograms count
// microseconds (or rows) in exponential buckets: 10, 18, 32.4, ... and +Inf.
#ifndef WEIR_SERVING_METRICS_H_
#define WEIR_SERVING_METRICS_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace weir {

// Thread-safe.
class ServingMetrics {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void Count(std::string_view name, Labels labels, int64_t more = 1);
  void Observe(std::string_view name, Labels labels, double value);
  // The whole page.
  std::string Text() const;
  // 0 if nothing was counted under this name and these labels.
  int64_t CountOf(std::string_view name, Labels labels) const;

 private:
  static constexpr int kBuckets = 33;
  struct Histogram {
    std::array<int64_t, kBuckets + 1> counts{};
    int64_t total = 0;
    double sum = 0;
  };
  mutable absl::Mutex mu_;
  // By name, then by the labels as the page has them.
  std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> counters_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::map<std::string, Histogram, std::less<>>, std::less<>> histograms_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_SERVING_METRICS_H_

// Metrics of a model server: counters and histograms with labels, exported in Prometheus' text format.
//
// Names are those of TensorFlow Serving, with ':' instead of '/': ":tensorflow:serving:request_count". Histograms count
// microseconds (or rows) in exponential buckets: 10, 18, 32.4 ... and +Inf.
#ifndef WEIR_SERVING_METRICS_H_
#define WEIR_SERVING_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace weir {

// Thread-safe.
class ServingMetrics {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  class Counter {
   public:
    void Add(int64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
    int64_t value() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> value_{0};
  };

  class Histogram {
   public:
    void Observe(double value);

   private:
    friend class ServingMetrics;
    void AppendTo(const std::string& name, const std::string& labels, std::string* page) const;
    static constexpr int kBuckets = 33;
    std::array<std::atomic<int64_t>, kBuckets + 1> counts_{};
    std::atomic<double> sum_{0};
  };

  // Find or create a metric by name and labels. They live as long as this object, so frequent users should keep the
  // reference.
  Counter& CounterOf(std::string_view name, Labels labels);
  Histogram& HistogramOf(std::string_view name, Labels labels);
  // Exported only while somebody holds it: for things that come and go, such as versions.
  std::shared_ptr<Histogram> PassingHistogram(std::string_view name, Labels labels);
  void Count(std::string_view name, Labels labels, int64_t more = 1) { CounterOf(name, labels).Add(more); }
  void Observe(std::string_view name, Labels labels, double value) { HistogramOf(name, labels).Observe(value); }
  // All metrics in text format.
  std::string Text() const;
  // 0 if there is no counter with this name and these labels.
  int64_t CountOf(std::string_view name, Labels labels) const;

 private:
  // By name, then by the formatted labels.
  template <typename T>
  using Families = std::map<std::string, std::map<std::string, T, std::less<>>, std::less<>>;

  mutable absl::Mutex mu_;
  Families<Counter> counters_ ABSL_GUARDED_BY(mu_);
  Families<Histogram> histograms_ ABSL_GUARDED_BY(mu_);
  Families<std::weak_ptr<Histogram>> passing_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_SERVING_METRICS_H_

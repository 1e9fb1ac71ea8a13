#include "weir/serving/metrics.h"

#include <charconv>

#include "weir/base/strings.h"

namespace weir {
namespace {

constexpr double kFirstBound = 10;
constexpr double kFactor = 1.8;

void AppendEscaped(std::string_view text, std::string* out) {
  for (char c : text) {
    if (c == '\n') {
      *out += "\\n";
    } else {
      if (c == '"' || c == '\\') *out += '\\';
      *out += c;
    }
  }
}

// `model_name="m",status="OK"`.
std::string LabelText(ServingMetrics::Labels labels) {
  std::string out;
  for (const auto& [key, value] : labels) {
    if (!out.empty()) out += ',';
    out.append(key);
    out += "=\"";
    AppendEscaped(value, &out);
    out += '"';
  }
  return out;
}

std::string Number(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

std::string InBraces(const std::string& labels) { return labels.empty() ? "" : Cat("{", labels, "}"); }

}  // namespace

void ServingMetrics::Histogram::Observe(double value) {
  int bucket = 0;
  for (double bound = kFirstBound; bucket < kBuckets && value > bound; bound *= kFactor) ++bucket;
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

ServingMetrics::Counter& ServingMetrics::CounterOf(std::string_view name, Labels labels) {
  const std::string key = LabelText(labels);
  absl::MutexLock lock(&mu_);
  auto family = counters_.find(name);
  if (family == counters_.end()) family = counters_.try_emplace(std::string(name)).first;
  return family->second[key];
}

ServingMetrics::Histogram& ServingMetrics::HistogramOf(std::string_view name, Labels labels) {
  const std::string key = LabelText(labels);
  absl::MutexLock lock(&mu_);
  auto family = histograms_.find(name);
  if (family == histograms_.end()) family = histograms_.try_emplace(std::string(name)).first;
  return family->second[key];
}

std::shared_ptr<ServingMetrics::Histogram> ServingMetrics::PassingHistogram(std::string_view name, Labels labels) {
  const std::string key = LabelText(labels);
  absl::MutexLock lock(&mu_);
  auto family = passing_.find(name);
  if (family == passing_.end()) family = passing_.try_emplace(std::string(name)).first;
  std::erase_if(family->second, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Histogram>& known = family->second[key];
  std::shared_ptr<Histogram> found = known.lock();
  if (found == nullptr) known = found = std::make_shared<Histogram>();
  return found;
}

void ServingMetrics::Histogram::AppendTo(const std::string& name, const std::string& labels, std::string* page) const {
  const std::string before = labels.empty() ? "" : labels + ",";
  int64_t below = 0;
  double bound = kFirstBound;
  for (int i = 0; i < kBuckets; ++i, bound *= kFactor) {
    below += counts_[i].load(std::memory_order_relaxed);
    *page += Cat(name, "_bucket{", before, "le=\"", Number(bound), "\"} ", below, "\n");
  }
  const int64_t total = below + counts_[kBuckets].load(std::memory_order_relaxed);
  *page += Cat(name, "_bucket{", before, "le=\"+Inf\"} ", total, "\n");
  *page += Cat(name, "_sum", InBraces(labels), " ", Number(sum_.load(std::memory_order_relaxed)), "\n");
  *page += Cat(name, "_count", InBraces(labels), " ", total, "\n");
}

int64_t ServingMetrics::CountOf(std::string_view name, Labels labels) const {
  absl::MutexLock lock(&mu_);
  auto family = counters_.find(name);
  if (family == counters_.end()) return 0;
  auto found = family->second.find(LabelText(labels));
  return found != family->second.end() ? found->second.value() : 0;
}

std::string ServingMetrics::Text() const {
  absl::MutexLock lock(&mu_);
  std::string out;
  for (const auto& [name, values] : counters_) {
    out += Cat("# TYPE ", name, " counter\n");
    for (const auto& [labels, value] : values) out += Cat(name, InBraces(labels), " ", value.value(), "\n");
  }
  for (const auto& [name, values] : histograms_) {
    out += Cat("# TYPE ", name, " histogram\n");
    for (const auto& [labels, histogram] : values) histogram.AppendTo(name, labels, &out);
  }
  for (const auto& [name, values] : passing_) {
    out += Cat("# TYPE ", name, " histogram\n");
    for (const auto& [labels, passing] : values) {
      if (auto histogram = passing.lock()) histogram->AppendTo(name, labels, &out);
    }
  }
  return out;
}

}  // namespace weir

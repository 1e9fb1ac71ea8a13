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

void ServingMetrics::Count(std::string_view name, Labels labels, int64_t more) {
  const std::string key = LabelText(labels);
  absl::MutexLock lock(&mu_);
  auto family = counters_.find(name);
  if (family == counters_.end()) family = counters_.try_emplace(std::string(name)).first;
  family->second[key] += more;
}

void ServingMetrics::Observe(std::string_view name, Labels labels, double value) {
  const std::string key = LabelText(labels);
  int bucket = 0;
  for (double bound = kFirstBound; bucket < kBuckets && value > bound; bound *= kFactor) ++bucket;
  absl::MutexLock lock(&mu_);
  auto family = histograms_.find(name);
  if (family == histograms_.end()) family = histograms_.try_emplace(std::string(name)).first;
  Histogram& histogram = family->second[key];
  ++histogram.counts[bucket];
  ++histogram.total;
  histogram.sum += value;
}

int64_t ServingMetrics::CountOf(std::string_view name, Labels labels) const {
  absl::MutexLock lock(&mu_);
  auto family = counters_.find(name);
  if (family == counters_.end()) return 0;
  auto found = family->second.find(LabelText(labels));
  return found != family->second.end() ? found->second : 0;
}

std::string ServingMetrics::Text() const {
  absl::MutexLock lock(&mu_);
  std::string out;
  for (const auto& [name, values] : counters_) {
    out += Cat("# TYPE ", name, " counter\n");
    for (const auto& [labels, value] : values) out += Cat(name, InBraces(labels), " ", value, "\n");
  }
  for (const auto& [name, values] : histograms_) {
    out += Cat("# TYPE ", name, " histogram\n");
    for (const auto& [labels, histogram] : values) {
      const std::string before = labels.empty() ? "" : labels + ",";
      int64_t below = 0;
      double bound = kFirstBound;
      for (int i = 0; i < kBuckets; ++i, bound *= kFactor) {
        below += histogram.counts[i];
        out += Cat(name, "_bucket{", before, "le=\"", Number(bound), "\"} ", below, "\n");
      }
      out += Cat(name, "_bucket{", before, "le=\"+Inf\"} ", histogram.total, "\n");
      out += Cat(name, "_sum", InBraces(labels), " ", Number(histogram.sum), "\n");
      out += Cat(name, "_count", InBraces(labels), " ", histogram.total, "\n");
    }
  }
  return out;
}

}  // namespace weir

#include "weir/client/nn/progress_bar.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::nn {
namespace {

constexpr int kWidth = 24;

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string FormatSeconds(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration));
  char text[64];
  if (seconds >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                  static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(seconds / 60),
                  static_cast<long long>(seconds % 60));
  }
  return text;
}

ProgressBar::ProgressBar(std::FILE* out, std::string title, int64_t total, bool terminal)
    : out_(out), title_(std::move(title)), total_(total), terminal_(terminal), start_(absl::Now()), last_(start_) {}

std::string ProgressBar::Line(int64_t step, const Logs& logs, absl::Duration elapsed, bool finished) const {
  std::string line = Cat(title_, "  ");
  if (total_ > 0) {
    if (terminal_) {
      const int done = static_cast<int>(std::min(step, total_) * kWidth / total_);
      line += "[" + std::string(done, '=');
      if (done < kWidth) line += ">" + std::string(kWidth - done - 1, '.');
      line += "] ";
    }
    const std::string total = Cat(total_), now = Cat(step);
    line += std::string(total.size() - std::min(total.size(), now.size()), ' ') + now + "/" + total;
  } else {
    line += Cat(step, " steps");
  }
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  if (finished) {
    line += "  " + Format("%.1f s", seconds) + Format(", %.0f steps/s", static_cast<double>(step) / seconds);
  } else if (step > 0) {
    line += Format("  %.0f steps/s", static_cast<double>(step) / seconds);
    if (total_ > 0) line += "  ETA " + FormatSeconds(elapsed * (total_ - step) / step);
  }
  for (const auto& [name, value] : logs) line += Cat("  ", name, " ", Format("%.4f", value));
  return line;
}

void ProgressBar::Update(int64_t step, const Logs& logs) {
  if (!terminal_) return;
  const absl::Time now = absl::Now();
  if (now - last_ < absl::Milliseconds(100)) return;
  last_ = now;
  std::fprintf(out_, "\r%s\x1b[K", Line(step, logs, now - start_, false).c_str());
  std::fflush(out_);
}

void ProgressBar::Finish(int64_t step, const Logs& logs) {
  std::fprintf(out_, "%s%s%s\n", terminal_ ? "\r" : "", Line(step, logs, absl::Now() - start_, true).c_str(),
               terminal_ ? "\x1b[K" : "");
  std::fflush(out_);
}

}  // namespace weir::nn

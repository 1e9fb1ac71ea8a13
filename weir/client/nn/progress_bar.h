// ProgressBar: a line that is redrawn on a terminal; elsewhere, one plain line per epoch.
#ifndef WEIR_CLIENT_NN_PROGRESS_BAR_H_
#define WEIR_CLIENT_NN_PROGRESS_BAR_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {
namespace nn {

// Values to show, in order.
using Logs = std::vector<std::pair<std::string, double>>;

class ProgressBar {
 public:
  // `total` is the number of steps, -1 if unknown. `terminal`: whether lines of `out` can be redrawn.
  ProgressBar(std::FILE* out, std::string title, int64_t total, bool terminal);
  // Draws at most ten times a second.
  void Update(int64_t step, const Logs& logs);
  // Draws the final state and ends the line.
  void Finish(int64_t step, const Logs& logs);

  // The text of the line, `elapsed` after the start.
  std::string Line(int64_t step, const Logs& logs, absl::Duration elapsed, bool finished) const;

 private:
  std::FILE* out_;
  std::string title_;
  int64_t total_;
  bool terminal_;
  absl::Time start_;
  absl::Time last_;
};

// "1:05", "2:00:05"
std::string FormatSeconds(absl::Duration duration);

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_PROGRESS_BAR_H_

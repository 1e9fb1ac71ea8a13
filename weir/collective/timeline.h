// Timeline: the events of each name on a rank, for chrome://tracing or https://ui.perfetto.dev.
#ifndef WEIR_COLLECTIVE_TIMELINE_H_
#define WEIR_COLLECTIVE_TIMELINE_H_

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/base/status.h"

namespace weir::collective {

// Thread-safe.
class Timeline {
 public:
  ~Timeline() { Stop(); }
  Status Start(const std::string& path, int rank);
  void Stop();
  bool is_on() const;
  // Adds an event. Each name has a row of its own; times are those of absl::Now.
  void Add(std::string_view name, std::string_view event, absl::Time begin, absl::Time end);

 private:
  mutable absl::Mutex mu_;
  std::FILE* file_ ABSL_GUARDED_BY(mu_) = nullptr;
  int rank_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, int, std::less<>> rows_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_TIMELINE_H_

#include "weir/cli/bench_allreduce.h"

#include <algorithm>
#include <cstdio>

#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/process_group.h"

namespace weir {

Status BenchAllReduce(const std::vector<int64_t>& sizes, double seconds) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<collective::ProcessGroup> group, collective::ProcessGroup::Init());
  const collective::ReduceOptions sum{.op = collective::ReduceOp::kSum};
  std::string line;
  for (const int64_t bytes : sizes) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Zeros(DType::kFloat, Shape({bytes / 4})));
    for (int i = 0; i < 2; ++i) WEIR_RETURN_IF_ERROR(group->AllReduceInPlace(&value, sum));
    const int batch = bytes > (1 << 20) ? 1 : 20;
    std::vector<double> times;
    const absl::Time begun = absl::Now();
    for (bool go = true; go;) {
      WEIR_RETURN_IF_ERROR(group->Barrier());
      const int64_t start = absl::GetCurrentTimeNanos();
      for (int i = 0; i < batch; ++i) WEIR_RETURN_IF_ERROR(group->AllReduceInPlace(&value, sum));
      times.push_back(static_cast<double>(absl::GetCurrentTimeNanos() - start) * 1e-9 / batch);
      const int32_t more = absl::Now() - begun < absl::Seconds(seconds) ? 1 : 0;
      WEIR_ASSIGN_OR_RETURN(Tensor decided, group->Broadcast(Tensor::Scalar<int32_t>(more), 0));
      go = decided.scalar<int32_t>() != 0;
    }
    std::sort(times.begin(), times.end());
    char entry[128];
    std::snprintf(entry, sizeof(entry), "%s\"%lld\": [%.9f, %.9f, %zu]", line.empty() ? "" : ", ",
                  static_cast<long long>(bytes), times[0], times[times.size() / 2], times.size());
    line += entry;
  }
  if (group->rank() == 0) std::printf("{%s}\n", line.c_str());
  std::fflush(stdout);
  return group->Barrier();
}

}  // namespace weir

#include "weir/cli/bench_allreduce.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/client/collective_ops.h"
#include "weir/client/nn/layers.h"
#include "weir/client/nn/model.h"
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

Status BenchDistributedTraining(int64_t batch, double seconds) {
  WEIR_RETURN_IF_ERROR(collective::Init());
  nn::Model model(nn::Sequential({nn::Conv2D(12, 5, {.strides = 2, .padding = "same", .activation = "relu"}),
                                  nn::Conv2D(24, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
                                  nn::Flatten(), nn::Dense(64, {.activation = "relu"}), nn::Dense(10)}),
                  {{28, 28, 1}}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(
      model.Compile({.optimizer = collective::DistributedOptimizer(optimizer::GradientDescent({.learning_rate = 0.01})),
                     .loss = loss::SparseCategoricalCrossentropy()}));
  WEIR_RETURN_IF_ERROR(collective::BroadcastVariables(model.session(), model.variables()));
  std::vector<float> pixels(batch * 28 * 28);
  std::vector<int64_t> digits(batch);
  std::mt19937 random(1 + collective::Rank());
  for (float& pixel : pixels) pixel = static_cast<float>(random() % 1000) / 1000;
  for (int64_t& digit : digits) digit = static_cast<int64_t>(random() % 10);
  const nn::Batch data{{Tensor::FromSpan<float>(pixels, {batch, 28, 28, 1})},
                       Tensor::FromSpan<int64_t>(digits, {batch})};
  std::vector<double> times;
  const absl::Time begun = absl::Now();
  for (bool go = true; go;) {
    const int64_t start = absl::GetCurrentTimeNanos();
    WEIR_RETURN_IF_ERROR(model.TrainOnBatch(data).status());
    times.push_back(static_cast<double>(absl::GetCurrentTimeNanos() - start) * 1e-9);
    if (times.size() % 20 != 0) continue;
    const int32_t more = absl::Now() - begun < absl::Seconds(seconds) ? 1 : 0;
    WEIR_ASSIGN_OR_RETURN(Tensor decided, collective::Broadcast("more", Tensor::Scalar<int32_t>(more), 0));
    go = decided.scalar<int32_t>() != 0;
  }
  times.erase(times.begin(), times.begin() + 5);
  std::sort(times.begin(), times.end());
  if (collective::Rank() == 0) {
    std::printf("{\"step\": [%.9f, %.9f, %zu]}\n", times[0], times[times.size() / 2], times.size());
  }
  std::fflush(stdout);
  collective::Shutdown();
  return OkStatus();
}

}  // namespace weir

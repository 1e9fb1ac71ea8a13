// Measures all-reduces between the processes of a job.
#ifndef WEIR_CLI_BENCH_ALLREDUCE_H_
#define WEIR_CLI_BENCH_ALLREDUCE_H_

#include <cstdint>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// All-reduces floats of each size for this number of seconds. Rank 0 prints a line of JSON: the minimum, the median and
// the number of measurements in seconds, by size. Up to 1 MiB, a measurement is the mean of 20 consecutive calls.
Status BenchAllReduce(const std::vector<int64_t>& sizes, double seconds);

// Steps of a small convolutional network, data-parallel over the ranks; rank 0 prints {"step": [min, median, count]}.
Status BenchDistributedTraining(int64_t batch, double seconds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_ALLREDUCE_H_

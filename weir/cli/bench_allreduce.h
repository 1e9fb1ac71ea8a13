// The time that an all-reduce between the processes of a job takes.
#ifndef WEIR_CLI_BENCH_ALLREDUCE_H_
#define WEIR_CLI_BENCH_ALLREDUCE_H_

#include <cstdint>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// For every size, all-reduces floats for so many seconds. Rank 0 prints a line of JSON: the minimum, the median and the
// number of measurements in seconds, by size. Up to 1 MiB a measurement is the mean of 20 calls in a row.
Status BenchAllReduce(const std::vector<int64_t>& sizes, double seconds);

// Steps of a small convolutional network, data-parallel over the ranks; rank 0 prints {"step": [min, median, count]}.
Status BenchDistributedTraining(int64_t batch, double seconds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_ALLREDUCE_H_

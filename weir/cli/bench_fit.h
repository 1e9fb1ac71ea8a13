// What the training loop of nn::Model costs beside a bare loop over the same step.
#ifndef WEIR_CLI_BENCH_FIT_H_
#define WEIR_CLI_BENCH_FIT_H_

#include "weir/base/status.h"

namespace weir {

// Trains an MNIST CNN with batches of 64 by turns with Model::Fit (callbacks, progress bar) and with a loop that only
// runs the session's step, and prints the best time a step of each and their ratio.
Status BenchFit(int rounds);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_FIT_H_

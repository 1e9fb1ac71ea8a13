// What the training loop of nn::Model costs beside a bare loop over the same step.
#ifndef BENCHMARKS_MODELS_FIT_H_
#define BENCHMARKS_MODELS_FIT_H_

#include "weir/base/status.h"

namespace weir::bench {

// As Library::MeasureFit.
Status MeasureFit(int rounds);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_FIT_H_

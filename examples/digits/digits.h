// Handwriting of a kind, for machines without data.
#ifndef EXAMPLES_DIGITS_DIGITS_H_
#define EXAMPLES_DIGITS_DIGITS_H_

#include <cstdint>

#include "weir/client/examples.h"

namespace examples {

// The ten digits drawn with a pen of varying width, each example moved, turned, slanted, bent and strewn with noise:
// [count, 28, 28, 1] in [0, 1], as LoadMnist's. The same numbers give the same images everywhere.
weir::StatusOr<weir::ExampleSet> DrawDigits(int64_t count, int64_t seed);

}  // namespace examples

#endif  // EXAMPLES_DIGITS_DIGITS_H_

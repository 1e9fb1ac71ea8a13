// The gradient of a max pool over one image of floats, in two passes that write each element once: where the first
// largest element of every window is, and what goes back to each element of the image.
#ifndef WEIR_OPS_NN_MAX_POOL_PLACES_H_
#define WEIR_OPS_NN_MAX_POOL_PLACES_H_

#include "weir/ops/nn/window.h"

namespace weir::nn {

struct PoolImage {
  WindowAxis h, w;  // without dilation
  int64_t channels;
};

// The place of a window's first largest element, a number a channel: counted row by row over the part of the window
// that lies inside the image. What a window outside the image has is of no account.
void FindPlaces(const PoolImage& pool, const float* image, int32_t* places);

// Adds up, for every element of the image, the gradients of the windows whose place it is.
void GatherByPlaces(const PoolImage& pool, const int32_t* places, const float* gradient, float* to);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_MAX_POOL_PLACES_H_

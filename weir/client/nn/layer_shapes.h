// Shape checks that the layers share.
#ifndef WEIR_CLIENT_NN_LAYER_SHAPES_H_
#define WEIR_CLIENT_NN_LAYER_SHAPES_H_

#include <string>

#include "weir/client/nn/layer.h"

namespace weir::nn {

// The size of the last dimension, on which variables depend; if it is unknown, records an error in the scope and
// returns 1.
int64_t Channels(const Scope& scope, const Output& x, const std::string& layer);
// False, after recording an error, unless `x` has this rank.
bool HasRank(const Scope& scope, const Output& x, int rank, const std::string& layer);
// "SAME" for "same". Records an error for anything but that and "valid".
std::string PaddingName(const Scope& scope, const std::string& padding);

}  // namespace weir::nn

#endif  // WEIR_CLIENT_NN_LAYER_SHAPES_H_

// What the layers' sources share.
#ifndef WEIR_CLIENT_NN_LAYER_SHAPES_H_
#define WEIR_CLIENT_NN_LAYER_SHAPES_H_

#include <string>

#include "weir/client/nn/layer.h"

namespace weir::nn {

// The size of the last dimension, which variables depend on; an error is kept in the scope, and 1 given.
int64_t Channels(const Scope& scope, const Output& x, const std::string& layer);
// False, with an error kept, unless `x` has this rank.
bool HasRank(const Scope& scope, const Output& x, int rank, const std::string& layer);
// "SAME" of "same". An error is kept for what is neither that nor "valid".
std::string PaddingName(const Scope& scope, const std::string& padding);

}  // namespace weir::nn

#endif  // WEIR_CLIENT_NN_LAYER_SHAPES_H_

// Layouts of images, "NHWC" and others: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_DATA_FORMAT_H_
#define WEIR_OPS_NN_DATA_FORMAT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "weir/framework/kernel.h"

namespace weir::nn {

// Where each dimension of the source is in the destination.
inline StatusOr<std::vector<int>> ReadFormats(const KernelInit& init, std::string& from, std::string& to) {
  WEIR_ASSIGN_OR_RETURN(from, init.Attr<std::string>("src_format"));
  WEIR_ASSIGN_OR_RETURN(to, init.Attr<std::string>("dst_format"));
  if (from.size() != 4 && from.size() != 5) {
    return InvalidArgument("Source format must be of length 4 or 5, received src_format = ", from);
  }
  if (to.size() != 4 && to.size() != 5) {
    return InvalidArgument("Destination format must be of length 4 or 5, received dst_format = ", to);
  }
  if (!std::ranges::is_permutation(from, to)) {
    return InvalidArgument("Destination and source format must determine a permutation, got ", from, " and ", to);
  }
  std::vector<int> out;
  for (char dim : from) out.push_back(static_cast<int>(to.find(dim)));
  return out;
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_DATA_FORMAT_H_

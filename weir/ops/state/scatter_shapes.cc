#include "weir/ops/state/scatter_rows.h"

namespace weir::state {

Status CheckScatterRows(bool is_ref, ScatterOp op, const Shape& params, const Shape& indices, const Shape& updates) {
  if (is_ref && params.rank() < 1) return InvalidArgument("params must be at least 1-D, got shape ", params.ToString());
  if (updates.rank() == 0) {
    if (params.rank() < 1) return InvalidArgument("params must be at least 1-D, got shape ", params.ToString());
    return OkStatus();
  }
  if (!is_ref && indices.num_elements() == 0) return OkStatus();  // nothing is looked at
  if (!is_ref && op == ScatterOp::kUpdate &&
      (updates.rank() < indices.rank() || updates.Slice(0, indices.rank()) != indices)) {
    return InvalidArgument("The shape of indices (", indices.ToString(), ") must be a prefix of the shape of updates (",
                           updates.ToString(), ")");
  }
  bool fits = params.rank() >= 1;
  if (fits) {
    auto expected = indices.Concat(params.Slice(1, params.rank()));
    fits = expected.ok() && *expected == updates;
  }
  if (fits) return OkStatus();
  return InvalidArgument("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ",
                         "updates.shape ", updates.ToString(), ", indices.shape ", indices.ToString(),
                         ", params.shape ", params.ToString());
}

Status CheckScatterSlices(const Shape& params, const Shape& indices, const Shape& updates) {
  if (params.rank() < 1) return InvalidArgument("Output must be at least 1-D, got shape: ", params.ToString());
  if (indices.rank() < 1) {
    return InvalidArgument("Indices shape must have rank at least one. Found:", indices.ToString());
  }
  bool nothing = indices.num_elements() == 0 && updates.num_elements() == 0;
  if (!nothing && (params.num_elements() == 0 || indices.num_elements() == 0)) {
    return InvalidArgument("Indices and updates specified for empty output.  indices shape: ", indices.ToString());
  }
  int outer = indices.rank() > 1 ? indices.rank() - 1 : 1;
  int64_t depth = indices.rank() > 1 ? indices.dim(outer) : 1;
  for (int i = 0; i < outer; ++i) {
    if (i >= updates.rank() || indices.dim(i) != updates.dim(i)) {
      return InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", indices.ToString(), "] = ", indices.dim(i),
                             " must match dimensions [0,", outer, ") of updates[shape=", updates.ToString(),
                             "] = ", i < updates.rank() ? Cat(updates.dim(i)) : std::string("nothing"));
    }
  }
  bool fits = depth <= params.rank() && params.rank() - depth == updates.rank() - outer;
  if (fits) fits = params.Slice(static_cast<int>(depth), params.rank()) == updates.Slice(outer, updates.rank());
  if (!fits) {
    return InvalidArgument("Dimensions [", depth, ",", params.rank(), ") of input[shape=", params.ToString(),
                           "] must match dimensions [", outer, ",", updates.rank(),
                           ") of updates[shape=", updates.ToString(), "]");
  }
  return OkStatus();
}

StatusOr<bool> IgnoresBadIndices(const KernelInit& init) {
  if (!init.HasAttr("bad_indices_policy")) return false;
  WEIR_ASSIGN_OR_RETURN(std::string policy, init.Attr<std::string>("bad_indices_policy"));
  if (!policy.empty() && policy != "DEFAULT" && policy != "ERROR" && policy != "IGNORE") {
    return InvalidArgument("Unknown bad indices handling attribute: ", policy);
  }
  return policy == "IGNORE";
}

}  // namespace weir::state

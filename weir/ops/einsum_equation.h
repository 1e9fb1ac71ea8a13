// The equation of an Einsum: "ij,jk->ik", with "..." for dimensions that broadcast.
#ifndef WEIR_OPS_EINSUM_EQUATION_H_
#define WEIR_OPS_EINSUM_EQUATION_H_

#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// Labels of axes: letters are their own code, broadcasting axes (from the last one, 0) are negative.
using EinsumLabels = std::vector<int>;
inline int BroadcastLabel(int from_last) { return -1 - from_last; }

class EinsumEquation {
 public:
  static StatusOr<EinsumEquation> Parse(std::string_view equation);

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  // The labels of input `i`, one for each of its `rank` axes.
  StatusOr<EinsumLabels> InputLabels(int i, int rank) const;
  // Broadcasting axes of input `i`. REQUIRES: InputLabels has accepted the rank.
  int BroadcastRank(int i, int rank) const;
  // The labels of the output if the inputs have `broadcast_rank` broadcasting axes together.
  StatusOr<EinsumLabels> OutputLabels(int broadcast_rank) const;

 private:
  struct Subscripts {
    EinsumLabels before, after;  // around the ellipsis; without one all are before
    bool has_ellipsis = false;
    int num_letters() const { return static_cast<int>(before.size() + after.size()); }
    EinsumLabels Expand(int broadcast_rank) const;
  };
  static StatusOr<Subscripts> ParseSubscripts(std::string_view text, std::string_view equation);

  std::vector<Subscripts> inputs_;
  Subscripts output_;
};

}  // namespace weir

#endif  // WEIR_OPS_EINSUM_EQUATION_H_

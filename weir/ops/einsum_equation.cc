#include "weir/ops/einsum_equation.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace weir {

StatusOr<EinsumEquation> EinsumEquation::Parse(std::string_view equation) {
  const size_t arrow = equation.find("->");
  if (arrow == equation.npos || equation.find("->", arrow + 2) != equation.npos) {
    return InvalidArgument("Expecting exactly one '->' in einsum equation: ", equation);
  }
  EinsumEquation out;
  const std::string left(equation.substr(0, arrow));
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(left, ','))) {
    WEIR_ASSIGN_OR_RETURN(Subscripts subscripts, ParseSubscripts(text, equation));
    out.inputs_.push_back(std::move(subscripts));
  }
  if (out.inputs_.size() > 2) {
    return InvalidArgument("Expecting 1 or 2 input subscripts in equation '", equation,
                           "' but got: ", out.inputs_.size());
  }
  WEIR_ASSIGN_OR_RETURN(out.output_, ParseSubscripts(equation.substr(arrow + 2), equation));
  for (const EinsumLabels* labels : {&out.output_.before, &out.output_.after}) {
    for (int label : *labels) {
      const bool is_known = std::ranges::any_of(out.inputs_, [&](const Subscripts& in) {
        return std::ranges::count(in.before, label) + std::ranges::count(in.after, label) > 0;
      });
      if (!is_known) {
        return InvalidArgument("Label '", std::string(1, static_cast<char>(label)),
                               "' of the output is in no input of the einsum equation: ", equation);
      }
    }
  }
  return out;
}

StatusOr<EinsumEquation::Subscripts> EinsumEquation::ParseSubscripts(std::string_view text, std::string_view equation) {
  Subscripts out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      if (out.has_ellipsis)
        return InvalidArgument("More than one ellipsis in subscripts of einsum equation: ", equation);
      out.has_ellipsis = true;
      i += 2;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(text[i]))) {
      (out.has_ellipsis ? out.after : out.before).push_back(text[i]);
    } else {
      return InvalidArgument("Invalid character '", std::string(1, text[i]), "' in einsum equation: ", equation);
    }
  }
  return out;
}

EinsumLabels EinsumEquation::Subscripts::Expand(int broadcast_rank) const {
  EinsumLabels out = before;
  for (int i = broadcast_rank - 1; i >= 0; --i) out.push_back(BroadcastLabel(i));
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

StatusOr<EinsumLabels> EinsumEquation::InputLabels(int i, int rank) const {
  const Subscripts& in = inputs_[i];
  if (in.has_ellipsis ? rank < in.num_letters() : rank != in.num_letters()) {
    return InvalidArgument("Expected input ", i, " to have rank ", in.has_ellipsis ? "at least " : "", in.num_letters(),
                           " but got: ", rank);
  }
  return in.Expand(rank - in.num_letters());
}

int EinsumEquation::BroadcastRank(int i, int rank) const { return rank - inputs_[i].num_letters(); }

StatusOr<EinsumLabels> EinsumEquation::OutputLabels(int broadcast_rank) const {
  if (broadcast_rank > 0 && !output_.has_ellipsis) {
    return InvalidArgument("Output contains ", broadcast_rank,
                           " broadcasting dimension(s) but no ellipsis (...) was found in the output subscripts.");
  }
  return output_.Expand(broadcast_rank);
}

}  // namespace weir

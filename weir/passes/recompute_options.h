// Which activations the backward pass computes again instead of keeping them.
#ifndef WEIR_PASSES_RECOMPUTE_OPTIONS_H_
#define WEIR_PASSES_RECOMPUTE_OPTIONS_H_

#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

// The attribute of marked nodes, TensorFlow's. Its value names the block that a node belongs to.
inline constexpr char kRecomputeHint[] = "_recompute_hint";

enum class Recomputation {
  kNone,
  kMarked,  // blocks of marked nodes (Scope::WithRecomputation, nn::Recomputed)
  kChosen,  // those, and what is cheap to compute where that saves memory
};
// "none", "marked" or "chosen"; INVALID_ARGUMENT for other names.
StatusOr<Recomputation> ParseRecomputation(std::string_view name);
std::string_view Name(Recomputation recomputation);

struct RecomputeOptions {
  Recomputation what = Recomputation::kNone;
  // A node belongs to the backward pass if a part of its name begins with this: "gradients_1/MatMul_grad/MatMul".
  // So do those in a scope "gradient_tape", which TensorFlow's functions have.
  std::string gradient_scope = "gradients";
};

}  // namespace weir

#endif  // WEIR_PASSES_RECOMPUTE_OPTIONS_H_

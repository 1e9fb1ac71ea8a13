// Which update rules device code has, by the ops that follow them.
#ifndef WEIR_OPS_TRAIN_CUDA_UPDATE_RULES_H_
#define WEIR_OPS_TRAIN_CUDA_UPDATE_RULES_H_

#include <span>
#include <string_view>

namespace weir::cuda {

inline constexpr char kUpdateSource[] = "weir/ops/train/cuda/optimizer.cu";

struct UpdateRule {
  const char* op;
  const char* name;  // of the rule's template
  int num_states;
  const char* flag;  // attribute; null if there is none
};

std::span<const UpdateRule> UpdateRules();
const UpdateRule* FindUpdateRule(std::string_view op);  // null if there is none

}  // namespace weir::cuda

#endif  // WEIR_OPS_TRAIN_CUDA_UPDATE_RULES_H_

// The words for op traits in op tables, shared by the parser and the formatter.
#ifndef WEIR_FRAMEWORK_OP_TRAIT_NAMES_H_
#define WEIR_FRAMEWORK_OP_TRAIT_NAMES_H_

#include <string_view>

#include "weir/framework/op_schema.h"

namespace weir {

struct OpFlag {
  std::string_view name;
  bool OpSchema::*member;
};
inline constexpr OpFlag kOpFlags[] = {
    {"stateful", &OpSchema::is_stateful},
    {"commutative", &OpSchema::is_commutative},
    {"aggregate", &OpSchema::is_aggregate},
    {"allows_uninitialized_input", &OpSchema::allows_uninitialized_input},
    {"distributed_communication", &OpSchema::is_distributed_communication},
    {"elementwise", &OpSchema::is_elementwise},
    {"broadcasts", &OpSchema::broadcasts},
    {"reduction", &OpSchema::is_reduction},
    {"rowwise", &OpSchema::is_rowwise},
    {"recomputable", &OpSchema::is_recomputable},
    {"activation", &OpSchema::is_activation},
    {"view", &OpSchema::is_view},
    {"only_variables", &OpSchema::only_variables},
};

template <typename Value>
struct NamedValue {
  std::string_view name;
  Value value;
};
inline constexpr NamedValue<Waiting> kWaitingNames[] = {
    {"prompt", Waiting::kPrompt}, {"wakes", Waiting::kWakes}, {"may_wait", Waiting::kMayWait}};
inline constexpr NamedValue<OpCost> kCostNames[] = {
    {"free", OpCost::kFree}, {"cheap", OpCost::kCheap}, {"transcendental", OpCost::kTranscendental}};
inline constexpr NamedValue<Contraction> kContractionNames[] = {{"product", Contraction::kProduct},
                                                                {"batch_product", Contraction::kBatchProduct},
                                                                {"convolution", Contraction::kConvolution}};
inline constexpr NamedValue<MixedPrecision> kMixedPrecisionNames[] = {{"allow", MixedPrecision::kAllow},
                                                                      {"infer", MixedPrecision::kInfer},
                                                                      {"clear", MixedPrecision::kClear},
                                                                      {"deny", MixedPrecision::kDeny}};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_TRAIT_NAMES_H_

#include "weir/ops/train/cuda/update_rules.h"

#include <algorithm>

namespace weir::cuda {
namespace {

constexpr char kNesterov[] = "use_nesterov", kSlots[] = "update_slots", kLinear[] = "multiply_linear_by_lr";

constexpr UpdateRule kRules[] = {
    {"ApplyGradientDescent", "GradientDescent", 1, nullptr},
    {"ResourceApplyGradientDescent", "GradientDescent", 1, nullptr},
    {"ApplyMomentum", "Momentum", 2, kNesterov},
    {"ResourceApplyMomentum", "Momentum", 2, kNesterov},
    {"ResourceApplyKerasMomentum", "KerasMomentum", 2, kNesterov},
    {"ResourceSparseApplyKerasMomentum", "KerasMomentum", 2, kNesterov},
    {"ApplyAddSign", "AddSign", 2, nullptr},
    {"ResourceApplyAddSign", "AddSign", 2, nullptr},
    {"ApplyPowerSign", "PowerSign", 2, nullptr},
    {"ResourceApplyPowerSign", "PowerSign", 2, nullptr},
    {"ApplyAdagrad", "Adagrad", 2, kSlots},
    {"ResourceApplyAdagrad", "Adagrad", 2, kSlots},
    {"SparseApplyAdagrad", "Adagrad", 2, kSlots},
    {"ResourceSparseApplyAdagrad", "Adagrad", 2, kSlots},
    {"ApplyAdagradV2", "AdagradV2", 2, kSlots},
    {"ResourceApplyAdagradV2", "AdagradV2", 2, kSlots},
    {"SparseApplyAdagradV2", "AdagradV2", 2, kSlots},
    {"ResourceSparseApplyAdagradV2", "AdagradV2", 2, kSlots},
    {"ApplyAdadelta", "Adadelta", 3, nullptr},
    {"ResourceApplyAdadelta", "Adadelta", 3, nullptr},
    {"SparseApplyAdadelta", "Adadelta", 3, nullptr},
    {"ResourceSparseApplyAdadelta", "Adadelta", 3, nullptr},
    {"ApplyAdam", "Adam", 3, kNesterov},
    {"ResourceApplyAdam", "Adam", 3, kNesterov},
    {"ResourceApplyAdamWithAmsgrad", "AdamWithAmsgrad", 4, nullptr},
    {"ApplyAdaMax", "AdaMax", 3, nullptr},
    {"ResourceApplyAdaMax", "AdaMax", 3, nullptr},
    {"ApplyFtrl", "Ftrl", 3, kLinear},
    {"ResourceApplyFtrl", "Ftrl", 3, kLinear},
    {"SparseApplyFtrl", "Ftrl", 3, kLinear},
    {"ResourceSparseApplyFtrl", "Ftrl", 3, kLinear},
    {"ApplyFtrlV2", "FtrlV2", 3, kLinear},
    {"ResourceApplyFtrlV2", "FtrlV2", 3, kLinear},
    {"SparseApplyFtrlV2", "FtrlV2", 3, kLinear},
    {"ResourceSparseApplyFtrlV2", "FtrlV2", 3, kLinear},
    {"ApplyProximalAdagrad", "ProximalAdagrad", 2, nullptr},
    {"ResourceApplyProximalAdagrad", "ProximalAdagrad", 2, nullptr},
    {"SparseApplyProximalAdagrad", "ProximalAdagrad", 2, nullptr},
    {"ResourceSparseApplyProximalAdagrad", "ProximalAdagrad", 2, nullptr},
    {"ApplyRMSProp", "RmsProp", 3, nullptr},
    {"ResourceApplyRMSProp", "RmsProp", 3, nullptr},
    {"ApplyCenteredRMSProp", "CenteredRmsProp", 4, nullptr},
    {"ResourceApplyCenteredRMSProp", "CenteredRmsProp", 4, nullptr},
};

}  // namespace

std::span<const UpdateRule> UpdateRules() { return kRules; }

const UpdateRule* FindUpdateRule(std::string_view op) {
  const auto* found = std::ranges::find(kRules, op, &UpdateRule::op);
  return found != std::end(kRules) ? found : nullptr;
}

}  // namespace weir::cuda

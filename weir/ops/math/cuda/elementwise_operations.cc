#include "weir/ops/math/cuda/elementwise_operations.h"

#include <algorithm>

#include "weir/device/cpu/float_loops.h"

namespace weir::cuda {
namespace {

constexpr ElementwiseOperation kOperations[] = {
    {"Abs", "Abs"},
    {"Acos", "Acos"},
    {"Acosh", "Acosh"},
    {"Add", "Add"},
    {"AddV2", "AddV2"},
    {"Angle", "Angle"},
    {"Asin", "Asin"},
    {"Asinh", "Asinh"},
    {"Atan", "Atan"},
    {"Atan2", "Atan2"},
    {"Atanh", "Atanh"},
    {"BitwiseAnd", "BitwiseAnd"},
    {"BitwiseOr", "BitwiseOr"},
    {"BitwiseXor", "BitwiseXor"},
    {"Ceil", "Ceil"},
    {"ClipByValue", "ClipByValue"},
    {"Complex", "Complex"},
    {"ComplexAbs", "ComplexAbs"},
    {"Conj", "Conj"},
    {"Cos", "Cos"},
    {"Cosh", "Cosh"},
    {"Div", "Div"},
    {"DivNoNan", "DivNoNan"},
    {"Elu", "Elu"},
    {"Equal", "Equal"},
    {"Erf", "Erf"},
    {"Erfc", "Erfc"},
    {"Erfinv", "Erfinv"},
    {"Exp", "Exp"},
    {"Expm1", "Expm1"},
    {"Floor", "Floor"},
    {"FloorDiv", "FloorDiv"},
    {"FloorMod", "FloorMod"},
    {"Greater", "Greater"},
    {"GreaterEqual", "GreaterEqual"},
    {"Imag", "Imag"},
    {"Inv", "Inv"},
    {"Invert", "Invert"},
    {"IsFinite", "IsFinite"},
    {"IsInf", "IsInf"},
    {"LeftShift", "LeftShift"},
    {"Less", "Less"},
    {"LessEqual", "LessEqual"},
    {"Lgamma", "Lgamma"},
    {"Log", "Log"},
    {"Log1p", "Log1p"},
    {"LogicalAnd", "LogicalAnd"},
    {"LogicalNot", "LogicalNot"},
    {"LogicalOr", "LogicalOr"},
    {"Maximum", "Maximum"},
    {"Minimum", "Minimum"},
    {"Mod", "Mod"},
    {"Mul", "Mul"},
    {"MulNoNan", "MulNoNan"},
    {"Ndtri", "Ndtri"},
    {"Neg", "Neg"},
    {"NextAfter", "NextAfter"},
    {"NotEqual", "NotEqual"},
    {"OnesLike", "OnesLike"},
    {"PopulationCount", "PopulationCount"},
    {"Pow", "Pow"},
    {"Real", "Real"},
    {"RealDiv", "RealDiv"},
    {"Reciprocal", "Reciprocal"},
    {"Relu", "Relu"},
    {"Relu6", "Relu6"},
    {"RightShift", "RightShift"},
    {"Rint", "Rint"},
    {"Round", "Round"},
    {"Rsqrt", "Rsqrt"},
    {"Selu", "Selu"},
    {"Sigmoid", "Sigmoid"},
    {"Sign", "Sign"},
    {"Sin", "Sin"},
    {"Sinh", "Sinh"},
    {"Softplus", "Softplus"},
    {"Softsign", "Softsign"},
    {"Sqrt", "Sqrt"},
    {"Square", "Square"},
    {"SquaredDifference", "SquaredDifference"},
    {"Sub", "Sub"},
    {"Tan", "Tan"},
    {"Tanh", "Tanh"},
    {"TruncateDiv", "TruncateDiv"},
    {"TruncateMod", "TruncateMod"},
    {"Xdivy", "Xdivy"},
    {"Xlog1py", "Xlog1py"},
    {"Xlogy", "Xlogy"},
    {"ZerosLike", "ZerosLike"},
    {"IsNan", "IsNanOp"},
    {"EluGrad", "EluGrad", false},
    {"InvGrad", "InvGrad", false},
    {"ReciprocalGrad", "ReciprocalGrad", false},
    {"Relu6Grad", "Relu6Grad", false},
    {"ReluGrad", "ReluGrad", false},
    {"RsqrtGrad", "RsqrtGrad", false},
    {"SeluGrad", "SeluGrad", false},
    {"SigmoidGrad", "SigmoidGrad", false},
    {"SoftplusGrad", "SoftplusGrad", false},
    {"SoftsignGrad", "SoftsignGrad", false},
    {"SqrtGrad", "SqrtGrad", false},
    {"TanhGrad", "TanhGrad", false},
    {"Digamma", "Digamma", true, "gamma.cuh"},
    {"Igamma", "Igamma", true, "gamma.cuh"},
    {"Igammac", "Igammac", true, "gamma.cuh"},
    {"IgammaGradA", "IgammaGradA", true, "gamma.cuh"},
    {"RandomGammaGrad", "RandomGammaGrad", true, "gamma.cuh"},
    {"Zeta", "Zeta", true, "gamma.cuh"},
    {"Polygamma", "Polygamma", true, "gamma.cuh"},
    {"Betainc", "Betainc", true, "gamma.cuh"},
    {"BesselI0", "BesselI0", true, "bessel.cuh"},
    {"BesselI0e", "BesselI0e", true, "bessel.cuh"},
    {"BesselI1", "BesselI1", true, "bessel.cuh"},
    {"BesselI1e", "BesselI1e", true, "bessel.cuh"},
    {"BesselK0", "BesselK0", true, "bessel.cuh"},
    {"BesselK0e", "BesselK0e", true, "bessel.cuh"},
    {"BesselK1", "BesselK1", true, "bessel.cuh"},
    {"BesselK1e", "BesselK1e", true, "bessel.cuh"},
    {"BesselJ0", "BesselJ0", true, "bessel.cuh"},
    {"BesselJ1", "BesselJ1", true, "bessel.cuh"},
    {"BesselY0", "BesselY0", true, "bessel.cuh"},
    {"BesselY1", "BesselY1", true, "bessel.cuh"},
    {"Dawsn", "Dawsn", true, "special.cuh"},
    {"Expint", "Expint", true, "special.cuh"},
    {"FresnelSin", "FresnelSin", true, "special.cuh"},
    {"FresnelCos", "FresnelCos", true, "special.cuh"},
    {"Spence", "Spence", true, "special.cuh"},
};

// The types that values of a generated program may have.
bool IsProgramType(DType dtype) {
  constexpr DType kTypes[] = {DType::kFloat,  DType::kHalf,   DType::kBFloat16, DType::kDouble, DType::kBool,
                              DType::kInt8,   DType::kInt16,  DType::kInt32,    DType::kInt64,  DType::kUInt8,
                              DType::kUInt16, DType::kUInt32, DType::kUInt64};
  return std::ranges::count(kTypes, dtype) > 0;
}
bool IsArithmeticType(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16 || dtype == DType::kDouble;
}
bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::ranges::count(ops, op) > 0;
}

}  // namespace

bool FitsFusedProgram(std::string_view op, std::span<const DType> operands, DType result) {
  if (!IsProgramType(result) || !std::ranges::all_of(operands, IsProgramType)) return false;
  const size_t count = operands.size();
  auto all_are = [&](DType dtype) { return std::ranges::count(operands, dtype) == std::ssize(operands); };
  if (op == "Cast") return count == 1;
  if (op == "BiasAdd") return count == 2 && IsArithmeticType(result) && all_are(result);
  if (op == "SelectV2") {
    return count == 3 && operands[0] == DType::kBool && operands[1] == result && operands[2] == result;
  }
  if (IsOneOf(op, {"LogicalAnd", "LogicalOr"})) return count == 2 && all_are(DType::kBool) && result == DType::kBool;
  if (op == "LogicalNot") return count == 1 && all_are(DType::kBool) && result == DType::kBool;
  if (IsOneOf(op, {"IsFinite", "IsInf", "IsNan"})) {
    return count == 1 && IsArithmeticType(operands[0]) && result == DType::kBool;
  }
  if (IsOneOf(op, {"Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"})) {
    // Those of int32 are the host's.
    return count == 2 && operands[0] == operands[1] && operands[0] != DType::kInt32 && result == DType::kBool;
  }
  const ElementwiseOperation* known = FindElementwiseOperation(op);
  if (known == nullptr || std::string_view(known->include) != "elementwise.cuh") return false;
  // What floats have a loop for on the host needs no attributes, takes one or two of a type and gives that.
  const std::optional<FloatLoop> loop = FindFloatLoop(op);
  if (!loop || count != (loop->unary != nullptr ? 1 : loop->binary != nullptr ? 2 : 0)) return false;
  return IsArithmeticType(result) && all_are(result);
}

std::span<const ElementwiseOperation> ElementwiseOperations() { return kOperations; }

const ElementwiseOperation* FindElementwiseOperation(std::string_view op) {
  auto found = std::ranges::find_if(kOperations, [&](const ElementwiseOperation& each) { return each.op == op; });
  return found == std::end(kOperations) ? nullptr : &*found;
}

}  // namespace weir::cuda

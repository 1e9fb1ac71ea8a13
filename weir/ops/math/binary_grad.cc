// Gradients of elementwise functions of two numbers, with broadcasting.
#include "weir/autodiff/emit.h"
#include "weir/ops/math/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The gradients of both operands, before they are summed over what was broadcast; an empty one is none. The operands
// are conjugated.
using Derivatives = std::pair<Value, Value> (*)(Value x, Value y, Value dz);

void AddBinary(GradientRegistry& r, std::string_view op, Derivatives derivatives) {
  r.Add(op, [derivatives](G& g) -> Gradients {
    auto [dx, dy] = derivatives(Conj(g.input(0)), Conj(g.input(1)), g.grad());
    return SumToOperands(g.input(0), g.input(1), dx, dy);
  });
}

void AddArithmetic(GradientRegistry& r) {
  for (const char* op : {"Add", "AddV2"}) {
    AddBinary(r, op, [](Value, Value, Value dz) { return std::pair(dz, dz); });
  }
  AddBinary(r, "Sub", [](Value, Value, Value dz) { return std::pair(dz, -dz); });
  AddBinary(r, "Mul", [](Value x, Value y, Value dz) { return std::pair(dz * y, x * dz); });
  AddBinary(r, "MulNoNan",
            [](Value x, Value y, Value dz) { return std::pair(Binary("MulNoNan", dz, y), Binary("MulNoNan", x, dz)); });
  for (const char* op : {"Div", "RealDiv"}) {
    AddBinary(r, op, [](Value x, Value y, Value dz) { return std::pair(dz / y, dz * ((-x / y) / y)); });
  }
  AddBinary(r, "DivNoNan", [](Value x, Value y, Value dz) {
    auto divide = [](Value a, Value b) { return Binary("DivNoNan", a, b); };
    return std::pair(divide(dz, y), dz * divide(divide(-x, y), y));
  });
  AddBinary(r, "FloorMod", [](Value x, Value y, Value dz) { return std::pair(dz, dz * -Binary("FloorDiv", x, y)); });
  AddBinary(r, "SquaredDifference", [](Value x, Value y, Value dz) {
    Value dx = (2.0 * dz) * (x - y);
    return std::pair(dx, -dx);
  });
  // Steps: nothing flows.
  for (const char* op : {"FloorDiv", "TruncateDiv"}) {
    r.Add(op, [](G&) -> Gradients { return {}; });
  }
}

void AddExtremes(GradientRegistry& r) {
  // At a tie all of it goes to x.
  r.Add("Maximum", [](G& g) -> Gradients {
    Value x = g.input(0), y = g.input(1), dz = g.grad(), zero = ZerosLike(dz);
    Value mask = Binary("GreaterEqual", x, y);
    return SumToOperands(x, y, Select(mask, dz, zero), Select(mask, zero, dz));
  });
  r.Add("Minimum", [](G& g) -> Gradients {
    Value x = g.input(0), y = g.input(1), dz = g.grad(), zero = ZerosLike(dz);
    Value mask = Binary("LessEqual", x, y);
    return SumToOperands(x, y, Select(mask, dz, zero), Select(mask, zero, dz));
  });
  r.Add("NextAfter", [](G& g) -> Gradients {
    Value dz = g.grad();
    return SumToOperands(g.input(0), g.input(1), dz, ZerosLike(dz));
  });
  r.Add("ClipByValue", [](G& g) -> Gradients {
    Value x = g.input(0), low = g.input(1), high = g.input(2), dz = g.grad(), zero = ZerosLike(dz);
    Value below = Binary("Less", x, low), above = Binary("Greater", x, high);
    Value inside = Select(Binary("LogicalOr", below, above), zero, dz);
    return {inside, SumToShapeOf(Select(below, dz, zero), low, x), SumToShapeOf(Select(above, dz, zero), high, x)};
  });
}

void AddPowers(GradientRegistry& r) {
  r.Add("Pow", [](G& g) -> Gradients {
    Value x = Conj(g.input(0)), y = Conj(g.input(1)), z = Conj(g.output(0)), dz = g.grad();
    Value dx = dz * y * Binary("Pow", x, y - 1.0);
    // The logarithm is taken only where it exists, so that no NaN comes from the other side.
    Value zero = Scalar(x, 0);
    Value mask = Binary(IsComplex(x.dtype()) ? "NotEqual" : "Greater", x, zero);
    Value log = Select(mask, Unary("Log", Select(mask, x, OnesLike(x))), ZerosLike(x));
    return SumToOperands(g.input(0), g.input(1), dx, dz * z * log);
  });
  AddBinary(r, "Atan2", [](Value y, Value x, Value dz) {
    Value scaled = dz / (Unary("Square", x) + Unary("Square", y));
    return std::pair(x * scaled, -y * scaled);
  });
  auto not_zero = [](Value x) { return Cast(Binary("NotEqual", x, Scalar(x, 0)), x.dtype()); };
  r.Add("Xlogy", [not_zero](G& g) -> Gradients {
    Value x = Conj(g.input(0)), y = Conj(g.input(1)), dz = g.grad();
    return SumToOperands(g.input(0), g.input(1), Binary("Xlogy", not_zero(x), y) * dz, Binary("Xdivy", x, y) * dz);
  });
  r.Add("Xlog1py", [not_zero](G& g) -> Gradients {
    Value x = Conj(g.input(0)), y = Conj(g.input(1)), dz = g.grad();
    return SumToOperands(g.input(0), g.input(1), Binary("Xlog1py", not_zero(x), y) * dz,
                         Binary("Xdivy", x, y + 1.0) * dz);
  });
  r.Add("Xdivy", [not_zero](G& g) -> Gradients {
    Value x = Conj(g.input(0)), y = Conj(g.input(1)), dz = g.grad();
    return SumToOperands(g.input(0), g.input(1), Binary("Xdivy", not_zero(x), y) * dz,
                         Binary("Xdivy", -x, Unary("Square", y)) * dz);
  });
}

void AddChoices(GradientRegistry& r) {
  r.Add("AddN", [](G& g) -> Gradients { return Gradients(g.num_inputs(), g.raw_grad()); });
  r.Add("Select", [](G& g) -> Gradients {
    Value zero = ZerosLike(g.input(1)), dz = g.grad();
    return {{}, g.Op("Select", {g.input(0), dz, zero}), g.Op("Select", {g.input(0), zero, dz})};
  });
  r.Add("SelectV2", [](G& g) -> Gradients {
    Value condition = g.input(0), dz = g.grad(), zero = Scalar(dz, 0);
    return {{},
            SumToShapeOf(Select(condition, dz, zero), g.input(1), g.output(0)),
            SumToShapeOf(Select(condition, zero, dz), g.input(2), g.output(0))};
  });
  r.Add("Cross", [](G& g) -> Gradients {
    Value dz = g.grad();
    return {Binary("Cross", g.input(1), dz), Binary("Cross", dz, g.input(0))};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterBinaryGradients(GradientRegistry& r) {
  emit::AddArithmetic(r);
  emit::AddExtremes(r);
  emit::AddPowers(r);
  emit::AddChoices(r);
}

}  // namespace weir

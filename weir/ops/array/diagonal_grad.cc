// Gradients of making, reading and setting diagonals.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Of MatrixDiagV2 and V3: the diagonals that were set.
GradientFunction MakeGradient(const char* part) {
  return [part](G& g) -> Gradients { return {g.OpLike(part, {g.grad(), g.input(1), Scalar(g.grad(), 0)}, {"align"})}; };
}

// Of MatrixDiagPartV2 and V3: zeros with the diagonals in their places.
GradientFunction PartGradient(const char* set) {
  return [set](G& g) -> Gradients { return {g.OpLike(set, {ZerosLike(g.input(0)), g.grad(), g.input(1)}, {"align"})}; };
}

// Of MatrixSetDiagV2 and V3.
GradientFunction SetGradient(const char* set, const char* part) {
  return [set, part](G& g) -> Gradients {
    Value flow = g.grad(), k = g.input(2);
    return {g.OpLike(set, {flow, ZerosLike(g.input(1)), k}, {"align"}),
            g.OpLike(part, {flow, k, Scalar(flow, 0)}, {"align"})};
  };
}

void AddAll(GradientRegistry& r) {
  r.Add("Diag", [](G& g) -> Gradients { return {Unary("DiagPart", g.grad())}; });
  r.Add("DiagPart", [](G& g) -> Gradients { return {Unary("Diag", g.grad())}; });
  r.Add("MatrixDiag", [](G& g) -> Gradients { return {Unary("MatrixDiagPart", g.grad())}; });
  r.Add("MatrixDiagPart", [](G& g) -> Gradients { return {Binary("MatrixSetDiag", ZerosLike(g.input(0)), g.grad())}; });
  r.Add("MatrixSetDiag", [](G& g) -> Gradients {
    return {Binary("MatrixSetDiag", g.grad(), ZerosLike(g.input(1))), Unary("MatrixDiagPart", g.grad())};
  });
  for (const char* version : {"V2", "V3"}) {
    const bool third = std::string_view(version) == "V3";
    const char* part = third ? "MatrixDiagPartV3" : "MatrixDiagPartV2";
    const char* set = third ? "MatrixSetDiagV3" : "MatrixSetDiagV2";
    r.Add(Cat("MatrixDiag", version), MakeGradient(part));
    r.Add(part, PartGradient(set));
    r.Add(set, SetGradient(set, part));
  }
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterDiagonalGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir

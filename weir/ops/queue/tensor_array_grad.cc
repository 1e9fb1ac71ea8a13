// Gradients of TensorArrays: each has a second array of gradients, found by its handle and the source of the gradients.
// What flows along is the float `flow`, which only orders the accesses.
#include "weir/autodiff/emit.h"
#include "weir/ops/queue/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

struct GradientArray {
  Value handle;
  Value flow;
};

GradientArray Open(G& g, Value handle, Value flow) {
  if (handle && handle.dtype() == DType::kString) {
    return {g.Op("TensorArrayGradV2", {handle, flow}, {{"source", g.emitter().source()}}), flow};
  }
  Values out = g.Outputs("TensorArrayGradV3", {handle, flow}, {{"source", g.emitter().source()}});
  return {out[0], out[1]};
}

void AddElements(GradientRegistry& r) {
  r.Add("TensorArrayReadV3", [](G& g) -> Gradients {
    GradientArray array = Open(g, g.input(0), g.input(2));
    return {{}, {}, g.Op("TensorArrayWriteV3", {array.handle, g.input(1), g.grad(), array.flow})};
  });
  r.Add("TensorArrayWriteV3", [](G& g) -> Gradients {
    Value flow = g.grad();
    GradientArray array = Open(g, g.input(0), flow);
    Value read = g.Op("TensorArrayReadV3", {array.handle, g.input(1), array.flow}, {{"dtype", g.input(2).dtype()}});
    return {{}, {}, read, flow};
  });
  r.Add("TensorArrayGatherV3", [](G& g) -> Gradients {
    GradientArray array = Open(g, g.input(0), g.input(2));
    return {{}, {}, g.Op("TensorArrayScatterV3", {array.handle, g.input(1), g.grad(), array.flow})};
  });
  r.Add("TensorArrayScatterV3", [](G& g) -> Gradients {
    Value flow = g.grad();
    GradientArray array = Open(g, g.input(0), flow);
    Value rows = g.Op("TensorArrayGatherV3", {array.handle, g.input(1), array.flow}, {{"dtype", g.input(2).dtype()}});
    return {{}, {}, rows, flow};
  });
}

void AddWhole(GradientRegistry& r) {
  for (const char* version : {"V2", "V3"}) {
    const bool third = std::string_view(version) == "V3";
    r.Add(Cat("TensorArrayConcat", version), [third](G& g) -> Gradients {
      GradientArray array = Open(g, g.input(0), g.input(1));
      return {{},
              g.Op(third ? "TensorArraySplitV3" : "TensorArraySplitV2",
                   {array.handle, g.grad(0), g.output(1), array.flow})};
    });
    r.Add(Cat("TensorArraySplit", version), [third](G& g) -> Gradients {
      Value flow = g.grad();
      GradientArray array = Open(g, g.input(0), flow);
      Value joined = g.Op(third ? "TensorArrayConcatV3" : "TensorArrayConcatV2", {array.handle, array.flow},
                          {{"dtype", g.input(1).dtype()}});
      return {{}, joined, {}, flow};
    });
  }
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterTensorArrayGradients(GradientRegistry& registry) {
  emit::AddElements(registry);
  emit::AddWhole(registry);
}

}  // namespace weir

// Gradients of TensorLists: the gradient of a list is a list.
#include "weir/autodiff/emit.h"
#include "weir/ops/queue/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

Value ElementShape(G& g, Value list) { return g.Op("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}}); }
Value Length(Value list) { return Unary("TensorListLength", list); }
// Of the rows of a tensor.
Value RowShape(Value tensor) {
  return tensor ? tensor.emitter().Op("Slice", {Shape(tensor), Ints(tensor, {1}), Ints(tensor, {-1})}) : Value();
}
Value Reserve(G& g, Value list, DType dtype) {
  return g.Op("TensorListReserve", {ElementShape(g, list), Length(list)}, {{"element_dtype", dtype}});
}

void AddElements(GradientRegistry& r) {
  r.Add("TensorListPushBack", [](G& g) -> Gradients {
    Values out = g.OutputsLike("TensorListPopBack", {g.grad(), Shape(g.input(1))}, {"element_dtype"});
    return {out[0], out[1]};
  });
  r.Add("TensorListPopBack", [](G& g) -> Gradients { return {g.Op("TensorListPushBack", {g.grad(0), g.grad(1)})}; });
  r.Add("TensorListGetItem", [](G& g) -> Gradients {
    Value zeros = Reserve(g, g.input(0), g.grad().dtype());
    return {g.Op("TensorListSetItem", {zeros, g.input(1), g.grad()})};
  });
  r.Add("TensorListSetItem", [](G& g) -> Gradients {
    Value index = g.input(1), item = g.input(2), flow = g.grad();
    Value rest = g.Op("TensorListSetItem", {flow, index, ZerosLike(item)});
    if (g.Attr<bool>("resize_if_index_out_of_bounds")) rest = Binary("TensorListResize", rest, Length(g.input(0)));
    return {rest, {}, g.Op("TensorListGetItem", {flow, index, Shape(item)}, {{"element_dtype", item.dtype()}})};
  });
  r.Add("TensorListResize",
        [](G& g) -> Gradients { return {Binary("TensorListResize", g.grad(), Length(g.input(0)))}; });
}

void AddWhole(GradientRegistry& r) {
  r.Add("TensorListStack", [](G& g) -> Gradients {
    return {g.Op("TensorListFromTensor", {g.grad(), RowShape(g.grad())})};
  });
  r.Add("TensorListFromTensor", [](G& g) -> Gradients {
    return {g.Op("TensorListStack", {g.grad(), RowShape(g.input(0))}, {{"element_dtype", g.input(0).dtype()}})};
  });
  for (const char* op : {"TensorListConcat", "TensorListConcatV2"}) {
    r.Add(op, [](G& g) -> Gradients {
      return {g.Op("TensorListSplit", {g.grad(0), ElementShape(g, g.input(0)), g.output(1)})};
    });
  }
  r.Add("TensorListSplit", [](G& g) -> Gradients {
    Value tensor = g.input(0);
    Value shape = Concat({Ints(tensor, {-1}), RowShape(tensor)}, 0);
    return {g.Op("TensorListConcatV2", {g.grad(), shape, g.input(2)}, {{"element_dtype", tensor.dtype()}})};
  });
  r.Add("TensorListGather", [](G& g) -> Gradients {
    Value zeros = Reserve(g, g.input(0), g.grad().dtype());
    return {g.Op("TensorListScatterIntoExistingList", {zeros, g.grad(), g.input(1)})};
  });
  auto gather = [](G& g, Value tensor, Value indices) {
    return g.Op("TensorListGather", {g.grad(), indices, RowShape(tensor)}, {{"element_dtype", tensor.dtype()}});
  };
  for (const char* op : {"TensorListScatter", "TensorListScatterV2"}) {
    r.Add(op, [gather](G& g) -> Gradients { return {gather(g, g.input(0), g.input(1))}; });
  }
  r.Add("TensorListScatterIntoExistingList", [gather](G& g) -> Gradients {
    Value tensor = g.input(1), indices = g.input(2);
    return {g.Op("TensorListScatterIntoExistingList", {g.grad(), ZerosLike(tensor), indices}),
            gather(g, tensor, indices)};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterTensorListGradients(GradientRegistry& registry) {
  emit::AddElements(registry);
  emit::AddWhole(registry);
}

}  // namespace weir

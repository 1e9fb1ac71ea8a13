#include "weir/autodiff/tape_emitter.h"

namespace weir {

Value TapeEmitter::Add(TapeTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return Value(this, static_cast<int32_t>(tensors_.size()) - 1, 0);
}

TapeTensor TapeEmitter::Get(Value value) const { return value ? tensors_[value.node()] : TapeTensor(); }

StatusOr<const OpSchema*> TapeEmitter::FindSchema(std::string_view op) const {
  if (const OpSchema* schema = ops_.Find(op)) return schema;
  return NotFound("Op type not registered '", op, "'");
}

StatusOr<std::vector<Value>> TapeEmitter::AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) {
  if (schema.name == "Const") {
    WEIR_ASSIGN_OR_RETURN(Tensor value, GetAttr<Tensor>(attrs, "value"));
    return std::vector<Value>{Add({std::move(value), 0})};
  }
  std::vector<TapeTensor> tensors;
  for (const Value& input : inputs) tensors.push_back(tensors_[input.node()]);
  WEIR_ASSIGN_OR_RETURN(std::vector<TapeTensor> results, run_(schema, std::move(tensors), std::move(attrs)));
  std::vector<Value> out;
  for (TapeTensor& result : results) out.push_back(Add(std::move(result)));
  return out;
}

std::vector<ResourceHandle::DTypeAndShape> TapeEmitter::OwnHandleData(Value value) const {
  const Tensor& tensor = tensors_[value.node()].tensor;
  if (tensor.dtype() != DType::kResource || tensor.num_elements() != 1) return {};
  return tensor.data<ResourceHandle>()[0].dtypes_and_shapes;
}

StatusOr<Value> TapeEmitter::Import(Value) { return Internal("A tape cannot use a value of a graph"); }

}  // namespace weir

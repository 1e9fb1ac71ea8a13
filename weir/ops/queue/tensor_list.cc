#include "weir/ops/queue/tensor_list.h"

#include <utility>

#include "weir/base/varint.h"
#include "weir/ops/queue/arithmetic.h"
#include "weir/ops/queue/list_wire.h"

namespace weir {

StatusOr<VariantData> TensorList::Encode() const {
  VariantData data;
  data.type_name = kTypeName;
  std::vector<uint64_t> unset;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].has_value()) {
      data.tensors.push_back(elements[i]);
    } else {
      unset.push_back(i);
    }
  }
  AppendVarint(unset.size(), &data.metadata);
  for (uint64_t index : unset) AppendVarint(index, &data.metadata);
  AppendVarint(static_cast<uint64_t>(dtype), &data.metadata);
  AppendVarint(static_cast<uint64_t>(max_num_elements), &data.metadata);
  AppendShape(data.metadata, element_shape);
  return data;
}

StatusOr<std::shared_ptr<VariantValue>> TensorList::Decode(VariantData data) {
  std::string_view rest = data.metadata;
  Status broken = DataLoss("The metadata of a tensor list on the wire is broken");
  uint64_t num_unset = 0;
  if (!TakeVarint(&rest, &num_unset) || num_unset > rest.size()) return broken;
  uint64_t size = num_unset + data.tensors.size();
  auto list = std::make_shared<TensorList>();
  list->elements.resize(size);
  std::vector<bool> is_unset(size, false);
  for (uint64_t i = 0; i < num_unset; ++i) {
    uint64_t index = 0;
    if (!TakeVarint(&rest, &index) || index >= size || is_unset[index]) return broken;
    is_unset[index] = true;
  }
  uint64_t dtype = 0;
  uint64_t max_num_elements = 0;
  if (!TakeVarint(&rest, &dtype) || dtype > static_cast<uint64_t>(kMaxDType) || !TakeVarint(&rest, &max_num_elements)) {
    return broken;
  }
  list->dtype = static_cast<DType>(dtype);
  list->max_num_elements = static_cast<int32_t>(max_num_elements);
  std::optional<PartialShape> shape = ParseShape(rest);
  if (!shape.has_value()) return broken;
  list->element_shape = *std::move(shape);
  size_t next = 0;
  for (size_t i = 0; i < size; ++i) {
    if (is_unset[i]) continue;
    Tensor& tensor = data.tensors[next++];
    if (tensor.dtype() != list->dtype) return broken;
    list->elements[i] = std::move(tensor);
  }
  return std::shared_ptr<VariantValue>(std::move(list));
}

StatusOr<std::shared_ptr<VariantValue>> TensorList::ZerosLike(TensorArithmetic& arithmetic) const {
  auto out = std::make_shared<TensorList>();
  out->dtype = dtype;
  out->element_shape = element_shape;
  out->max_num_elements = max_num_elements;
  out->elements.reserve(elements.size());
  for (const Tensor& element : elements) {
    Tensor& zeros = out->elements.emplace_back();
    if (!element.has_value()) continue;
    WEIR_ASSIGN_OR_RETURN(zeros, arithmetic.ZerosOf(element));
  }
  return std::shared_ptr<VariantValue>(std::move(out));
}

StatusOr<std::shared_ptr<VariantValue>> TensorList::Add(const VariantValue& other, TensorArithmetic& arithmetic) const {
  const auto* b = dynamic_cast<const TensorList*>(&other);
  if (b == nullptr) return InvalidArgument("Trying to add a list of tensors and a ", other.type_name());
  if (dtype != b->dtype) {
    return InvalidArgument("Trying to add two lists of tensors of different dtypes. One is ", Name(dtype),
                           " and the other is ", Name(b->dtype));
  }
  if (elements.size() != b->elements.size()) {
    return InvalidArgument("Trying to add two lists of tensors with different lengths. One is ", elements.size(),
                           " and the other is ", b->elements.size());
  }
  if (!element_shape.IsCompatibleWith(b->element_shape)) {
    return InvalidArgument("Trying to add two lists of tensors with incompatible element shapes. One is ",
                           element_shape.ToString(), " and the other is ", b->element_shape.ToString());
  }
  auto out = std::make_shared<TensorList>();
  out->dtype = dtype;
  WEIR_ASSIGN_OR_RETURN(out->element_shape, MergeElementShapes(element_shape, b->element_shape));
  out->max_num_elements = max_num_elements;
  out->elements.reserve(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Tensor& x = elements[i];
    const Tensor& y = b->elements[i];
    Tensor& sum = out->elements.emplace_back();
    if (!x.has_value() || !y.has_value()) {
      sum = x.has_value() ? x : y;
      continue;
    }
    if (x.shape() != y.shape()) {
      return InvalidArgument("Trying to add two tensors with incompatible element shapes. One is ",
                             x.shape().ToString(), " and the other is ", y.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(sum, arithmetic.Sum(x, y));
  }
  return std::shared_ptr<VariantValue>(std::move(out));
}

std::shared_ptr<VariantValue> TensorList::WithLocalTensors(std::vector<Tensor> copies) const {
  auto out = std::make_shared<TensorList>();
  out->dtype = dtype;
  out->element_shape = element_shape;
  out->max_num_elements = max_num_elements;
  out->elements = std::move(copies);
  return out;
}

StatusOr<PartialShape> TensorList::CommonShape(const PartialShape& requested) const {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, MergeElementShapes(requested, element_shape));
  for (const Tensor& element : elements) {
    if (!element.has_value()) continue;
    WEIR_ASSIGN_OR_RETURN(shape, MergeElementShapes(shape, element.shape()));
  }
  return shape;
}

StatusOr<const TensorList*> ListInput(KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() != DType::kVariant || input.rank() != 0) {
    return InvalidArgument("Input list must be a scalar saw: ", input.shape().ToString());
  }
  const Variant& variant = input.scalar<Variant>();
  if (const auto* list = variant.get_if<TensorList>()) return list;
  std::string text = "Variant<no value>";
  if (variant.has_value()) {
    text = Cat("Variant<type: ", variant.get()->type_name(), " value: ", variant.get()->DebugString(), ">");
  }
  return InvalidArgument("Input handle is not a list. Saw: '", text, "'");
}

Status CheckListType(const TensorList& list, DType dtype) {
  if (list.dtype == dtype) return OkStatus();
  return InvalidArgument("Invalid data types; op elements ", Name(dtype), " but list elements ", Name(list.dtype));
}

StatusOr<TensorList*> MutableListOutput(KernelContext& ctx, int i, int output) {
  WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, i));
  Tensor& input = ctx.input_slot(i).tensor;
  if (input.unique() && input.data<Variant>()->unique()) {
    TensorList* mine = input.data<Variant>()->get_if<TensorList>();
    ctx.set_output(output, ctx.TakeInput(i));
    return mine;
  }
  auto copy = std::make_shared<TensorList>(*list);
  TensorList* mine = copy.get();
  SetListOutput(ctx, output, std::move(copy));
  return mine;
}

void SetListOutput(KernelContext& ctx, int output, std::shared_ptr<TensorList> list) {
  ctx.set_output(output, Tensor::Scalar(Variant(std::move(list))));
}

StatusOr<PartialShape> ShapeFromTensor(const Tensor& tensor) {
  std::vector<int64_t> dims;
  if (tensor.dtype() == DType::kInt32) {
    for (int32_t size : tensor.span<int32_t>()) dims.push_back(size);
  } else if (tensor.dtype() == DType::kInt64) {
    for (int64_t size : tensor.span<int64_t>()) dims.push_back(size);
  } else {
    return InvalidArgument("Expected an int32 or int64 shape tensor; found ", Name(tensor.dtype()));
  }
  if (tensor.rank() == 0) {
    if (dims[0] != -1) {
      return InvalidArgument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    }
    return PartialShape::Unknown();
  }
  if (tensor.rank() != 1) {
    return InvalidArgument("Shape must be at most rank 1 but is rank ", tensor.rank());
  }
  return PartialShape::Make(dims);
}

}  // namespace weir

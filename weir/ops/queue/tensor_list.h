// TensorList: the value of a list variant. Elements that were never set have no value; they read as zeros where a shape
// is known. The elements of a list that a device's kernels made are in that device's memory.
#ifndef WEIR_OPS_QUEUE_TENSOR_LIST_H_
#define WEIR_OPS_QUEUE_TENSOR_LIST_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/framework/kernel.h"
#include "weir/tensor/variant.h"

namespace weir {

class TensorList : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::TensorList";
  // More elements than this are refused: a list takes memory for each, set or not.
  static constexpr int64_t kMaxSize = int64_t{1} << 28;

  DType dtype = DType::kInvalid;
  PartialShape element_shape;
  int64_t max_num_elements = -1;  // < 0: no limit
  std::vector<Tensor> elements;

  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override;
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data);
  StatusOr<std::shared_ptr<VariantValue>> ZerosLike(TensorArithmetic& arithmetic) const override;
  StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other, TensorArithmetic& arithmetic) const override;
  std::vector<Tensor> LocalTensors() const override { return elements; }
  std::shared_ptr<VariantValue> WithLocalTensors(std::vector<Tensor> copies) const override;
  std::string DebugString() const override { return "TensorList"; }

  // What is known of the shape of every element: the list's, `requested`, and that of the elements set.
  StatusOr<PartialShape> CommonShape(const PartialShape& requested) const;
};

// The list in input `i`; it lives as long as the input. INVALID_ARGUMENT if there is none.
StatusOr<const TensorList*> ListInput(KernelContext& ctx, int i);
// INVALID_ARGUMENT unless the list's elements have this type.
Status CheckListType(const TensorList& list, DType dtype);
// Makes output `output` a list that starts as the one in input `i` and may be changed: that list itself if nobody else
// holds it, else a copy (which shares the elements).
StatusOr<TensorList*> MutableListOutput(KernelContext& ctx, int i, int output);
// Sets output `output` to a new list.
void SetListOutput(KernelContext& ctx, int output, std::shared_ptr<TensorList> list);
// A shape given as a tensor: a vector of sizes (-1: unknown), or a scalar -1 for one of unknown rank.
StatusOr<PartialShape> ShapeFromTensor(const Tensor& tensor);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_TENSOR_LIST_H_

// Tuples of tensors, the elements of queues, barriers and staging areas.
#ifndef WEIR_RESOURCES_TUPLE_H_
#define WEIR_RESOURCES_TUPLE_H_

#include <string>
#include <vector>

#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace weir {

using TensorTuple = std::vector<Tensor>;

std::string TypesText(const std::vector<DType>& types);           // "int32, float"
std::string ShapesText(const std::vector<PartialShape>& shapes);  // "[[2],[]]"
// INVALID_ARGUMENT unless the tensors have these types.
Status CheckTypes(const TensorTuple& tuple, const std::vector<DType>& types);

// A slice as a tensor of its own: shares memory where that leaves it aligned, else a copy.
StatusOr<Tensor> OwnSlice(Tensor slice);
// A copy of row `row` of every tensor, each in memory of its own.
StatusOr<TensorTuple> CopyRow(const TensorTuple& batch, int64_t row);
// The tensors of one shape and type as rows of one tensor. REQUIRES: not empty.
StatusOr<Tensor> StackTensors(const std::vector<const Tensor*>& rows);
// The same for every component. REQUIRES: not empty, and component shapes agree.
StatusOr<TensorTuple> StackTuples(const std::vector<TensorTuple>& tuples);

}  // namespace weir

#endif  // WEIR_RESOURCES_TUPLE_H_

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

// A slice as a separate tensor: shares memory if that is aligned, else a copy.
StatusOr<Tensor> OwnSlice(Tensor slice);
// A copy of row `row` of every tensor, each with its own memory.
StatusOr<TensorTuple> CopyRow(const TensorTuple& batch, int64_t row);
// Stacks tensors of one shape and type. REQUIRES: not empty.
StatusOr<Tensor> StackTensors(const std::vector<const Tensor*>& rows);
// The same for every component. REQUIRES: not empty, and the shapes of components agree.
StatusOr<TensorTuple> StackTuples(const std::vector<TensorTuple>& tuples);

}  // namespace weir

#endif  // WEIR_RESOURCES_TUPLE_H_

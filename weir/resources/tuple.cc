#include "weir/resources/tuple.h"

#include "weir/tensor/copy_elements.h"

namespace weir {

std::string TypesText(const std::vector<DType>& types) {
  std::string out;
  for (DType type : types) out += Cat(out.empty() ? "" : ", ", Name(type));
  return out;
}

std::string ShapesText(const std::vector<PartialShape>& shapes) {
  std::string out = "[";
  for (size_t i = 0; i < shapes.size(); ++i) out += Cat(i == 0 ? "" : ",", shapes[i].ToString());
  return out + "]";
}

Status CheckTypes(const TensorTuple& tuple, const std::vector<DType>& types) {
  if (tuple.size() != types.size()) {
    return InvalidArgument("Wrong number of components in tuple. Expected ", types.size(), ", got ", tuple.size());
  }
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].dtype() != types[i]) {
      return InvalidArgument("Type mismatch in tuple component ", i, ". Expected ", Name(types[i]), ", got ",
                             Name(tuple[i].dtype()));
    }
  }
  return OkStatus();
}

StatusOr<Tensor> OwnSlice(Tensor slice) {
  if (slice.is_aligned()) return slice;
  return slice.Clone();
}

StatusOr<TensorTuple> CopyRow(const TensorTuple& batch, int64_t row) {
  TensorTuple out;
  out.reserve(batch.size());
  for (const Tensor& tensor : batch) {
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), tensor.SubTensor(row).Clone());
  }
  return out;
}

StatusOr<Tensor> StackTensors(const std::vector<const Tensor*>& rows) {
  Shape shape = rows[0]->shape();
  int64_t stride = shape.num_elements();
  WEIR_RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(rows.size())));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(rows[0]->dtype(), shape));
  for (size_t i = 0; i < rows.size(); ++i) {
    CopyElements(*rows[i], 0, out, static_cast<int64_t>(i) * stride, stride);
  }
  return out;
}

StatusOr<TensorTuple> StackTuples(const std::vector<TensorTuple>& tuples) {
  TensorTuple out;
  std::vector<const Tensor*> rows(tuples.size());
  for (size_t component = 0; component < tuples[0].size(); ++component) {
    for (size_t i = 0; i < tuples.size(); ++i) rows[i] = &tuples[i][component];
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), StackTensors(rows));
  }
  return out;
}

}  // namespace weir

#include "weir/ops/data/batch.h"

#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

Status StackComponent(std::vector<Element>& elements, size_t component, Element* out) {
  const Shape element_shape = elements[0][component].shape();
  const DType dtype = elements[0][component].dtype();
  Shape shape = element_shape;
  WEIR_RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(elements.size())));
  WEIR_ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(dtype, shape));
  const int64_t size = element_shape.num_elements();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (component >= elements[i].size() || elements[i][component].dtype() != dtype) {
      return InvalidArgument("Elements of a batch have different components");
    }
    Tensor tensor = std::move(elements[i][component]);
    if (tensor.shape() != element_shape) {
      return InvalidArgument("Cannot batch tensors with different shapes in component ", component,
                             ". First element had shape ", element_shape.ToString(), " and element ", i, " had shape ",
                             tensor.shape().ToString(), ".");
    }
    if (dtype == DType::kString && tensor.unique()) {
      std::string* from = tensor.data<std::string>();
      std::move(from, from + size, batch.data<std::string>() + static_cast<int64_t>(i) * size);
    } else {
      CopyElements(tensor, 0, batch, static_cast<int64_t>(i) * size, size);
    }
  }
  out->push_back(std::move(batch));
  return OkStatus();
}

}  // namespace

Status StackElements(std::vector<Element> elements, Element* out) {
  if (elements.empty()) return Internal("A batch has no elements");
  const size_t components = elements[0].size();
  out->reserve(components);
  for (size_t i = 0; i < components; ++i) WEIR_RETURN_IF_ERROR(StackComponent(elements, i, out));
  return OkStatus();
}

ElementSpec BatchSpec(const ElementSpec& spec, int64_t batch_size) {
  ElementSpec out;
  out.types = spec.types;
  for (const PartialShape& shape : spec.shapes) {
    if (!shape.has_rank()) {
      out.shapes.push_back(PartialShape::Unknown());
      continue;
    }
    PartialShape batch({batch_size});
    for (int64_t dim : shape.dims()) batch.add_dim(dim);
    out.shapes.push_back(std::move(batch));
  }
  return out;
}

int64_t BatchCount(int64_t n, int64_t batch_size, bool drop_remainder) {
  if (n < 0) return n;
  return n / batch_size + (n % batch_size != 0 && !drop_remainder ? 1 : 0);
}

}  // namespace weir

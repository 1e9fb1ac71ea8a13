#include "weir/ops/data/dataset.h"

#include <algorithm>

namespace weir {

Status CheckTypesMatch(const std::vector<DType>& expected, const std::vector<DType>& received) {
  if (expected.size() != received.size()) {
    return InvalidArgument("Number of components does not match: expected ", expected.size(), " types but got ",
                           received.size(), ".");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == received[i]) continue;
    return InvalidArgument("Data type mismatch at component ", i, ": expected ", Name(expected[i]), " but got ",
                           Name(received[i]), ".");
  }
  return OkStatus();
}

Status CheckShapesCompatible(const std::vector<PartialShape>& expected, const std::vector<PartialShape>& received) {
  if (expected.size() != received.size()) {
    return InvalidArgument("Number of components does not match: expected ", expected.size(), " shapes but got ",
                           received.size(), ".");
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].IsCompatibleWith(received[i])) continue;
    return InvalidArgument("Incompatible shapes at component ", i, ": expected ", expected[i].ToString(), " but got ",
                           received[i].ToString(), ".");
  }
  return OkStatus();
}

StatusOr<std::vector<IteratorPtr>> Dataset::WalkInputs(IteratorContext& ctx) const {
  std::vector<IteratorPtr> out;
  for (const std::shared_ptr<Dataset>& input : inputs_) {
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), input->MakeIterator(ctx));
  }
  return out;
}

Status CheckElement(const ElementSpec& spec, const Element& element) {
  if (spec.types.size() != element.size()) {
    return InvalidArgument("Number of components does not match: expected ", spec.types.size(), " types but got ",
                           element.size(), ".");
  }
  for (size_t i = 0; i < element.size(); ++i) {
    if (spec.types[i] != element[i].dtype()) {
      return InvalidArgument("Data type mismatch at component ", i, ": expected ", Name(spec.types[i]), " but got ",
                             Name(element[i].dtype()), ".");
    }
    if (i < spec.shapes.size() && !spec.shapes[i].IsCompatibleWith(element[i].shape())) {
      return InvalidArgument("Incompatible shapes at component ", i, ": expected ", spec.shapes[i].ToString(),
                             " but got ", element[i].shape().ToString(), ".");
    }
  }
  return OkStatus();
}

bool Dataset::MayWait() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const auto& input) { return input->MayWait(); });
}

Tensor DatasetTensor(DatasetPtr dataset) {
  return Tensor::Scalar(Variant(std::static_pointer_cast<VariantValue>(std::move(dataset))));
}

StatusOr<DatasetPtr> DatasetFromTensor(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant || !tensor.shape().IsScalar()) {
    return InvalidArgument("Dataset tensor must be a scalar of dtype DT_VARIANT.");
  }
  auto dataset = std::dynamic_pointer_cast<Dataset>(tensor.scalar<Variant>().value());
  if (dataset == nullptr) return InvalidArgument("Tensor must be a Dataset object.");
  return dataset;
}

}  // namespace weir

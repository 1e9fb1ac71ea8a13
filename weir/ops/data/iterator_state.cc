#include "weir/ops/data/iterator_state.h"

#include <limits>

#include "absl/strings/str_split.h"

namespace weir {

StatusOr<VariantData> IteratorState::Encode() const {
  VariantData data;
  data.type_name = kTypeName;
  for (const auto& [name, tensor] : tensors) {
    if (!data.metadata.empty()) data.metadata += '\n';
    data.metadata += name;
    data.tensors.push_back(tensor);
  }
  return data;
}

StatusOr<std::shared_ptr<VariantValue>> IteratorState::Decode(VariantData data) {
  auto state = std::make_shared<IteratorState>();
  std::vector<std::string> names;
  if (!data.tensors.empty()) names = absl::StrSplit(ToAbsl(data.metadata), '\n');
  if (names.size() != data.tensors.size()) {
    return DataLoss("An iterator's state names ", names.size(), " tensors but has ", data.tensors.size());
  }
  for (size_t i = 0; i < names.size(); ++i) state->tensors[names[i]] = std::move(data.tensors[i]);
  return std::shared_ptr<VariantValue>(std::move(state));
}

void StateWriter::PutElement(std::string_view name, const Element& element) {
  StateWriter child = Child(name);
  child.PutInt("size", static_cast<int64_t>(element.size()));
  for (size_t i = 0; i < element.size(); ++i) child.Put(Cat(i), element[i]);
}

void StateWriter::PutElements(std::string_view name, const std::vector<Element>& elements) {
  StateWriter child = Child(name);
  child.PutInt("count", static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) child.PutElement(Cat(i), elements[i]);
}

void StateWriter::PutStatus(std::string_view name, const Status& status) {
  StateWriter child = Child(name);
  child.PutInt("code", status.raw_code());
  child.Put("message", Tensor::Scalar(Message(status)));
}

bool StateReader::Has(std::string_view name) const { return state_->tensors.contains(Cat(prefix_, name)); }

StatusOr<Tensor> StateReader::Get(std::string_view name) const {
  auto found = state_->tensors.find(Cat(prefix_, name));
  if (found == state_->tensors.end()) return NotFound("The saved iterator has no '", prefix_, name, "'");
  return found->second;
}

StatusOr<int64_t> StateReader::GetInt(std::string_view name) const {
  WEIR_ASSIGN_OR_RETURN(Tensor value, Get(name));
  if (value.dtype() != DType::kInt64 || !value.shape().IsScalar()) {
    return DataLoss("'", prefix_, name, "' of the saved iterator is not an integer");
  }
  return value.scalar<int64_t>();
}

StatusOr<int64_t> StateReader::GetCount(std::string_view name, int64_t limit) const {
  WEIR_ASSIGN_OR_RETURN(int64_t value, GetInt(name));
  if (value < 0 || value > limit) return DataLoss("'", prefix_, name, "' of the saved iterator is ", value);
  return value;
}

StatusOr<Element> StateReader::GetElement(std::string_view name) const {
  StateReader child = Child(name);
  WEIR_ASSIGN_OR_RETURN(int64_t size, child.GetCount("size", std::numeric_limits<int64_t>::max()));
  Element element;
  for (int64_t i = 0; i < size; ++i) {
    WEIR_ASSIGN_OR_RETURN(Tensor component, child.Get(Cat(i)));
    element.push_back(std::move(component));
  }
  return element;
}

StatusOr<std::vector<Element>> StateReader::GetElements(std::string_view name) const {
  StateReader child = Child(name);
  WEIR_ASSIGN_OR_RETURN(int64_t count, child.GetCount("count", std::numeric_limits<int64_t>::max()));
  std::vector<Element> elements;
  for (int64_t i = 0; i < count; ++i) {
    WEIR_ASSIGN_OR_RETURN(Element element, child.GetElement(Cat(i)));
    elements.push_back(std::move(element));
  }
  return elements;
}

StatusOr<Status> StateReader::GetStatus(std::string_view name) const {
  StateReader child = Child(name);
  WEIR_ASSIGN_OR_RETURN(int64_t code, child.GetInt("code"));
  WEIR_ASSIGN_OR_RETURN(Tensor message, child.Get("message"));
  if (message.dtype() != DType::kString || message.num_elements() != 1) return DataLoss("A saved error has no text");
  return Status(static_cast<absl::StatusCode>(code), message.scalar<std::string>());
}

}  // namespace weir

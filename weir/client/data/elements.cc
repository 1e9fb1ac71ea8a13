#include "weir/client/data/elements.h"

#include "weir/client/eager/ops/data_ops.h"
#include "weir/client/eager_execute.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir::data {

Elements::Elements(const Dataset& dataset) : dataset_(dataset), spec_(dataset.spec()), status_(dataset.status()) {
  if (!status_.ok()) return;
  iterator_ = eager::AnonymousIteratorV3(spec_.types, spec_.shapes);
  status_ = iterator_.status();
  if (status_.ok()) status_ = eager::MakeIterator(dataset.handle(), iterator_);
}

StatusOr<bool> Elements::Next(Tensors* element) {
  WEIR_RETURN_IF_ERROR(status_);
  std::vector<EagerTensor> tensors = eager::IteratorGetNext(iterator_, spec_.types, spec_.shapes);
  element->clear();
  for (const EagerTensor& tensor : tensors) {
    if (absl::IsOutOfRange(tensor.status())) return false;
    WEIR_ASSIGN_OR_RETURN(Tensor value, tensor.value());
    element->push_back(std::move(value));
  }
  return true;
}

Elements::Iterator& Elements::Iterator::operator++() {
  StatusOr<bool> more = elements_->Next(&elements_->current_);
  if (!more.ok()) elements_->status_ = more.status();
  if (!more.ok() || !*more) elements_ = nullptr;
  return *this;
}

StatusOr<Tensor> Elements::Save() {
  WEIR_RETURN_IF_ERROR(status_);
  WEIR_ASSIGN_OR_RETURN(Tensor position, eager::SerializeIterator(iterator_).value());
  TensorProto proto;
  WEIR_RETURN_IF_ERROR(ToProto(position, &proto));
  return Tensor::Scalar(proto.SerializeAsString());
}

Status Elements::Restore(const Tensor& position) {
  if (!position.has_value()) {
    *this = Elements(dataset_);
    return status_;
  }
  WEIR_RETURN_IF_ERROR(status_);
  if (position.dtype() != DType::kString || position.num_elements() != 1) {
    return InvalidArgument("a position must be a string scalar");
  }
  TensorProto proto;
  if (!proto.ParseFromString(position.data<std::string>()[0])) return DataLoss("a position cannot be parsed");
  WEIR_ASSIGN_OR_RETURN(Tensor state, FromProto(std::move(proto)));
  return eager::DeserializeIterator(iterator_, std::move(state));
}

Status DatasetBatches::Start(int64_t) {
  if (!std::exchange(is_restored_, false)) elements_ = std::make_unique<Elements>(dataset_);
  return elements_->status();
}

StatusOr<bool> DatasetBatches::Next(nn::Batch* batch) {
  WEIR_ASSIGN_OR_RETURN(bool more, elements_->Next(&batch->inputs));
  batch->labels = Tensor();
  if (!more) return false;
  if (has_labels_) {
    if (batch->inputs.size() < 2)
      return InvalidArgument("an element must have inputs and labels, but this one has a single tensor");
    batch->labels = std::move(batch->inputs.back());
    batch->inputs.pop_back();
  }
  if (batch->inputs[0].rank() < 1)
    return InvalidArgument("elements for a model are batches: the dataset needs Batch()");
  return true;
}

int64_t DatasetBatches::count() const {
  StatusOr<int64_t> count = dataset_.Cardinality();
  return count.ok() && *count >= 0 ? *count : -1;
}

StatusOr<Tensor> DatasetBatches::SavePosition() {
  if (elements_ == nullptr) return Tensor();
  return elements_->Save();
}

Status DatasetBatches::RestorePosition(const Tensor& position) {
  elements_ = std::make_unique<Elements>(dataset_);
  WEIR_RETURN_IF_ERROR(elements_->Restore(position));
  is_restored_ = true;
  return OkStatus();
}

}  // namespace weir::data

#include "weir/ops/data/window.h"

#include "absl/strings/numbers.h"
#include "weir/io/proto_file.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

class Window : public Dataset {
 public:
  Window(ElementSpec spec, std::vector<Element> elements) : Dataset(std::move(spec)), elements_(std::move(elements)) {}
  static constexpr std::string_view kWindowTypeName = "weir::Window";
  std::string_view type_name() const override { return kWindowTypeName; }
  StatusOr<VariantData> Encode() const override;
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data);
  int64_t Cardinality() const override { return static_cast<int64_t>(elements_.size()); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<Window>()));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const Window> window) : window_(std::move(window)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      *end = next_ >= window_->Cardinality();
      if (!*end) *out = window_->elements_[next_++];
      return OkStatus();
    }
    bool Ready() override { return true; }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("next", next_);
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", window_->Cardinality()));
      return OkStatus();
    }

   private:
    const std::shared_ptr<const Window> window_;
    int64_t next_ = 0;
  };
  const std::vector<Element> elements_;
};

// Tensors: the type and the shape of every component, then the components of all elements.
StatusOr<VariantData> Window::Encode() const {
  VariantData data;
  data.type_name = kWindowTypeName;
  data.metadata = Cat(spec().types.size());
  for (size_t i = 0; i < spec().types.size(); ++i) {
    TensorShapeProto shape;
    ToProto(spec().shapes[i], &shape);
    data.tensors.push_back(Tensor::Scalar(static_cast<int64_t>(spec().types[i])));
    data.tensors.push_back(Tensor::Scalar(shape.SerializeAsString()));
  }
  for (const Element& element : elements_) data.tensors.insert(data.tensors.end(), element.begin(), element.end());
  return data;
}

StatusOr<std::shared_ptr<VariantValue>> Window::Decode(VariantData data) {
  const Status damaged = DataLoss("A saved window is damaged");
  size_t components = 0;
  if (!absl::SimpleAtoi(data.metadata, &components) || components == 0 || components > data.tensors.size() / 2 ||
      data.tensors.size() % components != 0) {
    return damaged;
  }
  ElementSpec spec;
  for (size_t i = 0; i < components; ++i) {
    const Tensor &type = data.tensors[2 * i], &shape = data.tensors[2 * i + 1];
    TensorShapeProto proto;
    if (type.dtype() != DType::kInt64 || type.num_elements() != 1 || shape.dtype() != DType::kString ||
        shape.num_elements() != 1 || !IsValidDType(type.data<int64_t>()[0]) ||
        !ParseBinaryProto(shape.data<std::string>()[0], &proto)) {
      return damaged;
    }
    spec.types.push_back(static_cast<DType>(type.data<int64_t>()[0]));
    WEIR_ASSIGN_OR_RETURN(spec.shapes.emplace_back(), PartialShapeFromProto(proto));
  }
  std::vector<Element> elements;
  for (size_t at = 2 * components; at < data.tensors.size(); at += components) {
    Element element(data.tensors.begin() + static_cast<ptrdiff_t>(at),
                    data.tensors.begin() + static_cast<ptrdiff_t>(at + components));
    WEIR_RETURN_IF_ERROR(CheckElement(spec, element));
    elements.push_back(std::move(element));
  }
  return std::shared_ptr<VariantValue>(MakeWindow(std::move(spec), std::move(elements)));
}

}  // namespace

DatasetPtr MakeWindow(ElementSpec spec, std::vector<Element> elements) {
  return std::make_shared<Window>(std::move(spec), std::move(elements));
}

void RegisterWindowDecoder() { RegisterVariantDecoder(Window::kWindowTypeName, Window::Decode); }

}  // namespace weir

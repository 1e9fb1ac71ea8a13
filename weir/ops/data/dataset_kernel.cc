#include "weir/ops/data/dataset_kernel.h"

#include "weir/base/varint.h"

namespace weir {
namespace {

class DatasetKernel : public Kernel {
 public:
  DatasetKernel(const KernelInit& init, DatasetFactory factory)
      : node_(std::make_shared<DatasetOrigin::Node>(DatasetOrigin::Node{&init.schema(), init.attrs()})),
        factory_(factory) {}
  Status Compute(KernelContext& ctx) override {
    DatasetNode node(ctx, *node_->schema, node_->attrs);
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, factory_(node));
    // A node may also hand on the dataset that another one made.
    if (dataset->origin().node == nullptr) {
      DatasetOrigin origin{node_, {}};
      for (int i = 0; i < ctx.num_inputs(); ++i) origin.inputs.push_back(ctx.input(i));
      dataset->set_origin(std::move(origin));
    }
    ctx.set_output(0, DatasetTensor(std::move(dataset)));
    return OkStatus();
  }

 private:
  const std::shared_ptr<const DatasetOrigin::Node> node_;
  const DatasetFactory factory_;
};

// The name in a serialised `Metadata` message, whose first field it is.
std::string MetadataName(std::string_view bytes) {
  constexpr uint64_t kName = 1 << 3 | 2;
  uint64_t tag = 0, length = 0;
  if (!TakeVarint(&bytes, &tag) || tag != kName || !TakeVarint(&bytes, &length)) return "";
  return length <= bytes.size() ? std::string(bytes.substr(0, length)) : "";
}

}  // namespace

StatusOr<ElementSpec> DatasetNode::Spec(std::string_view types) const {
  ElementSpec spec;
  WEIR_ASSIGN_OR_RETURN(spec.types, Attr<std::vector<DType>>(types));
  WEIR_ASSIGN_OR_RETURN(spec.shapes, Attr<std::vector<PartialShape>>("output_shapes"));
  if (spec.types.size() != spec.shapes.size()) {
    return InvalidArgument("output_types and output_shapes must be same length, got:\noutput_types: ",
                           spec.types.size(), "\noutput_shapes: ", spec.shapes.size());
  }
  return spec;
}

StatusOr<Element> DatasetNode::Tensors(std::string_view input) const {
  const int index = schema_.FindInput(input);
  if (index < 0) return Internal(schema_.name, " has no input '", input, "'");
  WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(schema_.inputs, attrs_, index));
  Element out;
  for (int i = range.begin; i < range.end; ++i) out.push_back(ctx_.input(i));
  return out;
}

StatusOr<Tensor> DatasetNode::OneTensor(std::string_view input) const {
  WEIR_ASSIGN_OR_RETURN(Element tensors, Tensors(input));
  if (tensors.size() != 1) return InvalidArgument(input, " must be one tensor");
  return tensors[0];
}

StatusOr<DatasetPtr> DatasetNode::Input(std::string_view input) const {
  WEIR_ASSIGN_OR_RETURN(Tensor tensor, OneTensor(input));
  return DatasetFromTensor(tensor);
}

StatusOr<std::vector<DatasetPtr>> DatasetNode::Inputs(std::string_view input) const {
  WEIR_ASSIGN_OR_RETURN(Element tensors, Tensors(input));
  std::vector<DatasetPtr> out;
  for (const Tensor& tensor : tensors) {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(tensor));
    out.push_back(std::move(dataset));
  }
  return out;
}

StatusOr<std::vector<std::string>> DatasetNode::Names(std::string_view input) const {
  WEIR_ASSIGN_OR_RETURN(Tensor tensor, OneTensor(input));
  if (tensor.rank() > 1) return InvalidArgument("`", input, "` must be a scalar or a vector.");
  auto names = tensor.span<std::string>();
  return std::vector<std::string>(names.begin(), names.end());
}

StatusOr<CapturedFunctionPtr> DatasetNode::Function(std::string_view attr, std::string_view arguments,
                                                    std::string_view iterator) const {
  auto out = std::make_shared<CapturedFunction>();
  WEIR_ASSIGN_OR_RETURN(out->function, Attr<FunctionAttr>(attr));
  WEIR_ASSIGN_OR_RETURN(out->captured, Tensors(arguments));
  out->iterator = iterator;
  if (HasAttr("metadata")) {
    WEIR_ASSIGN_OR_RETURN(std::string metadata, Attr<std::string>("metadata"));
    out->transformation = MetadataName(metadata);
  }
  return CapturedFunctionPtr(std::move(out));
}

StatusOr<bool> DatasetNode::IsDeterministic() const {
  if (HasAttr("deterministic")) {
    WEIR_ASSIGN_OR_RETURN(std::string text, Attr<std::string>("deterministic"));
    if (text == "true" || text == "false" || text == "default") return text != "false";
    return InvalidArgument("Invalid value for attribute 'deterministic': ", text);
  }
  bool sloppy = false;
  if (HasAttr("sloppy")) {
    WEIR_ASSIGN_OR_RETURN(sloppy, Attr<bool>("sloppy"));
  } else if (HasInput("sloppy")) {
    WEIR_ASSIGN_OR_RETURN(sloppy, Scalar<bool>("sloppy"));
  }
  return !sloppy;
}

void RegisterDataset(KernelRegistry& registry, std::initializer_list<const char*> ops, DatasetFactory factory) {
  for (const char* op : ops) {
    registry.Add(KernelBuilder(op), [factory](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      return std::unique_ptr<Kernel>(std::make_unique<DatasetKernel>(init, factory));
    });
  }
}

}  // namespace weir

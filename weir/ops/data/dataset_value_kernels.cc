// What graphs ask of a dataset as a whole: its size, its fingerprint, one element, a reduction of it, its elements in a
// file.
#include "weir/framework/call_kernel.h"
#include "weir/io/record_writer.h"
#include "weir/ops/data/background.h"
#include "weir/ops/data/dataset_fingerprint.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

class CardinalityKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    ctx.set_output(0, Tensor::Scalar(dataset->Cardinality()));
    return OkStatus();
  }
};

class FingerprintKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    WEIR_ASSIGN_OR_RETURN(uint64_t fingerprint, DatasetFingerprint(*dataset, ctx.step().functions));
    ctx.set_output(0, Tensor::Scalar(fingerprint));
    return OkStatus();
  }
};

class GetOptionsKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    ctx.set_output(0, Tensor::Scalar(dataset->Options()));
    return OkStatus();
  }
};

// WrapDatasetVariant and UnwrapDatasetVariant keep datasets on the host; here the variant itself goes on.
class SameVariantKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(DatasetFromTensor(ctx.input(0)).status());
    ctx.set_output(0, ctx.TakeInput(0));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

// Kernels whose outputs are the components of one element.
class OneElementKernel : public BackgroundKernel {
 public:
  explicit OneElementKernel(ElementSpec spec) : spec_(std::move(spec)) {}
  template <typename K>
  static StatusOr<std::unique_ptr<Kernel>> MakeOf(const KernelInit& init) {
    ElementSpec spec;
    WEIR_ASSIGN_OR_RETURN(spec.types, init.Attr<std::vector<DType>>("output_types"));
    WEIR_ASSIGN_OR_RETURN(spec.shapes, init.Attr<std::vector<PartialShape>>("output_shapes"));
    return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(spec)));
  }

 protected:
  bool MayWait(KernelContext& ctx) const override {
    auto dataset = DatasetFromTensor(ctx.input(0));
    return dataset.ok() && (*dataset)->MayWait();
  }
  const ElementSpec spec_;
};

class ElementAtIndexKernel : public OneElementKernel {
 public:
  using OneElementKernel::OneElementKernel;

 private:
  Status Work(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    if (!ctx.input(1).shape().IsScalar()) return InvalidArgument("index must be a scalar");
    const int64_t index = ctx.input(1).scalar<int64_t>(), count = dataset->Cardinality();
    if (count < 0) {
      const auto& node = dataset->origin().node;
      return FailedPrecondition("Dataset of type ", node == nullptr ? "Dataset" : node->schema->name, " has ",
                                count == Dataset::kInfinite ? "infinite" : "unknown",
                                " cardinality, which does not support random access.");
    }
    if (index < 0 || index >= count) return OutOfRange("Index out of range [0, ", count, "):", index);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    Element element;
    bool end = false;
    for (int64_t i = 0; i <= index && !end; ++i) WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
    if (end) return OutOfRange("Index out of range: the dataset ends before ", index);
    WEIR_RETURN_IF_ERROR(CheckElement(spec_, element));
    return SetOutputs(ctx, std::move(element));
  }
};

class SingleElementKernel : public OneElementKernel {
 public:
  using OneElementKernel::OneElementKernel;

 private:
  Status Work(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    Element element;
    bool end = false;
    WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
    if (end) return InvalidArgument("Dataset was empty.");
    Element more;
    WEIR_RETURN_IF_ERROR(walk->GetNext(&more, &end));
    if (!end) return InvalidArgument("Dataset had more than one element.");
    WEIR_RETURN_IF_ERROR(CheckElement(spec_, element));
    return SetOutputs(ctx, std::move(element));
  }
};

class ReduceKernel : public BackgroundKernel {
 public:
  ReduceKernel(const KernelInit& init) : schema_(init.schema()), attrs_(init.attrs()) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(init));
  }

 private:
  Status Work(KernelContext& ctx) override {
    DatasetNode node(ctx, schema_, attrs_);
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, node.Input());
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
    WEIR_ASSIGN_OR_RETURN(Element state, node.Tensors("initial_state"));
    WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "Reduce"));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller,
                          FunctionCaller::Make(walk->context(), std::move(function)));
    for (int64_t index = 0;; ++index) {
      Element element;
      bool end = false;
      WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
      if (end) break;
      Element arguments = std::move(state);
      for (Tensor& tensor : element) arguments.push_back(std::move(tensor));
      state.clear();
      Status status = caller->Call(walk->context(), std::move(arguments), index, &state);
      // A function that ends by itself ends the reduction.
      if (status.code() == absl::StatusCode::kOutOfRange) {
        return InvalidArgument("Function invocation produced OutOfRangeError: ", Message(status));
      }
      WEIR_RETURN_IF_ERROR(status);
    }
    WEIR_RETURN_IF_ERROR(CheckElement(spec, state));
    return SetOutputs(ctx, std::move(state));
  }
  const OpSchema& schema_;
  const AttrMap attrs_;
};

class ToTfRecordKernel : public BackgroundKernel {
 private:
  Status Work(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    if (!ctx.input(1).shape().IsScalar()) return InvalidArgument("filename must be a scalar");
    if (!ctx.input(2).shape().IsScalar()) return InvalidArgument("compression_type must be a scalar");
    WEIR_ASSIGN_OR_RETURN(Compression compression, ParseCompression(ctx.input(2).scalar<std::string>()));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RecordWriter> writer,
                          RecordWriter::Create(ctx.input(1).scalar<std::string>(), compression));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    while (true) {
      Element element;
      bool end = false;
      WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
      if (end) return writer->Close();
      if (element.size() != 1 || element[0].dtype() != DType::kString || element[0].num_elements() != 1) {
        return InvalidArgument("Elements of a record file are scalar strings");
      }
      WEIR_RETURN_IF_ERROR(writer->Write(element[0].scalar<std::string>()));
    }
  }
};

}  // namespace

void RegisterDatasetValueKernels(KernelRegistry& registry) {
  for (const char* op : {"DatasetCardinality", "ExperimentalDatasetCardinality"}) {
    registry.Add(KernelBuilder(op), MakeKernel<CardinalityKernel>);
  }
  for (const char* op : {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"}) {
    registry.Add(KernelBuilder(op), MakeKernel<ToTfRecordKernel>);
  }
  for (const char* op : {"WrapDatasetVariant", "UnwrapDatasetVariant"}) {
    registry.Add(KernelBuilder(op), MakeKernel<SameVariantKernel>);
  }
  registry.Add(KernelBuilder("GetOptions"), MakeKernel<GetOptionsKernel>);
  registry.Add(KernelBuilder("DatasetFingerprint"), MakeKernel<FingerprintKernel>);
  registry.Add(KernelBuilder("GetElementAtIndex"), OneElementKernel::MakeOf<ElementAtIndexKernel>);
  registry.Add(KernelBuilder("DatasetToSingleElement"), OneElementKernel::MakeOf<SingleElementKernel>);
  registry.Add(KernelBuilder("ReduceDataset"), MakeKernel<ReduceKernel>);
}

}  // namespace weir

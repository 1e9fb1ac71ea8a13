// CompressElement, UncompressElement: an element of a dataset as one small value.
#include <snappy.h>

#include <algorithm>
#include <span>

#include "weir/framework/call_kernel.h"
#include "weir/framework/kernel_registry.h"
#include "weir/io/proto_file.h"
#include "weir/ops/data/iterator_state.h"
#include "weir/ops/data/register.h"
#include "weir/proto/compressed_element.pb.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

class CompressedVariant : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow.data.CompressedElement";
  CompressedElement element;

  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override {
    return VariantData{std::string(kTypeName), element.SerializeAsString(), {}};
  }
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data) {
    auto out = std::make_shared<CompressedVariant>();
    if (!ParseBinaryProto(data.metadata, &out->element)) return DataLoss("A compressed element is damaged");
    return std::shared_ptr<VariantValue>(std::move(out));
  }
};

// Strings lie there one after the other; what is neither numbers nor strings, as a message.
Status AppendComponent(const Tensor& tensor, CompressedComponentMetadata* metadata, std::string* bytes) {
  metadata->set_dtype(static_cast<DataType>(tensor.dtype()));
  ToProto(tensor.shape(), metadata->mutable_tensor_shape());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.span<std::string>()) {
      metadata->add_uncompressed_bytes(text.size());
      bytes->append(text);
    }
    return OkStatus();
  }
  const size_t before = bytes->size();
  if (IsPlain(tensor.dtype())) {
    bytes->append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  } else {
    TensorProto proto;
    WEIR_RETURN_IF_ERROR(ToProto(tensor, &proto));
    if (!proto.AppendToString(bytes)) return InvalidArgument("A component is too large to be compressed");
  }
  metadata->add_uncompressed_bytes(bytes->size() - before);
  return OkStatus();
}

// Takes the component from the front of `bytes`. The metadata come from anywhere.
StatusOr<Tensor> TakeComponent(const CompressedComponentMetadata& metadata, std::string_view* bytes) {
  if (!IsValidDType(metadata.dtype())) return DataLoss("A compressed element has a component of no type");
  const auto dtype = static_cast<DType>(metadata.dtype());
  WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(metadata.tensor_shape()));
  auto take = [&](uint64_t size) -> StatusOr<std::string_view> {
    if (size > bytes->size()) return DataLoss("A compressed element is shorter than it says");
    std::string_view part = bytes->substr(0, size);
    bytes->remove_prefix(size);
    return part;
  };
  const auto& sizes = metadata.uncompressed_bytes();
  if (dtype == DType::kString) {
    if (sizes.size() != shape.num_elements()) return DataLoss("A compressed element has other strings than it says");
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
    for (int i = 0; i < sizes.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(out.data<std::string>()[i], take(sizes[i]));
    }
    return out;
  }
  if (sizes.size() != 1) return DataLoss("A compressed element has a component of no size");
  WEIR_ASSIGN_OR_RETURN(std::string_view part, take(sizes[0]));
  if (!IsPlain(dtype)) {
    TensorProto proto;
    if (!ParseBinaryProto(part, &proto)) return DataLoss("A component of a compressed element is no tensor");
    return FromProto(std::move(proto));
  }
  if (CheckedMultiply(shape.num_elements(), static_cast<int64_t>(SizeOf(dtype))) != static_cast<int64_t>(part.size())) {
    return DataLoss("A component of a compressed element has ", part.size(), " bytes, which do not fit its shape ",
                    shape.ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  std::copy(part.begin(), part.end(), static_cast<char*>(out.raw_data()));
  if (dtype == DType::kBool) {
    // Any other byte would not be a bool at all.
    for (char& byte : std::span(static_cast<char*>(out.raw_data()), part.size())) byte = byte != 0;
  }
  return out;
}

class CompressElementKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    auto out = std::make_shared<CompressedVariant>();
    std::string bytes;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      WEIR_RETURN_IF_ERROR(AppendComponent(ctx.input(i), out->element.add_component_metadata(), &bytes));
    }
    if (bytes.size() > std::numeric_limits<uint32_t>::max()) {
      return OutOfRange("Encountered dataset element of size ", bytes.size(), ", exceeding the 4GB Snappy limit.");
    }
    snappy::Compress(bytes.data(), bytes.size(), out->element.mutable_data());
    ctx.set_output(0, Tensor::Scalar(Variant(std::shared_ptr<VariantValue>(std::move(out)))));
    return OkStatus();
  }
};

class UncompressElementKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const auto* compressed = input.shape().IsScalar() ? input.scalar<Variant>().get_if<CompressedVariant>() : nullptr;
    if (compressed == nullptr) {
      return InvalidArgument("Input does not contain a compressed element. Instead got tensor ", input.ToString());
    }
    const CompressedElement& element = compressed->element;
    if (element.version() != 0) return Internal("Unsupported compressed element version: ", element.version());
    if (element.component_metadata_size() != ctx.num_outputs()) {
      return FailedPrecondition("Expected ", ctx.num_outputs(), " outputs from uncompress, but got ",
                                element.component_metadata_size());
    }
    constexpr size_t kMaxGrowth = 32;  // of snappy
    const std::string& data = element.data();
    size_t size = 0;
    std::string bytes;
    if (!snappy::GetUncompressedLength(data.data(), data.size(), &size) || size > data.size() * kMaxGrowth ||
        !snappy::Uncompress(data.data(), data.size(), &bytes)) {
      return DataLoss("A compressed element is damaged");
    }
    std::string_view rest = bytes;
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor component, TakeComponent(element.component_metadata(i), &rest));
      if (component.dtype() != ctx.output_type(i)) {
        return FailedPrecondition("Expected a tensor of type ", Name(ctx.output_type(i)), " but got a tensor of type ",
                                  Name(component.dtype()));
      }
      ctx.set_output(i, std::move(component));
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterCompressElementKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(CompressedVariant::kTypeName, CompressedVariant::Decode);
  registry.Add(KernelBuilder("CompressElement"), MakeKernel<CompressElementKernel>);
  registry.Add(KernelBuilder("UncompressElement"), MakeKernel<UncompressElementKernel>);
}

}  // namespace weir

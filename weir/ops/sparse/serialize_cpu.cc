// Sparse tensors as three serialised tensors, strings or variants: indices, values, shape.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/scratch.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// A tensor as a variant: what datasets carry sparse tensors in.
class TensorVariant : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::Tensor";
  explicit TensorVariant(Tensor value) : tensor(std::move(value)) {}
  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override { return VariantData{std::string(kTypeName), "", {tensor}}; }
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data) {
    if (data.tensors.size() != 1) return DataLoss("A tensor's variant holds ", data.tensors.size(), " tensors");
    return std::shared_ptr<VariantValue>(std::make_shared<TensorVariant>(std::move(data.tensors[0])));
  }
  const Tensor tensor;
};

// Puts a tensor into element `i` of `out`, which holds strings or variants.
Status Serialize(const Tensor& tensor, Tensor& out, int64_t i) {
  if (out.dtype() == DType::kVariant) {
    out.data<Variant>()[i] = Variant(std::shared_ptr<VariantValue>(std::make_shared<TensorVariant>(tensor)));
    return OkStatus();
  }
  TensorProto proto;
  WEIR_RETURN_IF_ERROR(ToProto(tensor, &proto, TensorEncoding::kWire));
  if (!proto.SerializeToString(&out.data<std::string>()[i])) {
    return InvalidArgument("The tensor is too large to be serialised");
  }
  return OkStatus();
}

StatusOr<Tensor> Parse(const Tensor& in, int64_t i, DType dtype) {
  Tensor tensor;
  if (in.dtype() == DType::kVariant) {
    const TensorVariant* held = in.data<Variant>()[i].get_if<TensorVariant>();
    if (held == nullptr) return InvalidArgument("Element ", i, " of the serialized sparse tensors holds no tensor");
    tensor = held->tensor;
  } else {
    TensorProto proto;
    if (!proto.ParseFromString(in.data<std::string>()[i])) return InvalidArgument("Could not parse serialized proto");
    WEIR_ASSIGN_OR_RETURN(tensor, FromProto(std::move(proto)));
  }
  if (tensor.dtype() != dtype) {
    return InvalidArgument("Requested SparseTensor of type ", Name(dtype),
                           " but SparseTensor[0].values.dtype() == ", Name(tensor.dtype()));
  }
  return tensor;
}

class SerializeSparseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape &indices = ctx.input(0).shape(), &values = ctx.input(1).shape(), &shape = ctx.input(2).shape();
    if (!indices.IsMatrix()) {
      return InvalidArgument("Input indices should be a matrix but received shape ", indices.ToString());
    }
    if (!values.IsVector()) {
      return InvalidArgument("Input values should be a vector but received shape ", values.ToString());
    }
    if (!shape.IsVector()) {
      return InvalidArgument("Input shape should be a vector but received shape ", shape.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({3})));
    for (int i = 0; i < 3; ++i) WEIR_RETURN_IF_ERROR(Serialize(ctx.input(i), *out, i));
    return OkStatus();
  }
};

// Entries are in order, none twice.
Status CheckAfter(const SparseInput& sparse, int64_t i) {
  const int64_t *before = sparse.index(i - 1), *here = sparse.index(i);
  const auto [b, h] = std::mismatch(before, before + sparse.rank(), here);
  if (b != before + sparse.rank() && *b < *h) return OkStatus();
  const std::string place = Cat("indices[", i, "] = [", absl::StrJoin(here, here + sparse.rank(), ","), "]");
  if (b == before + sparse.rank()) return InvalidArgument(place, " is repeated");
  return InvalidArgument(place, " is out of order. Many sparse ops require sorted indices.\n",
                         "    Use `tf.sparse.reorder` to create a correctly ordered copy.");
}

class SerializeManySparseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, ReadSparse(ctx, 0));
    if (sparse.rank() < 2)
      return InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", sparse.rank());
    const int64_t rows = sparse.shape.dim(0);
    const int inner = sparse.rank() - 1;
    WEIR_RETURN_IF_ERROR(CheckScratch(rows, sizeof(SparseOutput)));
    std::vector<SparseOutput> parts(rows, SparseOutput{inner});
    for (int64_t i = 0; i < sparse.count(); ++i) {
      if (i > 0) WEIR_RETURN_IF_ERROR(CheckAfter(sparse, i));
      parts[sparse.index(i)[0]].Add({sparse.index(i) + 1, static_cast<size_t>(inner)}, i);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({rows, 3})));
    const Tensor shape = ShapeVector(sparse.shape.Slice(1, sparse.rank()));
    for (int64_t row = 0; row < rows; ++row) {
      const SparseOutput& part = parts[row];
      WEIR_ASSIGN_OR_RETURN(Tensor indices, IndexMatrix(part.indices, static_cast<int64_t>(part.rows.size()), inner));
      WEIR_ASSIGN_OR_RETURN(Tensor values, TakeRows(sparse.values, part.rows));
      WEIR_RETURN_IF_ERROR(Serialize(indices, *out, row * 3));
      WEIR_RETURN_IF_ERROR(Serialize(values, *out, row * 3 + 1));
      WEIR_RETURN_IF_ERROR(Serialize(shape, *out, row * 3 + 2));
    }
    return OkStatus();
  }
};

// The dimensions before the last become leading dimensions of the result.
class DeserializeSparseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    if (input.rank() < 1 || input.dim(input.rank() - 1) != 3) {
      return InvalidArgument("Serialized sparse should have 3 as the last dimension but has shape ",
                             input.shape().ToString());
    }
    const Shape batch = input.shape().Slice(0, input.rank() - 1);
    const DType dtype = ctx.output_type(1);
    std::vector<SparseInput> parts;
    Dims widest;
    int64_t total = 0;
    for (int64_t i = 0; i < batch.num_elements(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor indices, Parse(input, i * 3, DType::kInt64));
      WEIR_ASSIGN_OR_RETURN(Tensor values, Parse(input, i * 3 + 1, dtype));
      WEIR_ASSIGN_OR_RETURN(Tensor shape, Parse(input, i * 3 + 2, DType::kInt64));
      WEIR_ASSIGN_OR_RETURN(SparseInput part, MakeSparse(indices, values, shape));
      if (i > 0 && part.rank() != static_cast<int>(widest.size())) {
        return InvalidArgument("Inconsistent shape across SparseTensors: rank prior to SparseTensor[", i,
                               "] was: ", widest.size(), " but rank of SparseTensor[", i, "] is: ", part.rank());
      }
      widest.resize(part.rank(), 0);
      for (int d = 0; d < part.rank(); ++d) widest[d] = std::max(widest[d], part.shape.dim(d));
      total += part.count();
      parts.push_back(std::move(part));
    }
    Shape shape = batch;
    for (int64_t dim : widest) WEIR_RETURN_IF_ERROR(shape.AddDim(dim));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, shape.rank()})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
    int64_t at = 0;
    for (size_t part = 0; part < parts.size(); ++part) {
      for (int64_t i = 0; i < parts[part].count(); ++i) {
        int64_t* index = indices->data<int64_t>() + (at + i) * shape.rank();
        int64_t rest = static_cast<int64_t>(part);
        for (int d = batch.rank(); d-- > 0;) {
          index[d] = rest % batch.dim(d);
          rest /= batch.dim(d);
        }
        std::copy_n(parts[part].index(i), parts[part].rank(), index + batch.rank());
      }
      CopyElements(dtype, parts[part].values.raw_data(),
                   static_cast<char*>(values->raw_data()) + at * static_cast<int64_t>(SizeOf(dtype)),
                   parts[part].count());
      at += parts[part].count();
    }
    ctx.set_output(2, ShapeVector(shape));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseSerializeKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(TensorVariant::kTypeName, TensorVariant::Decode);
  const std::vector<DType> text = {DType::kString, DType::kVariant};
  registry.Add(KernelBuilder("SerializeSparse").Types("out_type", text), MakeKernel<SerializeSparseKernel>);
  registry.Add(KernelBuilder("SerializeManySparse").Types("out_type", text), MakeKernel<SerializeManySparseKernel>);
  registry.Add(KernelBuilder("DeserializeSparse").Types("Tserialized", text), MakeKernel<DeserializeSparseKernel>);
  registry.Add(KernelBuilder("DeserializeManySparse"), MakeKernel<DeserializeSparseKernel>);
}

}  // namespace weir

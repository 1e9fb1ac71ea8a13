#include "weir/io/checkpoint_reader.h"
#include "weir/io/format_versions.h"
#include "weir/io/table_reader.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

int64_t NumValues(const TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return proto.float_val_size();
    case DType::kDouble:
      return proto.double_val_size();
    case DType::kString:
      return proto.string_val_size();
    case DType::kComplex64:
      return proto.scomplex_val_size() / 2;
    case DType::kComplex128:
      return proto.dcomplex_val_size() / 2;
    case DType::kInt64:
      return proto.int64_val_size();
    case DType::kBool:
      return proto.bool_val_size();
    case DType::kHalf:
    case DType::kBFloat16:
      return proto.half_val_size();
    case DType::kUInt32:
      return proto.uint32_val_size();
    case DType::kUInt64:
      return proto.uint64_val_size();
    default:
      return proto.int_val_size();
  }
}

class CheckpointV1Reader : public CheckpointReader {
 public:
  explicit CheckpointV1Reader(std::unique_ptr<TableReader> table) : table_(std::move(table)) {}

  Status ReadMeta() {
    WEIR_ASSIGN_OR_RETURN(std::optional<std::string> bytes, table_->Find(""));
    SavedTensorSlices all;
    if (!bytes.has_value() || !all.ParseFromString(*bytes) || !all.has_meta()) {
      return DataLoss(table_->path(), ": no list of tensors");
    }
    if (all.meta().versions().min_consumer() > kCheckpointV1Version) {
      return InvalidArgument("Checkpoint ", table_->path(), " needs a reader of version ",
                             all.meta().versions().min_consumer());
    }
    for (const SavedSliceMeta& meta : all.meta().tensor()) {
      if (!IsValidDType(meta.type()) || meta.type() == 0 || IsRef(static_cast<DType>(meta.type()))) {
        return DataLoss(table_->path(), ": bad type of '", meta.name(), "'");
      }
      CheckpointTensor tensor;
      tensor.dtype = static_cast<DType>(meta.type());
      StatusOr<Shape> shape = ShapeFromProto(meta.shape());
      if (!shape.ok()) return DataLoss(table_->path(), ": '", meta.name(), "': ", Message(shape.status()));
      tensor.shape = *std::move(shape);
      for (const TensorSliceProto& proto : meta.slice()) {
        StatusOr<TensorSlice> slice = TensorSlice::FromProto(proto);
        if (!slice.ok()) return DataLoss(table_->path(), ": '", meta.name(), "': ", Message(slice.status()));
        tensor.slices.push_back(*std::move(slice));
      }
      // A whole tensor has one slice that is full in every dimension.
      if (tensor.slices.size() == 1 &&
          tensor.slices[0].ToString() == TensorSlice::Full(tensor.shape.rank()).ToString()) {
        tensor.slices.clear();
      }
      tensors_[meta.name()] = std::move(tensor);
    }
    return OkStatus();
  }

  int format() const override { return 1; }

 protected:
  StatusOr<Tensor> ReadPiece(std::string_view name, const CheckpointTensor& tensor,
                             const TensorSlice* slice) const override {
    TensorSlice stored = slice != nullptr ? *slice : TensorSlice::Full(tensor.shape.rank());
    WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, stored.ClippedTo(tensor.shape));
    WEIR_ASSIGN_OR_RETURN(Shape shape, clipped.shape());
    WEIR_ASSIGN_OR_RETURN(std::optional<std::string> bytes, table_->Find(stored.Key(name)));
    SavedTensorSlices piece;
    if (!bytes.has_value() || !piece.ParseFromString(*bytes) || !piece.has_data()) {
      return DataLoss(table_->path(), ": no values of '", name, "' ", stored.ToString());
    }
    TensorProto* proto = piece.mutable_data()->mutable_data();
    if (NumValues(*proto, tensor.dtype) != shape.num_elements() || !proto->tensor_content().empty()) {
      return DataLoss(table_->path(), ": '", name, "' ", stored.ToString(), " has not as many values as its shape ",
                      shape.ToString());
    }
    // Only the values are stored here.
    proto->set_dtype(static_cast<DataType>(tensor.dtype));
    ToProto(shape, proto->mutable_tensor_shape());
    return FromProto(std::move(*proto));
  }

 private:
  std::unique_ptr<TableReader> table_;
};

}  // namespace

StatusOr<std::unique_ptr<CheckpointReader>> OpenCheckpointV1(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableReader> table, TableReader::Open(path));
  auto reader = std::make_unique<CheckpointV1Reader>(std::move(table));
  WEIR_RETURN_IF_ERROR(reader->ReadMeta());
  return std::unique_ptr<CheckpointReader>(std::move(reader));
}

}  // namespace weir

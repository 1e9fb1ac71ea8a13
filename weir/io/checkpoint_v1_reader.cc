#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"
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
  // One more file of a checkpoint; the parts of a tensor may be in several.
  Status Add(std::unique_ptr<TableReader> table) {
    WEIR_ASSIGN_OR_RETURN(std::optional<std::string> bytes, table->Find(""));
    SavedTensorSlices all;
    if (!bytes.has_value() || !all.ParseFromString(*bytes) || !all.has_meta()) {
      return DataLoss(table->path(), ": no list of tensors");
    }
    if (all.meta().versions().min_consumer() > kCheckpointV1Version) {
      return InvalidArgument("Checkpoint ", table->path(), " needs a reader of version ",
                             all.meta().versions().min_consumer());
    }
    for (const SavedSliceMeta& meta : all.meta().tensor()) {
      if (!IsValidDType(meta.type()) || meta.type() == 0 || IsRef(static_cast<DType>(meta.type()))) {
        return DataLoss(table->path(), ": bad type of '", meta.name(), "'");
      }
      CheckpointTensor tensor;
      tensor.dtype = static_cast<DType>(meta.type());
      StatusOr<Shape> shape = ShapeFromProto(meta.shape());
      if (!shape.ok()) return DataLoss(table->path(), ": '", meta.name(), "': ", Message(shape.status()));
      tensor.shape = *std::move(shape);
      for (const TensorSliceProto& proto : meta.slice()) {
        StatusOr<TensorSlice> slice = TensorSlice::FromProto(proto);
        if (!slice.ok()) return DataLoss(table->path(), ": '", meta.name(), "': ", Message(slice.status()));
        tensor.slices.push_back(*std::move(slice));
      }
      // A whole tensor has one slice that is full in every dimension.
      if (tensor.slices.size() == 1 &&
          tensor.slices[0].ToString() == TensorSlice::Full(tensor.shape.rank()).ToString()) {
        tensor.slices.clear();
      }
      auto [known, is_new] = tensors_.try_emplace(meta.name(), tensor);
      if (is_new) continue;
      if (known->second.dtype != tensor.dtype || known->second.shape != tensor.shape) {
        return InvalidArgument(table->path(), ": '", meta.name(), "' has another type or shape than in other files");
      }
      if (known->second.slices.empty() || tensor.slices.empty()) return DataLoss("'", meta.name(), "' is there twice");
      known->second.slices.insert(known->second.slices.end(), tensor.slices.begin(), tensor.slices.end());
    }
    tables_.push_back(std::move(table));
    return OkStatus();
  }

  int format() const override { return 1; }

 protected:
  StatusOr<Tensor> ReadPiece(std::string_view name, const CheckpointTensor& tensor,
                             const TensorSlice* slice) const override {
    TensorSlice stored = slice != nullptr ? *slice : TensorSlice::Full(tensor.shape.rank());
    WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, stored.ClippedTo(tensor.shape));
    WEIR_ASSIGN_OR_RETURN(Shape shape, clipped.shape());
    const TableReader* table = nullptr;
    std::optional<std::string> bytes;
    for (size_t i = 0; i < tables_.size() && !bytes.has_value(); ++i) {
      table = tables_[i].get();
      WEIR_ASSIGN_OR_RETURN(bytes, table->Find(stored.Key(name)));
    }
    SavedTensorSlices piece;
    if (!bytes.has_value() || !piece.ParseFromString(*bytes) || !piece.has_data()) {
      return DataLoss(table->path(), ": no values of '", name, "' ", stored.ToString());
    }
    TensorProto* proto = piece.mutable_data()->mutable_data();
    if (NumValues(*proto, tensor.dtype) != shape.num_elements() || !proto->tensor_content().empty()) {
      return DataLoss(table->path(), ": '", name, "' ", stored.ToString(), " has not as many values as its shape ",
                      shape.ToString());
    }
    // Only the values are stored here.
    proto->set_dtype(static_cast<DataType>(tensor.dtype));
    ToProto(shape, proto->mutable_tensor_shape());
    return FromProto(std::move(*proto));
  }

 private:
  std::vector<std::unique_ptr<TableReader>> tables_;
};

}  // namespace

StatusOr<std::unique_ptr<CheckpointReader>> OpenCheckpointV1(const std::string& path) {
  std::vector<std::string> paths = {path};
  if (!IsFile(path)) {
    WEIR_ASSIGN_OR_RETURN(paths, MatchFiles(path));
  }
  if (paths.empty()) {
    return NotFound("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ", path);
  }
  auto reader = std::make_unique<CheckpointV1Reader>();
  for (const std::string& each : paths) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableReader> table, TableReader::Open(each));
    WEIR_RETURN_IF_ERROR(reader->Add(std::move(table)));
  }
  return std::unique_ptr<CheckpointReader>(std::move(reader));
}

}  // namespace weir

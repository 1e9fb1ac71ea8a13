#include "weir/io/checkpoint_reader.h"

#include "weir/io/file.h"
#include "weir/io/proto_file.h"
#include "weir/proto/checkpoint.pb.h"

namespace weir {

StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(const std::string& prefix) {
  if (IsFile(Cat(prefix, ".index"))) return OpenBundle(prefix);
  return OpenCheckpointV1(prefix);
}

StatusOr<const CheckpointTensor*> CheckpointReader::Find(std::string_view name) const {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) return NotFound("Key ", name, " not found in checkpoint");
  return &found->second;
}

StatusOr<Tensor> CheckpointReader::Read(std::string_view name) const {
  WEIR_ASSIGN_OR_RETURN(const CheckpointTensor* tensor, Find(name));
  if (tensor->slices.empty()) return ReadPiece(name, *tensor, nullptr);
  WEIR_ASSIGN_OR_RETURN(TensorSlice box, TensorSlice::Full(tensor->shape.rank()).ClippedTo(tensor->shape));
  return Assemble(name, *tensor, box);
}

StatusOr<Tensor> CheckpointReader::ReadSlice(std::string_view name, const TensorSlice& slice) const {
  WEIR_ASSIGN_OR_RETURN(const CheckpointTensor* tensor, Find(name));
  WEIR_ASSIGN_OR_RETURN(TensorSlice box, slice.ClippedTo(tensor->shape));
  return Assemble(name, *tensor, box);
}

StatusOr<Tensor> CheckpointReader::Assemble(std::string_view name, const CheckpointTensor& tensor,
                                            const TensorSlice& box) const {
  WEIR_ASSIGN_OR_RETURN(Shape shape, box.shape());
  struct Piece {
    const TensorSlice* slice;  // null: the whole
    TensorSlice clipped;
    TensorSlice part;
  };
  std::vector<Piece> pieces;
  int64_t covered = 0;
  auto add = [&](const TensorSlice* slice) -> Status {
    TensorSlice stored = slice != nullptr ? *slice : TensorSlice::Full(tensor.shape.rank());
    WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, stored.ClippedTo(tensor.shape));
    std::optional<TensorSlice> part = clipped.Intersect(box);
    if (!part.has_value()) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Shape part_shape, part->shape());
    std::optional<int64_t> sum = CheckedAdd(covered, part_shape.num_elements());
    if (!sum.has_value()) return DataLoss("Slices of '", name, "' overlap");
    covered = *sum;
    pieces.push_back({slice, std::move(clipped), *std::move(part)});
    return OkStatus();
  };
  if (tensor.slices.empty()) WEIR_RETURN_IF_ERROR(add(nullptr));
  for (const TensorSlice& slice : tensor.slices) WEIR_RETURN_IF_ERROR(add(&slice));
  if (covered != shape.num_elements()) {
    return InvalidArgument("The stored slices of '", name, "' do not cover ", box.ToString(), " of shape ",
                           tensor.shape.ToString());
  }
  // All pieces are read first: a wrong shape with too few bytes behind it then costs no memory.
  std::vector<Tensor> values;
  for (const Piece& piece : pieces) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, ReadPiece(name, tensor, piece.slice));
    values.push_back(std::move(value));
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(tensor.dtype, shape));
  for (size_t i = 0; i < pieces.size(); ++i) CopyPart(pieces[i].part, values[i], pieces[i].clipped, out, box);
  return out;
}

StatusOr<std::string> LatestCheckpoint(const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(Cat(folder, "/checkpoint")));
  CheckpointState state;
  if (!ParseTextProto(text, &state).ok() || state.model_checkpoint_path().empty()) {
    return InvalidArgument(folder, "/checkpoint does not name a checkpoint");
  }
  const std::string& path = state.model_checkpoint_path();
  return path.starts_with('/') ? path : Cat(folder, "/", path);
}

}  // namespace weir

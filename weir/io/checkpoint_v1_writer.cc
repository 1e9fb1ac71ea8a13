#include "weir/io/checkpoint_v1_writer.h"

#include <map>

#include "weir/io/file_system.h"
#include "weir/io/format_versions.h"
#include "weir/io/table_writer.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {}  // namespace

struct CheckpointV1Writer::State {
  std::string path;
  SavedTensorSlices meta;
  std::map<std::string, int> places;           // of the tensors in `meta`
  std::map<std::string, std::string> entries;  // by slice key
};

CheckpointV1Writer::CheckpointV1Writer(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->meta.mutable_meta()->mutable_versions()->set_producer(kCheckpointV1Version);
}

CheckpointV1Writer::~CheckpointV1Writer() = default;

Status CheckpointV1Writer::Add(const std::string& name, const Shape& whole, const TensorSlice& slice,
                               const Tensor& tensor) {
  const std::string key = slice.Key(name);
  if (state_->entries.contains(key)) {
    return InvalidArgument("Slice ", slice.ToString(), " of tensor ", name, " is already in the checkpoint");
  }
  auto [place, fresh] = state_->places.try_emplace(name, state_->meta.meta().tensor_size());
  SavedSliceMeta* meta =
      fresh ? state_->meta.mutable_meta()->add_tensor() : state_->meta.mutable_meta()->mutable_tensor(place->second);
  if (fresh) {
    meta->set_name(name);
    ToProto(whole, meta->mutable_shape());
    meta->set_type(static_cast<DataType>(tensor.dtype()));
  } else {
    WEIR_ASSIGN_OR_RETURN(Shape before, ShapeFromProto(meta->shape()));
    if (before != whole || static_cast<DType>(meta->type()) != tensor.dtype()) {
      return InvalidArgument("Mismatching shapes or types of tensor ", name, ": ", before.ToString(), " of ",
                             Name(static_cast<DType>(meta->type())), ", ", whole.ToString(), " of ",
                             Name(tensor.dtype()));
    }
  }
  slice.ToProto(meta->add_slice());

  SavedTensorSlices piece;
  piece.mutable_data()->set_name(name);
  slice.ToProto(piece.mutable_data()->mutable_slice());
  TensorProto* data = piece.mutable_data()->mutable_data();
  WEIR_RETURN_IF_ERROR(ToProto(tensor, data, TensorEncoding::kFields));
  // Type and shape are in the meta data.
  data->clear_dtype();
  data->clear_tensor_shape();
  if (!piece.SerializeToString(&state_->entries[key])) return Internal("Cannot serialize tensor ", name);
  return OkStatus();
}

Status CheckpointV1Writer::Finish() {
  TableWriter table;
  table.Add("", state_->meta.SerializeAsString());
  for (const auto& [key, value] : state_->entries) table.Add(key, value);
  const std::string bytes = table.Finish();
  // Others see the file only when it is whole.
  const std::string temporary = state_->path + ".tempstate";
  WEIR_RETURN_IF_ERROR(WriteWholeFile(temporary, bytes));
  return RenameFile(temporary, state_->path);
}

}  // namespace weir

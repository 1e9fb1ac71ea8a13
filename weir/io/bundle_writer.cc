#include "weir/io/bundle_writer.h"

#include <map>
#include <random>

#include "weir/io/bundle_strings_internal.h"
#include "weir/io/crc32c.h"
#include "weir/io/file_system.h"
#include "weir/io/format_versions.h"
#include "weir/io/table_writer.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr size_t kWritePiece = 256 << 10;

constexpr char kOnlyShard[] = ".data-00000-of-00001";

std::string TemporarySuffix() {
  std::random_device random;
  return Cat(".tempstate", (static_cast<uint64_t>(random()) << 32) | random());
}

}  // namespace

struct BundleWriter::State {
  std::string prefix;
  std::string data_path, index_path;  // temporary names
  std::unique_ptr<WritableFile> data;
  int64_t size = 0;
  std::map<std::string, BundleEntryProto> entries;
};

BundleWriter::BundleWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

BundleWriter::~BundleWriter() {
  if (state_->data_path.empty()) return;
  state_->data.reset();
  RemoveFile(state_->data_path).IgnoreError();
  RemoveFile(state_->index_path).IgnoreError();
}

StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(const std::string& prefix) {
  if (std::string folder = FolderOf(prefix); !folder.empty()) {
    // One folder is made, as TensorFlow does; a path of several is rather a mistake.
    if (std::string above = FolderOf(folder); !above.empty()) WEIR_RETURN_IF_ERROR(StatFile(above).status());
    WEIR_RETURN_IF_ERROR(MakeFolders(folder));
  }
  auto state = std::make_unique<State>();
  std::string suffix = TemporarySuffix();
  state->prefix = prefix;
  state->data_path = Cat(prefix, kOnlyShard, suffix);
  state->index_path = Cat(prefix, ".index", suffix);
  WEIR_ASSIGN_OR_RETURN(state->data, OpenForWriting(state->data_path));
  return std::unique_ptr<BundleWriter>(new BundleWriter(std::move(state)));
}

Status BundleWriter::AddEntry(const std::string& key, const Tensor& tensor) {
  if (key.empty()) return InvalidArgument("A tensor of a checkpoint needs a name");
  if (state_->entries.contains(key)) return InvalidArgument("Adding duplicate key: ", key);
  std::string packed;
  std::string_view bytes;
  uint32_t crc = 0;
  if (IsPlain(tensor.dtype())) {
    bytes = {static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()};
    // The checksum is taken of each piece just before it is written, so that it comes from memory once.
    for (size_t begin = 0; begin < bytes.size(); begin += kWritePiece) {
      const std::string_view piece = bytes.substr(begin, kWritePiece);
      crc = ExtendCrc32c(crc, piece);
      WEIR_RETURN_IF_ERROR(state_->data->Append(piece));
    }
    crc = MaskCrc(crc);
  } else {
    WEIR_ASSIGN_OR_RETURN(packed, FormatBundleElements(tensor, &crc));
    bytes = packed;
    WEIR_RETURN_IF_ERROR(state_->data->Append(bytes));
  }
  BundleEntryProto& entry = state_->entries[key];
  entry.set_dtype(static_cast<DataType>(tensor.dtype()));
  ToProto(tensor.shape(), entry.mutable_shape());
  entry.set_offset(state_->size);
  entry.set_size(static_cast<int64_t>(bytes.size()));
  entry.set_crc32c(crc);
  state_->size += static_cast<int64_t>(bytes.size());
  return OkStatus();
}

Status BundleWriter::Add(const std::string& name, const Tensor& tensor) { return AddEntry(name, tensor); }

Status BundleWriter::AddSlice(const std::string& name, const Shape& whole, const TensorSlice& slice,
                              const Tensor& tensor) {
  WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, slice.ClippedTo(whole));
  WEIR_ASSIGN_OR_RETURN(Shape shape, clipped.shape());
  if (!(shape == tensor.shape())) {
    return InvalidArgument("Slice ", slice.ToString(), " of '", name, "' has shape ", shape.ToString(), ", its tensor ",
                           tensor.shape().ToString());
  }
  if (shape == whole) return AddEntry(name, tensor);
  auto found = state_->entries.find(name);
  if (found == state_->entries.end()) {
    BundleEntryProto& entry = state_->entries[name];
    entry.set_dtype(static_cast<DataType>(tensor.dtype()));
    ToProto(whole, entry.mutable_shape());
    found = state_->entries.find(name);
  } else if (found->second.slices_size() == 0) {
    return InvalidArgument("Adding duplicate key: ", name);
  }
  WEIR_ASSIGN_OR_RETURN(Shape stored, ShapeFromProto(found->second.shape()));
  if (!(stored == whole) || found->second.dtype() != static_cast<DataType>(tensor.dtype())) {
    return InvalidArgument("Slices of '", name, "' disagree about its type or shape");
  }
  WEIR_RETURN_IF_ERROR(AddEntry(slice.Key(name), tensor));
  slice.ToProto(found->second.add_slices());
  return OkStatus();
}

Status BundleWriter::Finish() {
  WEIR_RETURN_IF_ERROR(state_->data->Close());
  BundleHeaderProto header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(kBundleVersion);
  TableWriter table;
  table.Add("", header.SerializeAsString());
  for (const auto& [key, entry] : state_->entries) table.Add(key, entry.SerializeAsString());
  WEIR_RETURN_IF_ERROR(WriteWholeFile(state_->index_path, table.Finish()));
  // The index last: without it there is no checkpoint.
  WEIR_RETURN_IF_ERROR(RenameFile(state_->data_path, Cat(state_->prefix, kOnlyShard)));
  WEIR_RETURN_IF_ERROR(RenameFile(state_->index_path, Cat(state_->prefix, ".index")));
  state_->data_path.clear();
  return OkStatus();
}

}  // namespace weir

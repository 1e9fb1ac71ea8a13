#include "weir/io/bundle_writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "weir/io/bundle_strings_internal.h"
#include "weir/io/crc32c.h"
#include "weir/io/table_writer.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr int kBundleVersion = 1;
constexpr char kOnlyShard[] = ".data-00000-of-00001";

std::string TemporarySuffix() {
  std::random_device random;
  return Cat(".tempstate", (static_cast<uint64_t>(random()) << 32) | random());
}

Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return OkStatus();
  return Unknown("cannot rename ", from, " to ", to, ": ", std::strerror(errno));
}

}  // namespace

struct BundleWriter::State {
  std::string prefix;
  std::string data_path, index_path;  // temporary names
  std::ofstream data;
  int64_t size = 0;
  std::map<std::string, BundleEntryProto> entries;
};

BundleWriter::BundleWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

BundleWriter::~BundleWriter() {
  if (state_->data_path.empty()) return;
  state_->data.close();
  std::remove(state_->data_path.c_str());
  std::remove(state_->index_path.c_str());
}

StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Create(const std::string& prefix) {
  if (size_t slash = prefix.rfind('/'); slash != prefix.npos && slash > 0) {
    std::string folder = prefix.substr(0, slash);
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      return NotFound("cannot make folder ", folder, "; ", std::strerror(errno));
    }
  }
  auto state = std::make_unique<State>();
  std::string suffix = TemporarySuffix();
  state->prefix = prefix;
  state->data_path = Cat(prefix, kOnlyShard, suffix);
  state->index_path = Cat(prefix, ".index", suffix);
  state->data.open(state->data_path, std::ios::binary);
  if (!state->data) return PermissionDenied("cannot write ", state->data_path);
  return std::unique_ptr<BundleWriter>(new BundleWriter(std::move(state)));
}

Status BundleWriter::AddEntry(const std::string& key, const Tensor& tensor) {
  if (key.empty()) return InvalidArgument("A tensor of a checkpoint needs a name");
  if (state_->entries.contains(key)) return InvalidArgument("Adding duplicate key: ", key);
  std::string packed;
  std::string_view bytes;
  uint32_t crc;
  if (IsPlain(tensor.dtype())) {
    bytes = {static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()};
    crc = MaskCrc(Crc32c(bytes));
  } else {
    WEIR_ASSIGN_OR_RETURN(packed, FormatBundleElements(tensor, &crc));
    bytes = packed;
  }
  BundleEntryProto& entry = state_->entries[key];
  entry.set_dtype(static_cast<DataType>(tensor.dtype()));
  ToProto(tensor.shape(), entry.mutable_shape());
  entry.set_offset(state_->size);
  entry.set_size(static_cast<int64_t>(bytes.size()));
  entry.set_crc32c(crc);
  state_->data.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!state_->data) return Unknown("cannot write ", state_->data_path);
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
  state_->data.close();
  if (!state_->data) return Unknown("cannot write ", state_->data_path);
  BundleHeaderProto header;
  header.set_num_shards(1);
  header.mutable_version()->set_producer(kBundleVersion);
  TableWriter table;
  table.Add("", header.SerializeAsString());
  for (const auto& [key, entry] : state_->entries) table.Add(key, entry.SerializeAsString());
  std::string bytes = table.Finish();
  std::ofstream index(state_->index_path, std::ios::binary);
  index.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  index.close();
  if (!index) return Unknown("cannot write ", state_->index_path);
  // The index last: without it there is no checkpoint.
  WEIR_RETURN_IF_ERROR(Rename(state_->data_path, Cat(state_->prefix, kOnlyShard)));
  WEIR_RETURN_IF_ERROR(Rename(state_->index_path, Cat(state_->prefix, ".index")));
  state_->data_path.clear();
  return OkStatus();
}

}  // namespace weir

#include <algorithm>
#include <cstdio>

#include "absl/synchronization/mutex.h"
#include "weir/io/bundle_strings_internal.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/crc32c.h"
#include "weir/io/file.h"
#include "weir/io/format_versions.h"
#include "weir/io/table_reader.h"
#include "weir/proto/checkpoint.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr uint64_t kReadPiece = 256 << 10;

class BundleReader : public CheckpointReader {
 public:
  explicit BundleReader(const std::string& prefix) : prefix_(prefix) {}

  Status ReadIndex() {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableReader> table, TableReader::Open(Cat(prefix_, ".index")));
    bool has_header = false;
    // Keys share their beginnings in the file; a damaged one must not blow them up without end.
    uint64_t key_bytes_left = 64 * table->file_bytes();
    WEIR_RETURN_IF_ERROR(table->ForEach([&](std::string_view key, std::string_view value) {
      if (key.size() > key_bytes_left) return DataLoss(prefix_, ".index: its names are too long");
      key_bytes_left -= key.size();
      if (!has_header) {
        has_header = true;
        return ReadHeader(key, value);
      }
      return ReadEntry(key, value);
    }));
    if (!has_header) return DataLoss(prefix_, ".index has no header");
    return OkStatus();
  }

  int format() const override { return 2; }

 protected:
  StatusOr<Tensor> ReadPiece(std::string_view name, const CheckpointTensor& tensor,
                             const TensorSlice* slice) const override {
    std::string key = slice != nullptr ? slice->Key(name) : std::string(name);
    auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      return DataLoss("Slice ", slice != nullptr ? slice->ToString() : "-", " of '", name, "' is not in ", prefix_);
    }
    Shape shape = tensor.shape;
    if (slice != nullptr) {
      WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, slice->ClippedTo(tensor.shape));
      WEIR_ASSIGN_OR_RETURN(shape, clipped.shape());
    }
    StatusOr<Tensor> out = ReadStored(entry->second, tensor.dtype, shape);
    if (!out.ok()) return Annotate(out.status(), Cat("Tensor '", name, "' of ", prefix_, ": "));
    return out;
  }

 private:
  struct Stored {
    DType dtype;
    int shard;
    int64_t offset;
    int64_t size;
    uint32_t crc;  // masked
  };

  Status ReadHeader(std::string_view key, std::string_view value) {
    BundleHeaderProto header;
    if (!key.empty() || !header.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return DataLoss(prefix_, ".index has no header");
    }
    if (header.endianness() != BundleHeaderProto::LITTLE) {
      return Unimplemented(prefix_, ".index: checkpoints of big-endian machines cannot be read");
    }
    if (header.version().min_consumer() > kBundleVersion || header.version().producer() < 0) {
      return InvalidArgument("Checkpoint ", prefix_, " needs a reader of version ", header.version().min_consumer(),
                             ", this one is ", kBundleVersion);
    }
    if (header.num_shards() < 1) return DataLoss(prefix_, ".index names ", header.num_shards(), " shards");
    num_shards_ = header.num_shards();
    return OkStatus();
  }

  Status ReadEntry(std::string_view key, std::string_view value) {
    BundleEntryProto proto;
    if (!proto.ParseFromArray(value.data(), static_cast<int>(value.size())) || !IsValidDType(proto.dtype()) ||
        proto.dtype() == 0 || IsRef(static_cast<DType>(proto.dtype()))) {
      return DataLoss(prefix_, ".index: bad entry of '", key, "'");
    }
    CheckpointTensor tensor;
    tensor.dtype = static_cast<DType>(proto.dtype());
    StatusOr<Shape> shape = ShapeFromProto(proto.shape());
    if (!shape.ok()) return DataLoss(prefix_, ".index: shape of '", key, "': ", Message(shape.status()));
    tensor.shape = *std::move(shape);
    for (const TensorSliceProto& slice_proto : proto.slices()) {
      StatusOr<TensorSlice> slice = TensorSlice::FromProto(slice_proto);
      if (!slice.ok()) return DataLoss(prefix_, ".index: slice of '", key, "': ", Message(slice.status()));
      tensor.slices.push_back(*std::move(slice));
    }
    if (tensor.slices.empty()) {
      if (proto.shard_id() < 0 || proto.shard_id() >= num_shards_ || proto.offset() < 0 || proto.size() < 0) {
        return DataLoss(prefix_, ".index: '", key, "' lies outside the data");
      }
      entries_[std::string(key)] = {tensor.dtype, proto.shard_id(), proto.offset(), proto.size(), proto.crc32c()};
    }
    // Keys of slices begin with a zero byte; no tensor's name does.
    if (!key.starts_with('\0')) tensors_[std::string(key)] = std::move(tensor);
    return OkStatus();
  }

  StatusOr<const RandomAccessFile*> Shard(int shard) const {
    absl::MutexLock lock(&mu_);
    std::unique_ptr<RandomAccessFile>& file = shards_[shard];
    if (file == nullptr) {
      char suffix[64];
      std::snprintf(suffix, sizeof(suffix), ".data-%05d-of-%05d", shard, num_shards_);
      WEIR_ASSIGN_OR_RETURN(file, RandomAccessFile::Open(prefix_ + suffix));
    }
    return file.get();
  }

  StatusOr<Tensor> ReadStored(const Stored& stored, DType dtype, const Shape& shape) const {
    if (stored.dtype != dtype) return DataLoss("its slice has type ", Name(stored.dtype), ", not ", Name(dtype));
    WEIR_ASSIGN_OR_RETURN(const RandomAccessFile* file, Shard(stored.shard));
    uint64_t offset = static_cast<uint64_t>(stored.offset), size = static_cast<uint64_t>(stored.size);
    if (offset > file->size() || size > file->size() - offset) {
      return DataLoss(file->path(), " has no ", stored.size, " bytes at ", stored.offset);
    }
    if (!IsPlain(dtype)) {
      WEIR_ASSIGN_OR_RETURN(std::string bytes, file->Read(offset, size));
      return ParseBundleElements(bytes, dtype, shape, stored.crc);
    }
    std::optional<int64_t> want = CheckedMultiply(shape.num_elements(), static_cast<int64_t>(SizeOf(dtype)));
    if (!want.has_value() || *want != stored.size) {
      return DataLoss("shape ", shape.ToString(), " of ", Name(dtype), " does not take ", stored.size, " bytes");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
    char* data = static_cast<char*>(out.raw_data());
    // The checksum is taken of each piece while it is in the cache.
    uint32_t crc = 0;
    for (uint64_t begin = 0; begin < size; begin += kReadPiece) {
      const uint64_t piece = std::min(size - begin, kReadPiece);
      WEIR_RETURN_IF_ERROR(file->Read(offset + begin, piece, data + begin));
      crc = ExtendCrc32c(crc, {data + begin, piece});
    }
    if (MaskCrc(crc) != stored.crc) return DataLoss("Checksum does not match");
    if (dtype == DType::kBool) {
      // Any other byte would not be a bool at all.
      for (uint64_t i = 0; i < size; ++i) data[i] = data[i] != 0;
    }
    return out;
  }

  std::string prefix_;
  int num_shards_ = 0;
  std::map<std::string, Stored> entries_;  // by key of the table
  mutable absl::Mutex mu_;
  mutable std::map<int, std::unique_ptr<RandomAccessFile>> shards_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

StatusOr<std::unique_ptr<CheckpointReader>> OpenBundle(const std::string& prefix) {
  auto reader = std::make_unique<BundleReader>(prefix);
  WEIR_RETURN_IF_ERROR(reader->ReadIndex());
  return std::unique_ptr<CheckpointReader>(std::move(reader));
}

}  // namespace weir

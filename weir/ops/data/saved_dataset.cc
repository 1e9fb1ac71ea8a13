#include "weir/ops/data/saved_dataset.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "weir/io/file.h"
#include "weir/io/proto_file.h"
#include "weir/ops/data/file_dataset.h"
#include "weir/proto/snapshot.pb.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr int64_t kRecordsVersion = 2;  // the other version packs its records in blocks of snappy
constexpr std::string_view kShardEnding = ".shard", kFileEnding = ".snapshot";

std::string MetadataFile(const std::string& path) { return path + "/snapshot.metadata"; }

std::string FileName(const std::string& shard, int64_t file) {
  return absl::StrFormat("%s/%08d%s", shard, file, kFileEnding);
}

std::string NewRun() {
  std::random_device device;
  return Cat(static_cast<uint64_t>(device()) << 32 | device());
}

// The elements of one file.
class SavedElements : public ElementReader {
 public:
  SavedElements(std::unique_ptr<InputStream> stream, ElementSpec spec, int64_t start)
      : reader_(std::move(stream)), spec_(std::move(spec)), start_(start) {}
  Status Next(Element* out, bool* end) override {
    for (size_t i = 0; i < spec_.types.size(); ++i) {
      std::string record;
      Status status = reader_.Read(&record);
      if (status.code() == absl::StatusCode::kOutOfRange) {
        if (i > 0) return DataLoss("A saved dataset ends inside an element");
        *end = true;
        return OkStatus();
      }
      WEIR_RETURN_IF_ERROR(status);
      TensorProto proto;
      if (!ParseBinaryProto(record, &proto)) return DataLoss("A record of a saved dataset is no tensor");
      WEIR_ASSIGN_OR_RETURN(Tensor tensor, FromProto(std::move(proto)));
      out->push_back(std::move(tensor));
    }
    return CheckElement(spec_, *out);
  }
  int64_t offset() const override { return start_ + static_cast<int64_t>(reader_.offset()); }

 private:
  RecordReader reader_;
  const ElementSpec spec_;
  const int64_t start_;
};

StatusOr<SnapshotMetadataRecord> ReadMetadata(const std::string& path) {
  const std::string file = MetadataFile(path);
  if (!IsFile(file)) return NotFound("Could not find metadata file [", path, "]");
  WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(file));
  SnapshotMetadataRecord record;
  if (!ParseBinaryProto(bytes, &record)) return DataLoss(file, " is no metadata of a saved dataset");
  return record;
}

StatusOr<SnapshotMetadataRecord> ReadFinishedMetadata(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(SnapshotMetadataRecord record, ReadMetadata(path));
  if (!record.finalized()) return FailedPrecondition("The dataset in ", path, " was not saved to its end");
  if (record.version() != kRecordsVersion) {
    return Unimplemented("Saved datasets of version ", record.version(), " cannot be read");
  }
  return record;
}

Status CheckTypes(const SnapshotMetadataRecord& record, const ElementSpec& spec) {
  std::vector<DType> saved;
  for (int type : record.dtype()) saved.push_back(static_cast<DType>(type));
  return CheckTypesMatch(spec.types, saved);
}

// In the order of their numbers.
StatusOr<std::vector<std::string>> NamesIn(const std::string& folder, std::string_view ending) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListFolder(folder));
  std::erase_if(names, [&](const std::string& name) { return !std::string_view(name).ends_with(ending); });
  std::sort(names.begin(), names.end());
  for (std::string& name : names) name = Cat(folder, "/", name);
  return names;
}

}  // namespace

StatusOr<Compression> ParseSavedCompression(std::string_view name) {
  if (name == "AUTO") return Compression::kSnappy;
  if (name == "NONE") return Compression::kNone;
  return ParseRecordCompression(name);
}

StatusOr<SavedStage> FindSavedStage(const std::string& path, int64_t expiry_seconds) {
  StatusOr<SnapshotMetadataRecord> record = ReadMetadata(path);
  if (record.status().code() == absl::StatusCode::kNotFound) return SavedStage::kNone;
  WEIR_RETURN_IF_ERROR(record.status());
  if (record->finalized()) return SavedStage::kComplete;
  const absl::Time begun = absl::FromUnixMicros(record->creation_timestamp());
  return begun >= absl::Now() - absl::Seconds(expiry_seconds) ? SavedStage::kBegun : SavedStage::kNone;
}

StatusOr<std::unique_ptr<SavedDatasetWriter>> SavedDatasetWriter::Create(std::string path, Compression compression,
                                                                         const std::vector<DType>& types,
                                                                         std::string graph_hash) {
  return Resume(std::move(path), compression, types, std::move(graph_hash), {.id = NewRun()});
}

StatusOr<std::unique_ptr<SavedDatasetWriter>> SavedDatasetWriter::Resume(std::string path, Compression compression,
                                                                         const std::vector<DType>& types,
                                                                         std::string graph_hash, SavedRun run) {
  std::unique_ptr<SavedDatasetWriter> writer(
      new SavedDatasetWriter(std::move(path), compression, types, std::move(graph_hash), std::move(run)));
  WEIR_RETURN_IF_ERROR(MakeFolders(writer->RunFolder()));
  WEIR_RETURN_IF_ERROR(writer->RemoveFilesFrom(writer->run_.file));
  WEIR_RETURN_IF_ERROR(writer->WriteMetadata(/*finished=*/false));
  return writer;
}

Status SavedDatasetWriter::WriteMetadata(bool finished) const {
  SnapshotMetadataRecord record;
  record.set_graph_hash(graph_hash_);
  record.set_run_id(run_.id);
  record.set_creation_timestamp(absl::ToUnixMicros(absl::Now()));
  record.set_version(kRecordsVersion);
  for (DType type : types_) record.add_dtype(static_cast<DataType>(type));
  record.set_num_elements(run_.count);
  record.set_finalized(finished);
  return WriteWholeFile(MetadataFile(path_), record.SerializeAsString());
}

Status SavedDatasetWriter::RemoveFilesFrom(int64_t file) const {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> shards, NamesIn(RunFolder(), kShardEnding));
  for (const std::string& shard : shards) {
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> files, NamesIn(shard, kFileEnding));
    for (const std::string& name : files) {
      if (name >= FileName(shard, file)) WEIR_RETURN_IF_ERROR(RemoveFile(name));
    }
  }
  return OkStatus();
}

StatusOr<RecordWriter*> SavedDatasetWriter::ShardWriter(int64_t shard) {
  std::unique_ptr<RecordWriter>& writer = shards_[shard];
  if (writer == nullptr) {
    const std::string folder = absl::StrFormat("%s/%08d%s", RunFolder(), shard, kShardEnding);
    WEIR_RETURN_IF_ERROR(MakeFolders(folder));
    WEIR_ASSIGN_OR_RETURN(writer, RecordWriter::Create(FileName(folder, run_.file), compression_));
  }
  return writer.get();
}

Status SavedDatasetWriter::Write(int64_t shard, const Element& element) {
  if (shard < 0) return InvalidArgument("The shard of an element must not be negative, got ", shard);
  WEIR_ASSIGN_OR_RETURN(RecordWriter * writer, ShardWriter(shard));
  for (const Tensor& tensor : element) {
    TensorProto proto;
    WEIR_RETURN_IF_ERROR(ToProto(tensor, &proto, TensorEncoding::kWire));
    WEIR_RETURN_IF_ERROR(writer->Write(proto.SerializeAsString()));
  }
  ++run_.count;
  return OkStatus();
}

Status SavedDatasetWriter::CloseFiles() {
  for (const auto& [number, writer] : shards_) WEIR_RETURN_IF_ERROR(writer->Close());
  shards_.clear();
  return OkStatus();
}

StatusOr<SavedRun> SavedDatasetWriter::Pause() {
  WEIR_RETURN_IF_ERROR(CloseFiles());
  ++run_.file;
  return run_;
}

Status SavedDatasetWriter::Finish() {
  WEIR_RETURN_IF_ERROR(CloseFiles());
  return WriteMetadata(/*finished=*/true);
}

StatusOr<SavedDataset> OpenSavedDataset(const std::string& path, Compression compression, const ElementSpec& spec) {
  WEIR_ASSIGN_OR_RETURN(SnapshotMetadataRecord record, ReadFinishedMetadata(path));
  WEIR_RETURN_IF_ERROR(CheckTypes(record, spec));
  SavedDataset out;
  out.num_elements = record.num_elements();
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> shards, NamesIn(Cat(path, "/", record.run_id()), kShardEnding));
  for (const std::string& shard : shards) {
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> files, NamesIn(shard, kFileEnding));
    out.shards.push_back(MakeFileDataset(
        spec, std::move(files),
        [compression, spec](const std::string& file, size_t,
                            int64_t offset) -> StatusOr<std::unique_ptr<ElementReader>> {
          WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStreamAt(file, compression, offset));
          return std::unique_ptr<ElementReader>(std::make_unique<SavedElements>(std::move(stream), spec, offset));
        }));
  }
  return out;
}

}  // namespace weir

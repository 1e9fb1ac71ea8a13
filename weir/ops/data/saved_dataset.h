// Datasets on disk, in the folders that TensorFlow's Dataset.save makes, and for every snapshot Dataset.snapshot:
//
//   <path>/snapshot.metadata                        a SnapshotMetadataRecord
//   <path>/<run>/<number>.shard/<number>.snapshot   records, each a TensorProto: one component of an element
#ifndef WEIR_OPS_DATA_SAVED_DATASET_H_
#define WEIR_OPS_DATA_SAVED_DATASET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/io/record_writer.h"
#include "weir/ops/data/dataset.h"

namespace weir {

// "", "NONE", "GZIP", "ZLIB", "SNAPPY", and "AUTO", which is snappy.
StatusOr<Compression> ParseSavedCompression(std::string_view name);

// How far writing has come.
struct SavedRun {
  std::string id;
  int64_t file = 0;   // the number of the next file of every shard
  int64_t count = 0;  // elements
};

// One thread at a time. Who loads the path sees the elements after Finish; until then those of the last finished one
// are gone.
class SavedDatasetWriter {
 public:
  static StatusOr<std::unique_ptr<SavedDatasetWriter>> Create(std::string path, Compression compression,
                                                              const std::vector<DType>& types,
                                                              std::string graph_hash = "");
  // Goes on where Pause was; what was written after it is lost.
  static StatusOr<std::unique_ptr<SavedDatasetWriter>> Resume(std::string path, Compression compression,
                                                              const std::vector<DType>& types, std::string graph_hash,
                                                              SavedRun run);
  // INVALID_ARGUMENT for a negative shard.
  Status Write(int64_t shard, const Element& element);
  // What was written so far stays as it is. More may be written.
  StatusOr<SavedRun> Pause();
  Status Finish();

 private:
  SavedDatasetWriter(std::string path, Compression compression, std::vector<DType> types, std::string graph_hash,
                     SavedRun run)
      : path_(std::move(path)),
        compression_(compression),
        types_(std::move(types)),
        graph_hash_(std::move(graph_hash)),
        run_(std::move(run)) {}
  std::string RunFolder() const { return Cat(path_, "/", run_.id); }
  Status WriteMetadata(bool finished) const;
  Status RemoveFilesFrom(int64_t file) const;
  Status CloseFiles();
  StatusOr<RecordWriter*> ShardWriter(int64_t shard);

  const std::string path_;
  const Compression compression_;
  const std::vector<DType> types_;
  const std::string graph_hash_;
  SavedRun run_;
  absl::flat_hash_map<int64_t, std::unique_ptr<RecordWriter>> shards_;
};

enum class SavedStage {
  kNone,      // nothing is there, or what was begun is too old to be waited for
  kBegun,     // somebody writes
  kComplete,  // it can be opened
};
StatusOr<SavedStage> FindSavedStage(const std::string& path, int64_t expiry_seconds);

struct SavedDataset {
  int64_t num_elements = 0;
  std::vector<DatasetPtr> shards;
};
// NOT_FOUND if nothing was saved there, FAILED_PRECONDITION if the saving did not come to its end, INVALID_ARGUMENT if
// the components have other types.
StatusOr<SavedDataset> OpenSavedDataset(const std::string& path, Compression compression, const ElementSpec& spec);

}  // namespace weir

#endif  // WEIR_OPS_DATA_SAVED_DATASET_H_

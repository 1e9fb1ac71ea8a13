// Datasets on disk, in the folders that TensorFlow's Dataset.save makes:
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

// One thread at a time. Who loads the path sees the elements after Finish; until then those of the last finished one
// are gone.
class SavedDatasetWriter {
 public:
  static StatusOr<std::unique_ptr<SavedDatasetWriter>> Create(std::string path, Compression compression,
                                                              const std::vector<DType>& types);
  // INVALID_ARGUMENT for a negative shard.
  Status Write(int64_t shard, const Element& element);
  Status Finish();

 private:
  SavedDatasetWriter(std::string path, std::string run, Compression compression, std::vector<DType> types)
      : path_(std::move(path)), run_(std::move(run)), compression_(compression), types_(std::move(types)) {}
  Status WriteMetadata(bool finished) const;
  StatusOr<RecordWriter*> ShardWriter(int64_t shard);

  const std::string path_, run_;
  const Compression compression_;
  const std::vector<DType> types_;
  absl::flat_hash_map<int64_t, std::unique_ptr<RecordWriter>> shards_;
  int64_t count_ = 0;
};

struct SavedDataset {
  int64_t num_elements = 0;
  std::vector<DatasetPtr> shards;
};
// NOT_FOUND if nothing was saved there, FAILED_PRECONDITION if the saving did not come to its end, INVALID_ARGUMENT if
// the components have other types.
StatusOr<SavedDataset> OpenSavedDataset(const std::string& path, Compression compression, const ElementSpec& spec);

}  // namespace weir

#endif  // WEIR_OPS_DATA_SAVED_DATASET_H_

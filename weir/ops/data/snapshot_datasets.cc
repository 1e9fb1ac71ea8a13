// SnapshotDatasetV2: the first walk over a dataset writes its elements to disk, later ones read them from there.
// Elements lie in a folder named after the dataset's fingerprint, so a pipeline that was changed does not find those of
// the old one.
#include "weir/base/fingerprint.h"
#include "weir/framework/node_fingerprint.h"
#include "weir/ops/data/dataset_fingerprint.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/shard_functions.h"

namespace weir {
namespace {

// Who finds elements that are being written lets them be, and takes over only when they are a day old.
constexpr int64_t kExpirySeconds = 86400;

struct SnapshotOptions {
  std::string reader_folder, writer_folder;
  std::string graph_hash;
  Compression compression = Compression::kNone;
  CapturedFunctionPtr reader, shard;
};

class SnapshotDataset : public Dataset {
 public:
  SnapshotDataset(DatasetPtr input, ElementSpec spec, SnapshotOptions options)
      : Dataset(std::move(spec), {std::move(input)}), options_(std::move(options)) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override;

 private:
  enum class Mode : int64_t { kUndecided, kRead, kWrite, kPass };
  class Iterator;
  const SnapshotOptions options_;
};

class SnapshotDataset::Iterator : public DatasetIterator {
 public:
  explicit Iterator(std::shared_ptr<const SnapshotDataset> dataset) : dataset_(std::move(dataset)) {}

  Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
    if (mode_ == Mode::kUndecided) WEIR_RETURN_IF_ERROR(Begin(ctx));
    if (walk_ == nullptr) {
      *end = true;
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(walk_->GetNext(ctx, out, end));
    if (!*end) return saver_ == nullptr ? OkStatus() : saver_->Add(ctx, *out);
    walk_ = nullptr;
    std::unique_ptr<ElementSaver> done = std::move(saver_);
    return done == nullptr ? OkStatus() : done->Finish();
  }

  Status Save(IteratorContext& ctx, StateWriter state) override {
    state.PutInt("mode", static_cast<int64_t>(mode_));
    if (mode_ == Mode::kUndecided) return OkStatus();
    if (walk_ == nullptr) {
      state.PutInt("exhausted", 1);
      return OkStatus();
    }
    if (saver_ != nullptr) {
      WEIR_ASSIGN_OR_RETURN(SavedRun run, saver_->Pause());
      state.Put("run", Tensor::Scalar(run.id));
      state.PutInt("file", run.file);
      state.PutInt("count", run.count);
    }
    return walk_->Save(ctx, state.Child("walk"));
  }

  Status Restore(IteratorContext& ctx, const StateReader& state) override {
    WEIR_ASSIGN_OR_RETURN(int64_t mode, state.GetCount("mode", static_cast<int64_t>(Mode::kPass)));
    mode_ = static_cast<Mode>(mode);
    walk_ = nullptr;
    saver_ = nullptr;
    if (mode_ == Mode::kUndecided || state.Has("exhausted")) return OkStatus();
    SavedRun run;
    if (mode_ == Mode::kWrite) {
      WEIR_ASSIGN_OR_RETURN(Tensor id, state.Get("run"));
      if (id.dtype() != DType::kString || id.num_elements() != 1) return DataLoss("A saved snapshot has no name");
      run.id = id.data<std::string>()[0];
      // It names a folder of ours and nothing else.
      if (run.id.empty() || run.id.find_first_not_of("0123456789") != std::string::npos) {
        return DataLoss("A saved snapshot is called '", run.id, "'");
      }
      WEIR_ASSIGN_OR_RETURN(run.file, state.GetCount("file", std::numeric_limits<int64_t>::max()));
      WEIR_ASSIGN_OR_RETURN(run.count, state.GetCount("count", std::numeric_limits<int64_t>::max()));
    }
    WEIR_RETURN_IF_ERROR(Open(ctx, std::move(run)));
    return walk_->Restore(ctx, state.Child("walk"));
  }

 private:
  const SnapshotOptions& options() const { return dataset_->options_; }

  Status Begin(IteratorContext& ctx) {
    WEIR_ASSIGN_OR_RETURN(SavedStage stage, FindSavedStage(options().reader_folder, kExpirySeconds));
    switch (stage) {
      case SavedStage::kNone:
        mode_ = Mode::kWrite;
        break;
      case SavedStage::kBegun:
        mode_ = Mode::kPass;
        break;
      case SavedStage::kComplete:
        mode_ = Mode::kRead;
        break;
    }
    Status status = Open(ctx, {});
    if (!status.ok()) mode_ = Mode::kUndecided;
    return status;
  }

  // An empty run is a new one.
  Status Open(IteratorContext& ctx, SavedRun run) {
    const ElementSpec& spec = dataset_->spec();
    if (mode_ == Mode::kRead) {
      WEIR_ASSIGN_OR_RETURN(SavedDataset saved, OpenSavedDataset(options().reader_folder, options().compression, spec));
      WEIR_ASSIGN_OR_RETURN(walk_,
                            WalkOverShards(ctx, DatasetOfShards(std::move(saved.shards)), options().reader, spec));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(walk_, dataset_->input().MakeIterator(ctx));
    if (mode_ == Mode::kPass) return OkStatus();
    const std::string& folder = options().writer_folder;
    WEIR_ASSIGN_OR_RETURN(
        std::unique_ptr<SavedDatasetWriter> writer,
        run.id.empty() ? SavedDatasetWriter::Create(folder, options().compression, spec.types, options().graph_hash)
                       : SavedDatasetWriter::Resume(folder, options().compression, spec.types, options().graph_hash,
                                                    std::move(run)));
    WEIR_ASSIGN_OR_RETURN(saver_, ElementSaver::Start(ctx, options().shard, std::move(writer)));
    return OkStatus();
  }

  const std::shared_ptr<const SnapshotDataset> dataset_;
  Mode mode_ = Mode::kUndecided;
  IteratorPtr walk_;  // over the input or over what was saved; null at the end
  std::unique_ptr<ElementSaver> saver_;
};

StatusOr<IteratorPtr> SnapshotDataset::MakeIterator(IteratorContext& ctx) const {
  return IteratorPtr(std::make_unique<Iterator>(Self<SnapshotDataset>()));
}

// Of the dataset and of how it is compressed.
StatusOr<uint64_t> SnapshotHash(DatasetNode& node, const Dataset& input, std::string_view compression) {
  WEIR_ASSIGN_OR_RETURN(bool given, node.Attr<bool>("hash_valid"));
  if (given) {
    WEIR_ASSIGN_OR_RETURN(int64_t hash, node.Attr<int64_t>("hash"));
    return static_cast<uint64_t>(hash);
  }
  WEIR_ASSIGN_OR_RETURN(uint64_t hash, DatasetFingerprint(input, node.ctx().step().functions));
  return CombineFingerprints(hash, Hash64(compression == "AUTO" ? "SNAPPY" : compression));
}

StatusOr<DatasetPtr> MakeSnapshot(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(std::string path, node.Scalar<std::string>("path"));
  WEIR_ASSIGN_OR_RETURN(std::string compression, node.Attr<std::string>("compression"));
  WEIR_ASSIGN_OR_RETURN(std::string reader_prefix, node.Attr<std::string>("reader_prefix"));
  WEIR_ASSIGN_OR_RETURN(std::string writer_prefix, node.Attr<std::string>("writer_prefix"));
  WEIR_ASSIGN_OR_RETURN(uint64_t hash, SnapshotHash(node, *input, compression));
  SnapshotOptions options;
  options.graph_hash = Cat(hash);
  auto folder = [&](const std::string& prefix) {
    return Cat(prefix, prefix.empty() || prefix.ends_with('/') || path.starts_with('/') ? "" : "/", path, "/", hash);
  };
  options.reader_folder = folder(reader_prefix);
  options.writer_folder = folder(writer_prefix);
  WEIR_ASSIGN_OR_RETURN(options.compression, ParseSavedCompression(compression));
  WEIR_ASSIGN_OR_RETURN(options.reader, node.Function("reader_func", "reader_func_other_args", "Snapshot"));
  WEIR_ASSIGN_OR_RETURN(options.shard, node.Function("shard_func", "shard_func_other_args", "Snapshot"));
  return std::make_shared<SnapshotDataset>(std::move(input), std::move(spec), std::move(options));
}

}  // namespace

void RegisterSnapshotDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"SnapshotDatasetV2"}, MakeSnapshot);
}

}  // namespace weir

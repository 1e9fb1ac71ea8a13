// SaveDataset, SaveDatasetV2 and LoadDataset: datasets kept on disk between programs.
#include "weir/ops/data/background.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/shard_functions.h"

namespace weir {
namespace {

// Where and how a node saves.
struct SaveOptions {
  std::string path;
  Compression compression = Compression::kNone;
  CapturedFunctionPtr shard;  // null: all elements go to one

  static StatusOr<SaveOptions> Of(DatasetNode& node) {
    SaveOptions options;
    WEIR_ASSIGN_OR_RETURN(options.path, node.Scalar<std::string>("path"));
    WEIR_ASSIGN_OR_RETURN(std::string compression, node.Attr<std::string>("compression"));
    WEIR_ASSIGN_OR_RETURN(options.compression, ParseSavedCompression(compression));
    WEIR_ASSIGN_OR_RETURN(bool use_function, node.Attr<bool>("use_shard_func"));
    if (use_function) {
      WEIR_ASSIGN_OR_RETURN(options.shard, node.Function("shard_func", "shard_func_other_args", "Save"));
    }
    return options;
  }
};

StatusOr<std::unique_ptr<ElementSaver>> StartSaving(IteratorContext& ctx, const SaveOptions& options,
                                                    const std::vector<DType>& types) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<SavedDatasetWriter> writer,
                        SavedDatasetWriter::Create(options.path, options.compression, types));
  return ElementSaver::Start(ctx, options.shard, std::move(writer));
}

class SaveKernel : public BackgroundKernel {
 public:
  explicit SaveKernel(const KernelInit& init) : schema_(init.schema()), attrs_(init.attrs()) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SaveKernel>(init));
  }

 private:
  Status Work(KernelContext& ctx) override {
    DatasetNode node(ctx, schema_, attrs_);
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, node.Input());
    WEIR_ASSIGN_OR_RETURN(SaveOptions options, SaveOptions::Of(node));
    const std::vector<DType> types = dataset->spec().types;
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<StepWalk> walk, StepWalk::Start(ctx, std::move(dataset)));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ElementSaver> saver, StartSaving(walk->context(), options, types));
    while (true) {
      Element element;
      bool end = false;
      WEIR_RETURN_IF_ERROR(walk->GetNext(&element, &end));
      if (end) return saver->Finish();
      WEIR_RETURN_IF_ERROR(saver->Add(walk->context(), element));
    }
  }
  const OpSchema& schema_;
  const AttrMap attrs_;
};

// The elements of its input, saved while they are read.
class SaveDataset : public Dataset {
 public:
  SaveDataset(DatasetPtr input, SaveOptions options) : Dataset(input->spec(), {input}), options_(std::move(options)) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<SaveDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (saver_ == nullptr && input_ != nullptr) {
        WEIR_ASSIGN_OR_RETURN(saver_, StartSaving(ctx, dataset().options_, dataset().spec().types));
      }
      WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
      if (!*end) return saver_->Add(ctx, *out);
      std::unique_ptr<ElementSaver> done = std::move(saver_);
      return done == nullptr ? OkStatus() : done->Finish();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      if (saver_ != nullptr) return Unimplemented("A dataset that is being saved has no position to keep");
      return InputIterator::Save(ctx, state);
    }

   private:
    std::unique_ptr<ElementSaver> saver_;
  };
  const SaveOptions options_;
};

StatusOr<DatasetPtr> MakeSave(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(SaveOptions options, SaveOptions::Of(node));
  return std::make_shared<SaveDataset>(std::move(input), std::move(options));
}

// What a function of the user makes of the dataset of the shards, which are datasets.
class LoadDataset : public Dataset {
 public:
  LoadDataset(ElementSpec spec, int64_t cardinality, DatasetPtr shards, CapturedFunctionPtr reader)
      : Dataset(std::move(spec)), cardinality_(cardinality), shards_(std::move(shards)), reader_(std::move(reader)) {}
  int64_t Cardinality() const override { return cardinality_; }
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return WalkOverShards(ctx, shards_, reader_, spec());
  }

 private:
  const int64_t cardinality_;
  const DatasetPtr shards_;
  const CapturedFunctionPtr reader_;
};

StatusOr<DatasetPtr> MakeLoad(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(std::string path, node.Scalar<std::string>("path"));
  WEIR_ASSIGN_OR_RETURN(std::string name, node.Attr<std::string>("compression"));
  WEIR_ASSIGN_OR_RETURN(Compression compression, ParseSavedCompression(name));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr reader, node.Function("reader_func", "reader_func_other_args", "Load"));
  WEIR_ASSIGN_OR_RETURN(SavedDataset saved, OpenSavedDataset(path, compression, spec));
  return std::make_shared<LoadDataset>(std::move(spec), saved.num_elements, DatasetOfShards(std::move(saved.shards)),
                                       std::move(reader));
}

}  // namespace

void RegisterSaveLoadDatasets(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SaveDataset"), MakeKernel<SaveKernel>);
  RegisterDataset(registry, {"SaveDatasetV2"}, MakeSave);
  RegisterDataset(registry, {"LoadDataset"}, MakeLoad);
}

}  // namespace weir

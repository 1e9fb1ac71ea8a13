// SaveDataset, SaveDatasetV2 and LoadDataset: datasets kept on disk between programs.
#include "weir/ops/data/background.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/saved_dataset.h"
#include "weir/ops/data/window.h"

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
    WEIR_ASSIGN_OR_RETURN(options.compression, ParseCompression(compression));
    WEIR_ASSIGN_OR_RETURN(bool use_function, node.Attr<bool>("use_shard_func"));
    if (use_function) {
      WEIR_ASSIGN_OR_RETURN(options.shard, node.Function("shard_func", "shard_func_other_args", "Save"));
    }
    return options;
  }
};

// Writes the elements of one walk as they pass.
class Saver {
 public:
  static StatusOr<std::unique_ptr<Saver>> Start(IteratorContext& ctx, const SaveOptions& options,
                                                const std::vector<DType>& types) {
    auto saver = std::make_unique<Saver>();
    if (options.shard != nullptr) {
      WEIR_ASSIGN_OR_RETURN(saver->shard_, FunctionCaller::Make(ctx, options.shard));
    }
    WEIR_ASSIGN_OR_RETURN(saver->writer_, SavedDatasetWriter::Create(options.path, options.compression, types));
    return saver;
  }
  Status Add(IteratorContext& ctx, const Element& element) {
    WEIR_ASSIGN_OR_RETURN(int64_t shard, ShardOf(ctx, element));
    return writer_->Write(shard, element);
  }
  Status Finish() { return writer_->Finish(); }

 private:
  StatusOr<int64_t> ShardOf(IteratorContext& ctx, const Element& element) {
    if (shard_ == nullptr) return 0;
    Element results;
    WEIR_RETURN_IF_ERROR(shard_->Call(ctx, element, index_++, &results));
    if (results.size() != 1 || results[0].dtype() != DType::kInt64 || results[0].num_elements() != 1) {
      return InvalidArgument("`shard_func` must return a scalar int64.");
    }
    return results[0].data<int64_t>()[0];
  }

  std::unique_ptr<FunctionCaller> shard_;
  std::unique_ptr<SavedDatasetWriter> writer_;
  int64_t index_ = 0;
};

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
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Saver> saver, Saver::Start(walk->context(), options, types));
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
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr input_iterator, input().MakeIterator(ctx));
    return IteratorPtr(std::make_unique<Iterator>(Self<SaveDataset>(), std::move(input_iterator)));
  }

 private:
  class Iterator : public InputIterator<SaveDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (saver_ == nullptr && input_ != nullptr) {
        WEIR_ASSIGN_OR_RETURN(saver_, Saver::Start(ctx, dataset().options_, dataset().spec().types));
      }
      WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
      if (!*end) return saver_->Add(ctx, *out);
      std::unique_ptr<Saver> done = std::move(saver_);
      return done == nullptr ? OkStatus() : done->Finish();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      if (saver_ != nullptr) return Unimplemented("A dataset that is being saved has no position to keep");
      return InputIterator::Save(ctx, state);
    }

   private:
    std::unique_ptr<Saver> saver_;
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
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, reader_));
    WEIR_ASSIGN_OR_RETURN(DatasetPtr elements, caller->CallForDataset(ctx, {DatasetTensor(shards_)}, 0));
    WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec().types, elements->spec().types));
    return elements->MakeIterator(ctx);
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
  WEIR_ASSIGN_OR_RETURN(Compression compression, ParseCompression(name));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr reader, node.Function("reader_func", "reader_func_other_args", "Load"));
  WEIR_ASSIGN_OR_RETURN(SavedDataset saved, OpenSavedDataset(path, compression, spec));
  std::vector<Element> shards;
  for (DatasetPtr& shard : saved.shards) shards.push_back({DatasetTensor(std::move(shard))});
  DatasetPtr all = MakeWindow({{DType::kVariant}, {PartialShape(Shape())}}, std::move(shards));
  return std::make_shared<LoadDataset>(std::move(spec), saved.num_elements, std::move(all), std::move(reader));
}

}  // namespace

void RegisterSaveLoadDatasets(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SaveDataset"), MakeKernel<SaveKernel>);
  RegisterDataset(registry, {"SaveDatasetV2"}, MakeSave);
  RegisterDataset(registry, {"LoadDataset"}, MakeLoad);
}

}  // namespace weir

// Datasets kept once they are read: in memory, or in a file.
#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "weir/framework/resource_node.h"
#include "weir/io/bundle_writer.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

// All elements of a dataset, once a walk has read them. Thread-safe.
class MemoryCache : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::MemoryCacheManager";
  using Elements = std::shared_ptr<const std::vector<Element>>;
  std::string_view type_name() const override { return kTypeName; }
  // Null until a walk came to its end.
  Elements elements() const {
    absl::MutexLock lock(&mu_);
    return elements_;
  }
  void Complete(Elements elements) {
    absl::MutexLock lock(&mu_);
    if (elements_ == nullptr) elements_ = std::move(elements);
  }

 private:
  mutable absl::Mutex mu_;
  Elements elements_ ABSL_GUARDED_BY(mu_);
};

class MemoryCacheDataset : public Dataset {
 public:
  MemoryCacheDataset(DatasetPtr input, std::shared_ptr<MemoryCache> cache)
      : Dataset(input->spec(), {input}), cache_(std::move(cache)) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<MemoryCacheDataset>()));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const MemoryCacheDataset> dataset)
        : dataset_(std::move(dataset)), complete_(dataset_->cache_->elements()) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (complete_ != nullptr) {
        *end = next_ >= static_cast<int64_t>(complete_->size());
        if (!*end) *out = (*complete_)[next_++];
        return OkStatus();
      }
      if (input_ == nullptr) {
        WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(ctx));
      }
      WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, out, end));
      if (!*end) {
        read_.push_back(*out);
        return OkStatus();
      }
      input_ = nullptr;
      next_ = static_cast<int64_t>(read_.size());
      complete_ = std::make_shared<const std::vector<Element>>(std::move(read_));
      dataset_->cache_->Complete(complete_);
      return OkStatus();
    }
    bool Ready() override { return complete_ != nullptr; }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("complete", complete_ != nullptr);
      state.PutInt("next", next_);
      state.PutElements("elements", complete_ != nullptr ? *complete_ : read_);
      if (complete_ != nullptr || input_ == nullptr) return OkStatus();
      state.PutInt("open", 1);
      return input_->Save(ctx, state.Child("input"));
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t complete, state.GetInt("complete"));
      WEIR_ASSIGN_OR_RETURN(read_, state.GetElements("elements"));
      if (complete != 0) {
        WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", static_cast<int64_t>(read_.size())));
        complete_ = std::make_shared<const std::vector<Element>>(std::move(read_));
        dataset_->cache_->Complete(complete_);
        return OkStatus();
      }
      complete_ = nullptr;
      if (!state.Has("open")) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(ctx));
      return input_->Restore(ctx, state.Child("input"));
    }

   private:
    const std::shared_ptr<const MemoryCacheDataset> dataset_;
    MemoryCache::Elements complete_;  // null while this walk reads the input
    std::vector<Element> read_;
    int64_t next_ = 0;
    IteratorPtr input_;
  };
  const std::shared_ptr<MemoryCache> cache_;
};

// TensorFlow's keys, so that either reads what the other cached: numbers take as many places as the largest one needs.
std::string KeyOf(int64_t element, size_t component, size_t components) {
  const int places = static_cast<int>(Cat(components - 1).size());
  return absl::StrFormat("%7d_%*d", element, places, component);
}

// The elements lie in a checkpoint whose prefix is the file's name.
class FileCacheDataset : public Dataset {
 public:
  FileCacheDataset(DatasetPtr input, std::string path) : Dataset(input->spec(), {input}), path_(std::move(path)) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    auto iterator = std::make_unique<Iterator>(Self<FileCacheDataset>());
    WEIR_RETURN_IF_ERROR(iterator->Open(ctx));
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const FileCacheDataset> dataset) : dataset_(std::move(dataset)) {}
    Status Open(IteratorContext& ctx) {
      if (IsFile(dataset_->path_ + ".index")) {
        WEIR_ASSIGN_OR_RETURN(reader_, CheckpointReader::Open(dataset_->path_));
        return OkStatus();
      }
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(ctx));
      WEIR_ASSIGN_OR_RETURN(writer_, BundleWriter::Create(dataset_->path_));
      return OkStatus();
    }
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (reader_ != nullptr) return ReadNext(out, end);
      if (input_ == nullptr) {
        *end = true;
        return OkStatus();
      }
      WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, out, end));
      if (*end) {
        input_ = nullptr;
        return writer_->Finish();
      }
      for (size_t i = 0; i < out->size(); ++i) {
        WEIR_RETURN_IF_ERROR(writer_->Add(KeyOf(next_, i, out->size()), (*out)[i]));
      }
      ++next_;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      if (input_ != nullptr) return Unimplemented("A cache that is being written to a file cannot be saved");
      state.PutInt("next", next_);
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      if (reader_ == nullptr) return FailedPrecondition("The cache file ", dataset_->path_, " is gone");
      WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", std::numeric_limits<int64_t>::max()));
      return OkStatus();
    }

   private:
    Status ReadNext(Element* out, bool* end) {
      const size_t components = dataset_->spec().types.size();
      for (size_t i = 0; i < components; ++i) {
        const std::string key = KeyOf(next_, i, components);
        if (i == 0 && !reader_->tensors().contains(key)) {
          *end = true;
          return OkStatus();
        }
        WEIR_ASSIGN_OR_RETURN(Tensor tensor, reader_->Read(key));
        out->push_back(std::move(tensor));
      }
      ++next_;
      return OkStatus();
    }
    const std::shared_ptr<const FileCacheDataset> dataset_;
    std::unique_ptr<CheckpointReader> reader_;
    std::unique_ptr<BundleWriter> writer_;
    IteratorPtr input_;
    int64_t next_ = 0;
  };
  const std::string path_;
};

StatusOr<DatasetPtr> MakeCache(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(std::string path, node.Scalar<std::string>("filename"));
  if (!path.empty()) return std::make_shared<FileCacheDataset>(std::move(input), std::move(path));
  std::shared_ptr<MemoryCache> cache;
  if (node.HasInput("cache")) {
    WEIR_ASSIGN_OR_RETURN(Tensor handle, node.OneTensor("cache"));
    if (handle.num_elements() == 1) {
      std::shared_ptr<Resource> resource = handle.scalar<ResourceHandle>().resource;
      cache = std::dynamic_pointer_cast<MemoryCache>(resource);
    }
  }
  if (cache == nullptr) cache = std::make_shared<MemoryCache>();
  return std::make_shared<MemoryCacheDataset>(std::move(input), std::move(cache));
}

class AnonymousMemoryCacheKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ResourceKey key;
    key.container = ctx.resources().default_container();
    key.name = Cat("AnonymousMemoryCache", ResourceManager::NextUniqueId());
    ResourceHandle handle = MakeResourceHandle(ctx.device(), key, MemoryCache::kTypeName);
    handle.resource = std::make_shared<MemoryCache>();
    ctx.set_output(0, HandleTensor(std::move(handle)));
    ctx.set_output(1, Tensor::Scalar(Variant()));
    return OkStatus();
  }
};

}  // namespace

void RegisterCacheDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"CacheDataset", "CacheDatasetV2"}, MakeCache);
  registry.Add(KernelBuilder("AnonymousMemoryCache"), MakeKernel<AnonymousMemoryCacheKernel>);
}

}  // namespace weir

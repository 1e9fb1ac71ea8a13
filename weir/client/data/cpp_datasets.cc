// Datasets whose elements C++ functions make.
#include "weir/client/data/dataset.h"
#include "weir/ops/data/dataset.h"

namespace weir::data {
namespace {

weir::ElementSpec ToOpSpec(const ElementSpec& spec) { return {spec.types, spec.shapes}; }

class GeneratorDataset : public weir::Dataset {
 public:
  GeneratorDataset(const ElementSpec& spec, std::function<NextElement()> make)
      : weir::Dataset(ToOpSpec(spec)), make_(std::move(make)) {}

  StatusOr<IteratorPtr> MakeIterator(IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Walk>(Self<GeneratorDataset>()));
  }
  // The function may take its time.
  bool MayWait() const override { return true; }

 private:
  class Walk : public DatasetIterator {
   public:
    explicit Walk(std::shared_ptr<const GeneratorDataset> dataset)
        : dataset_(std::move(dataset)), next_(dataset_->make_()) {}

    Status GetNext(IteratorContext&, Element* out, bool* end) override {
      *end = is_done_;
      if (is_done_) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(bool more, next_(out));
      if (!more) {
        out->clear();
        *end = is_done_ = true;
        return OkStatus();
      }
      ++produced_;
      return CheckElement(dataset_->spec(), *out);
    }
    Status Save(IteratorContext&, StateWriter state) override {
      state.PutInt("produced", produced_);
      state.PutInt("done", is_done_);
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t produced, state.GetInt("produced"));
      WEIR_ASSIGN_OR_RETURN(int64_t done, state.GetInt("done"));
      for (bool end = false; produced_ < produced && !end;) {
        Element dropped;
        WEIR_RETURN_IF_ERROR(GetNext(ctx, &dropped, &end));
      }
      if (produced_ < produced) return DataLoss("The saved position is beyond the end of the generator's elements");
      is_done_ = done != 0;
      return OkStatus();
    }

   private:
    const std::shared_ptr<const GeneratorDataset> dataset_;
    NextElement next_;
    int64_t produced_ = 0;
    bool is_done_ = false;
  };

  const std::function<NextElement()> make_;
};

using TensorFunction = std::function<StatusOr<Tensors>(const Tensors&)>;

class CppMapDataset : public weir::Dataset {
 public:
  CppMapDataset(const ElementSpec& spec, DatasetPtr input, TensorFunction function)
      : weir::Dataset(ToOpSpec(spec), {std::move(input)}), function_(std::move(function)) {}

  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr walk, input().MakeIterator(ctx));
    return IteratorPtr(std::make_unique<Walk>(Self<CppMapDataset>(), std::move(walk)));
  }
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool MayWait() const override { return true; }

 private:
  class Walk : public InputIterator<CppMapDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      Element element;
      WEIR_RETURN_IF_ERROR(Pull(ctx, &element, end));
      if (*end) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(*out, dataset().function_(element));
      return CheckElement(dataset().spec(), *out);
    }
  };
  const TensorFunction function_;
};

Dataset WrapDataset(DatasetPtr dataset, const ElementSpec& spec) {
  return Dataset(EagerTensor(DatasetTensor(std::move(dataset))), spec);
}

Status CheckSpec(const ElementSpec& spec) {
  if (spec.types.empty()) return InvalidArgument("an element needs at least one tensor");
  if (spec.types.size() != spec.shapes.size()) {
    return InvalidArgument("an element has ", spec.types.size(), " types but ", spec.shapes.size(), " shapes");
  }
  return OkStatus();
}

}  // namespace

Dataset FromGenerator(const ElementSpec& spec, std::function<NextElement()> make) {
  if (Status status = CheckSpec(spec); !status.ok()) return Dataset(EagerTensor::Error(status), spec);
  return WrapDataset(std::make_shared<GeneratorDataset>(spec, std::move(make)), spec);
}

Dataset Dataset::MapTensors(const ElementSpec& spec, TensorFunction function) const {
  Status error = status().ok() ? CheckSpec(spec) : status();
  if (error.ok() && handle_.is_traced()) {
    error = Unimplemented("a dataset that is created inside a traced function cannot use a C++ function of tensors");
  }
  if (!error.ok()) return Dataset(EagerTensor::Error(error), spec);
  StatusOr<DatasetPtr> input = DatasetFromTensor(handle_.tensor());
  if (!input.ok()) return Failed(input.status());
  return WrapDataset(std::make_shared<CppMapDataset>(spec, *std::move(input), std::move(function)), spec);
}

}  // namespace weir::data

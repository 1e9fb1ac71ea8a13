// Random order: shuffle, shuffle and repeat; random numbers; a random sample. The orders are TensorFlow's for given
// seeds.
#include <deque>

#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/seed_generator.h"
#include "weir/tensor/shape.h"

namespace weir {
namespace {

// Seeds that a generator may have given, at most; a larger number in a saved position is damage.
constexpr int64_t kMaxWalks = int64_t{1} << 32;

// The numbers of one walk, and how many were drawn.
class WalkNumbers {
 public:
  void Seed(SeedGenerator::Seeds seeds) {
    seeds_ = seeds;
    drawn_ = 0;
    numbers_ =
        PhiloxNumbers(Philox::FromSeeds(static_cast<uint64_t>(seeds.first), static_cast<uint64_t>(seeds.second)));
  }
  uint32_t Next() {
    ++drawn_;
    return numbers_.Next();
  }
  void Save(StateWriter state) const {
    state.PutInt("seed", seeds_.first);
    state.PutInt("seed2", seeds_.second);
    state.PutInt("drawn", drawn_);
  }
  Status Restore(const StateReader& state) {
    SeedGenerator::Seeds seeds;
    WEIR_ASSIGN_OR_RETURN(seeds.first, state.GetInt("seed"));
    WEIR_ASSIGN_OR_RETURN(seeds.second, state.GetInt("seed2"));
    WEIR_ASSIGN_OR_RETURN(int64_t drawn, state.GetCount("drawn", std::numeric_limits<int64_t>::max()));
    Seed(seeds);
    Philox philox = Philox::FromSeeds(static_cast<uint64_t>(seeds.first), static_cast<uint64_t>(seeds.second));
    philox.Skip(static_cast<uint64_t>(drawn / 4));
    numbers_ = PhiloxNumbers(philox);
    for (int64_t i = 0; i < drawn % 4; ++i) numbers_.Next();
    drawn_ = drawn;
    return OkStatus();
  }

 private:
  SeedGenerator::Seeds seeds_{};
  int64_t drawn_ = 0;
  PhiloxNumbers numbers_{Philox()};
};

class ShuffleDataset : public Dataset {
 public:
  ShuffleDataset(DatasetPtr input, int64_t buffer_size, int64_t count, std::shared_ptr<SeedGenerator> seeds)
      : Dataset(input->spec(), {input}), buffer_size_(buffer_size), count_(count), seeds_(std::move(seeds)) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (count_ == -1) return n == 0 ? 0 : kInfinite;
    if (n == kInfinite || n == kUnknown) return n;
    return CheckedMultiply(n, count_).value_or(kInfinite);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<ShuffleDataset>()));
  }

 private:
  // Rounds over the input follow each other in the buffer. Each is emptied before the next is drawn from, so `rounds_`
  // counts the elements of each round in the order of the buffer.
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const ShuffleDataset> dataset) : dataset_(std::move(dataset)) {
      numbers_.Seed(dataset_->seeds_->Next());
    }
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      WEIR_RETURN_IF_ERROR(Fill(ctx));
      if (buffer_.empty()) {
        *end = true;
        return OkStatus();
      }
      while (rounds_.front() == 0) {
        rounds_.pop_front();
        numbers_.Seed(dataset_->seeds_->Next());  // each round has an order of its own
      }
      const size_t chosen = numbers_.Next() % static_cast<uint64_t>(rounds_.front());
      *out = std::move(buffer_[chosen]);
      std::swap(buffer_[chosen], buffer_.front());
      buffer_.pop_front();
      --rounds_.front();
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      numbers_.Save(state.Child("numbers"));
      state.PutInt("generator", dataset_->seeds_->drawn());
      state.PutInt("round", round_);
      state.PutInt("produced", produced_);
      state.PutInt("rounds", static_cast<int64_t>(rounds_.size()));
      for (size_t i = 0; i < rounds_.size(); ++i) state.PutInt(Cat("round", i), rounds_[i]);
      state.PutElements("buffer", {buffer_.begin(), buffer_.end()});
      if (input_ == nullptr) return OkStatus();
      state.PutInt("open", 1);
      return input_->Save(ctx, state.Child("input"));
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_RETURN_IF_ERROR(numbers_.Restore(state.Child("numbers")));
      WEIR_ASSIGN_OR_RETURN(int64_t generator, state.GetCount("generator", kMaxWalks));
      dataset_->seeds_->SetDrawn(generator);
      WEIR_ASSIGN_OR_RETURN(round_, state.GetInt("round"));
      WEIR_ASSIGN_OR_RETURN(int64_t produced, state.GetInt("produced"));
      produced_ = produced != 0;
      WEIR_ASSIGN_OR_RETURN(std::vector<Element> elements, state.GetElements("buffer"));
      buffer_.assign(std::make_move_iterator(elements.begin()), std::make_move_iterator(elements.end()));
      WEIR_ASSIGN_OR_RETURN(int64_t rounds, state.GetCount("rounds", kMaxRounds + 2));
      int64_t total = 0;
      for (int64_t i = 0; i < rounds; ++i) {
        WEIR_ASSIGN_OR_RETURN(int64_t size, state.GetCount(Cat("round", i), static_cast<int64_t>(buffer_.size())));
        rounds_.push_back(size);
        total += size;
      }
      if (total != static_cast<int64_t>(buffer_.size())) return DataLoss("A saved shuffle buffer is damaged");
      if (!state.Has("open")) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(ctx));
      return input_->Restore(ctx, state.Child("input"));
    }

   private:
    static constexpr int64_t kMaxRounds = 3;  // in the buffer at once

    bool MustFill() const {
      if (input_ == nullptr && dataset_->count_ != -1 && round_ >= dataset_->count_) return false;
      if (static_cast<int64_t>(rounds_.size()) > kMaxRounds && !buffer_.empty()) return false;
      return static_cast<int64_t>(buffer_.size()) < dataset_->buffer_size_;
    }
    Status Fill(IteratorContext& ctx) {
      while (MustFill()) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        if (input_ == nullptr) {
          WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(ctx));
          rounds_.push_back(0);
          ++round_;
        }
        Element element;
        bool ended = false;
        WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, &element, &ended));
        if (!ended) {
          buffer_.push_back(std::move(element));
          ++rounds_.back();
          produced_ = true;
          continue;
        }
        input_ = nullptr;
        if (!produced_ && dataset_->count_ == -1) return OkStatus();  // it would never end
      }
      return OkStatus();
    }

    const std::shared_ptr<const ShuffleDataset> dataset_;
    WalkNumbers numbers_;
    std::deque<Element> buffer_;
    std::deque<int64_t> rounds_;
    int64_t round_ = 0;  // how many were begun
    bool produced_ = false;
    IteratorPtr input_;
  };
  const int64_t buffer_size_;
  const int64_t count_;
  const std::shared_ptr<SeedGenerator> seeds_;
};

StatusOr<DatasetPtr> MakeShuffle(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t buffer_size, node.Scalar<int64_t>("buffer_size"));
  if (buffer_size <= 0 && buffer_size != Dataset::kUnknown) {
    return InvalidArgument("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  }
  if (buffer_size == Dataset::kUnknown) buffer_size = std::numeric_limits<int64_t>::max();
  int64_t count = 1;
  if (node.HasInput("count")) {
    WEIR_ASSIGN_OR_RETURN(count, node.Scalar<int64_t>("count"));
    if (count <= 0 && count != -1) return InvalidArgument("count must be greater than zero or equal to -1.");
  }
  bool reshuffle = true;
  if (node.HasAttr("reshuffle_each_iteration")) {
    WEIR_ASSIGN_OR_RETURN(reshuffle, node.Attr<bool>("reshuffle_each_iteration"));
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> seeds, FindSeedGenerator(node, reshuffle));
  return std::make_shared<ShuffleDataset>(std::move(input), buffer_size, count, std::move(seeds));
}

// Random numbers in [0, 2^32) without end.
class RandomDataset : public Dataset {
 public:
  RandomDataset(ElementSpec spec, std::shared_ptr<SeedGenerator> seeds)
      : Dataset(std::move(spec)), seeds_(std::move(seeds)) {}
  int64_t Cardinality() const override { return kInfinite; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(seeds_));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<SeedGenerator> seeds) : seeds_(std::move(seeds)) {
      numbers_.Seed(seeds_->Next());
    }
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      out->push_back(Tensor::Scalar<int64_t>(numbers_.Next()));
      return OkStatus();
    }
    bool Ready() override { return true; }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      numbers_.Save(state);
      state.PutInt("generator", seeds_->drawn());
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t generator, state.GetCount("generator", kMaxWalks));
      seeds_->SetDrawn(generator);
      return numbers_.Restore(state);
    }

   private:
    const std::shared_ptr<SeedGenerator> seeds_;
    WalkNumbers numbers_;
  };
  const std::shared_ptr<SeedGenerator> seeds_;
};

StatusOr<DatasetPtr> MakeRandom(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  if (spec.types != std::vector<DType>{DType::kInt64}) return InvalidArgument("RandomDataset gives int64 scalars");
  bool rerandomize = false;
  if (node.HasAttr("rerandomize_each_iteration")) {
    WEIR_ASSIGN_OR_RETURN(rerandomize, node.Attr<bool>("rerandomize_each_iteration"));
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SeedGenerator> seeds, FindSeedGenerator(node, rerandomize));
  return std::make_shared<RandomDataset>(std::move(spec), std::move(seeds));
}

// Each element with a probability.
class SamplingDataset : public Dataset {
 public:
  SamplingDataset(DatasetPtr input, float rate, SeedGenerator::Seeds seeds)
      : Dataset(input->spec(), {input}), rate_(rate), seeds_(seeds) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<SamplingDataset> {
   public:
    Iterator(std::shared_ptr<const SamplingDataset> dataset, IteratorPtr input)
        : InputIterator(std::move(dataset), std::move(input)) {
      numbers_.Seed(this->dataset().seeds_);
    }
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        out->clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
        if (*end) return OkStatus();
        // 23 bits as a fraction, as random floats are made everywhere.
        const float fraction = static_cast<float>(numbers_.Next() & 0x7fffffu) * 0x1p-23f;
        if (fraction < dataset().rate_) return OkStatus();
      }
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      numbers_.Save(state.Child("numbers"));
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_RETURN_IF_ERROR(numbers_.Restore(state.Child("numbers")));
      return InputIterator::Restore(ctx, state);
    }

   private:
    WalkNumbers numbers_;
  };
  const float rate_;
  const SeedGenerator::Seeds seeds_;
};

StatusOr<DatasetPtr> MakeSampling(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(float rate, node.Scalar<float>("rate"));
  WEIR_ASSIGN_OR_RETURN(int64_t seed, node.Scalar<int64_t>("seed"));
  WEIR_ASSIGN_OR_RETURN(int64_t seed2, node.Scalar<int64_t>("seed2"));
  return std::make_shared<SamplingDataset>(std::move(input), rate, SeedGenerator(seed, seed2, false).seeds());
}

}  // namespace

void RegisterShuffleDatasets(KernelRegistry& registry) {
  RegisterDataset(registry,
                  {"ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDataset",
                   "ShuffleAndRepeatDatasetV2"},
                  MakeShuffle);
  RegisterDataset(registry, {"RandomDataset", "RandomDatasetV2", "ExperimentalRandomDataset"}, MakeRandom);
  RegisterDataset(registry, {"SamplingDataset"}, MakeSampling);
}

}  // namespace weir

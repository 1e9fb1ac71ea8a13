// FixedUnigramCandidateSampler, LearnedUnigramCandidateSampler and ThreadUnsafeUnigramCandidateSampler: classes drawn
// by given or by learned frequencies.
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "weir/framework/scratch.h"
#include "weir/io/file.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

// Draws from a table in constant time (Walker's aliases): each place belongs to two classes.
class AliasTable {
 public:
  explicit AliasTable(const std::vector<float>& weights) {
    const size_t n = weights.size();
    std::vector<double> share(n);
    std::vector<int> high, low;
    double sum = 0;
    for (float weight : weights) sum += weight;
    for (size_t i = 0; i < n; ++i) {
      share[i] = static_cast<double>(weights[i]) * static_cast<double>(n) / sum;
      (share[i] < 1.0 ? low : high).push_back(static_cast<int>(i));
    }
    places_.assign(n, {0, -1});
    while (!high.empty() && !low.empty()) {
      const int l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      places_[l].second = h;
      share[h] -= 1.0 - share[l];
      (share[h] < 1.0 ? low : high).push_back(h);
    }
    for (size_t i = 0; i < n; ++i) places_[i].first = static_cast<float>(share[i]);
    for (const std::vector<int>* rest : {&high, &low}) {  // those that rounding has left
      for (int i : *rest) places_[i] = {1.0f, i};
    }
  }
  int64_t Sample(PhiloxNumbers& numbers) const {
    const float r = random::UniformFloat(numbers.Next());
    const int64_t i = numbers.Next() % static_cast<uint32_t>(places_.size());
    return r < places_[i].first ? i : places_[i].second;
  }

 private:
  std::vector<std::pair<float, int>> places_;
};

struct CommonAttrs {
  int64_t num_true = 0, num_sampled = 0, range = 0;
  bool unique = false;

  static StatusOr<CommonAttrs> Read(const KernelInit& init) {
    CommonAttrs out;
    WEIR_ASSIGN_OR_RETURN(out.num_true, init.Attr<int64_t>("num_true"));
    WEIR_ASSIGN_OR_RETURN(out.num_sampled, init.Attr<int64_t>("num_sampled"));
    WEIR_ASSIGN_OR_RETURN(out.range, init.Attr<int64_t>("range_max"));
    WEIR_ASSIGN_OR_RETURN(out.unique, init.Attr<bool>("unique"));
    constexpr int64_t kMost = int64_t{1} << 31;
    if (out.range < 1 || out.range >= kMost) return InvalidArgument("range_max is out of range: ", out.range);
    return out;
  }
};

// What both kinds share; a subclass says how one class is drawn and how probable each is.
class UnigramKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    if (!classes.shape().IsMatrix()) return InvalidArgument("true_classes must be a matrix");
    if (classes.dim(1) != attrs_.num_true) {
      return InvalidArgument("true_classes must have num_true columns, expected: ", attrs_.num_true,
                             " was: ", classes.dim(1));
    }
    for (int64_t value : classes.span<int64_t>()) {
      if (value < 0 || value >= attrs_.range) {
        return InvalidArgument("`true_candidate` out of range [0, ", attrs_.range, "), received ", value);
      }
    }
    if (attrs_.unique && attrs_.num_sampled > Drawable()) return InvalidArgument("Sampler's range is too small.");
    const int64_t dims[] = {attrs_.num_sampled};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * true_expected, ctx.AllocateOutput(1, classes.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled_expected, ctx.AllocateOutput(2, shape));
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, static_cast<uint64_t>(attrs_.num_sampled) * 512));
    PhiloxNumbers numbers(philox);
    absl::MutexLock lock(&mu_);
    const int64_t tries = Draw(numbers, sampled->span<int64_t>());
    auto expect = [&](std::span<const int64_t> values, float* counts) {
      for (size_t i = 0; i < values.size(); ++i) counts[i] = ExpectedCount(values[i], tries);
    };
    expect(classes.span<int64_t>(), true_expected->data<float>());
    expect(std::as_const(*sampled).span<int64_t>(), sampled_expected->data<float>());
    Learn(classes.span<int64_t>());
    return OkStatus();
  }

 protected:
  // All with the lock held.
  virtual int64_t Sample(PhiloxNumbers& numbers) = 0;
  virtual float Probability(int64_t value) = 0;
  virtual void Learn(std::span<const int64_t> values) {}
  virtual int64_t Drawable() const { return attrs_.range; }  // how many classes can come at all

  CommonAttrs attrs_;
  random::PhiloxSource source_;

 private:
  int64_t Draw(PhiloxNumbers& numbers, std::span<int64_t> out) {
    if (!attrs_.unique) {
      for (int64_t& value : out) value = Sample(numbers);
      return attrs_.num_sampled;
    }
    absl::flat_hash_set<int64_t> seen;
    int64_t tries = 0;
    for (size_t filled = 0; filled < out.size();) {
      ++tries;
      const int64_t value = Sample(numbers);
      if (seen.insert(value).second) out[filled++] = value;
    }
    return tries;
  }
  float ExpectedCount(int64_t value, int64_t tries) {
    const float p = value < 0 || value >= attrs_.range ? 0.0f : Probability(value);
    if (tries == attrs_.num_sampled) return p * static_cast<float>(attrs_.num_sampled);
    return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
  }
  absl::Mutex mu_;
};

class FixedUnigramKernel : public UnigramKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FixedUnigramKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, CommonAttrs::Read(init));
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    WEIR_ASSIGN_OR_RETURN(std::string file, init.Attr<std::string>("vocab_file"));
    WEIR_ASSIGN_OR_RETURN(std::vector<float> unigrams, init.Attr<std::vector<float>>("unigrams"));
    WEIR_ASSIGN_OR_RETURN(float distortion, init.Attr<float>("distortion"));
    WEIR_ASSIGN_OR_RETURN(int64_t reserved, init.Attr<int64_t>("num_reserved_ids"));
    WEIR_ASSIGN_OR_RETURN(int64_t shards, init.Attr<int64_t>("num_shards"));
    WEIR_ASSIGN_OR_RETURN(int64_t shard, init.Attr<int64_t>("shard"));
    if (file.empty() == unigrams.empty()) {
      return InvalidArgument("Must provide either vocab_file or unigrams, but not both.");
    }
    if (shards < 1 || shard < 0 || shard >= shards) return InvalidArgument("shard must be in [0, num_shards)");
    if (reserved < 0 || reserved > kernel->attrs_.range) {
      return InvalidArgument("num_reserved_ids must be in [0, range_max], got ", reserved);
    }
    if (!file.empty()) {
      WEIR_ASSIGN_OR_RETURN(unigrams, ReadVocabulary(file));
    }
    WEIR_RETURN_IF_ERROR(CheckScratch(reserved, sizeof(float)));
    std::vector<float> weights(static_cast<size_t>(reserved), 0.0f);
    for (float unigram : unigrams) {
      const int64_t id = static_cast<int64_t>(weights.size());
      weights.push_back(id % shards == shard ? std::pow(unigram, distortion) : 0.0f);
    }
    if (static_cast<int64_t>(weights.size()) != kernel->attrs_.range) {
      return InvalidArgument("range_max is ", kernel->attrs_.range, " but there are ", weights.size(), " unigrams");
    }
    for (float weight : weights) {
      kernel->total_ += weight;
      kernel->drawable_ += weight > 0;
    }
    if (!(kernel->total_ > 0)) return InvalidArgument("Unigrams of this shard have no weight");
    kernel->table_ = std::make_unique<AliasTable>(weights);
    kernel->weights_ = std::move(weights);
    return kernel;
  }

 protected:
  int64_t Sample(PhiloxNumbers& numbers) override { return table_->Sample(numbers); }
  float Probability(int64_t value) override { return static_cast<float>(weights_[value] / total_); }
  int64_t Drawable() const override { return drawable_; }

 private:
  // The last field of each line of comma-separated values.
  static StatusOr<std::vector<float>> ReadVocabulary(const std::string& file) {
    WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
    std::vector<float> out;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
      const std::string field = line.substr(line.rfind(',') == std::string::npos ? 0 : line.rfind(',') + 1);
      char* end = nullptr;
      const float weight = std::strtof(field.c_str(), &end);
      if (end == field.c_str()) return InvalidArgument("Wrong vocabulary format at line: ", line);
      out.push_back(weight);
    }
    return out;
  }

  std::vector<float> weights_;
  double total_ = 0;
  int64_t drawable_ = 0;
  std::unique_ptr<AliasTable> table_;
};

// Every class begins with a count of one; those in true_classes are counted after each run.
class LearnedUnigramKernel : public UnigramKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<LearnedUnigramKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, CommonAttrs::Read(init));
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    const size_t n = static_cast<size_t>(kernel->attrs_.range);
    kernel->tree_.assign(n + 1, 0);
    for (size_t i = 1; i <= n; ++i) kernel->Add(i, 1);
    return kernel;
  }

 protected:
  int64_t Sample(PhiloxNumbers& numbers) override {
    // Descends to the class where the running sum passes the number.
    int64_t rest = numbers.Next() % static_cast<uint32_t>(total_);
    size_t at = 0;
    for (size_t step = std::bit_floor(tree_.size() - 1); step > 0; step /= 2) {
      if (at + step < tree_.size() && tree_[at + step] <= rest) {
        at += step;
        rest -= tree_[at];
      }
    }
    return static_cast<int64_t>(at);
  }
  float Probability(int64_t value) override {
    int64_t count = 0;
    for (size_t i = static_cast<size_t>(value) + 1; i > 0; i &= i - 1) count += tree_[i];
    for (size_t i = static_cast<size_t>(value); i > 0; i &= i - 1) count -= tree_[i];
    return static_cast<float>(count) / static_cast<float>(total_);
  }
  void Learn(std::span<const int64_t> values) override {
    constexpr int64_t kMostCounts = int64_t{1} << 31;
    for (int64_t value : values) {
      if (value >= 0 && value < attrs_.range && total_ < kMostCounts) Add(static_cast<size_t>(value) + 1, 1);
    }
  }

 private:
  void Add(size_t i, int64_t count) {
    total_ += count;
    for (; i < tree_.size(); i += i & (~i + 1)) tree_[i] += count;
  }
  std::vector<int64_t> tree_;  // sums of counts (Fenwick), from 1
  int64_t total_ = 0;
};

}  // namespace

void RegisterUnigramKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("FixedUnigramCandidateSampler"), MakeKernel<FixedUnigramKernel>);
  registry.Add(KernelBuilder("LearnedUnigramCandidateSampler"), MakeKernel<LearnedUnigramKernel>);
  registry.Add(KernelBuilder("ThreadUnsafeUnigramCandidateSampler"), MakeKernel<LearnedUnigramKernel>);
}

}  // namespace weir

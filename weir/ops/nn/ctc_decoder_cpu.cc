// CTCGreedyDecoder and CTCBeamSearchDecoder. The last class is the blank, unless told otherwise.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "weir/ops/nn/log_sum.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using Labels = std::vector<int64_t>;

struct Sizes {
  int64_t time, batch, classes;
};

StatusOr<Sizes> CheckInputs(const KernelContext& ctx) {
  const Tensor &inputs = ctx.input(0), &lengths = ctx.input(1);
  if (inputs.rank() != 3) return InvalidArgument("inputs is not a 3-Tensor");
  const Sizes sizes{inputs.dim(0), inputs.dim(1), inputs.dim(2)};
  if (sizes.time == 0) return InvalidArgument("max_time is 0");
  if (sizes.classes == 0) return InvalidArgument("num_classes is 0");
  if (lengths.rank() != 1) return InvalidArgument("sequence_length is not a vector");
  if (lengths.dim(0) != sizes.batch) {
    return FailedPrecondition("len(sequence_length) != batch_size.  len(sequence_length):  ", lengths.dim(0),
                              " batch_size: ", sizes.batch);
  }
  for (int64_t b = 0; b < sizes.batch; ++b) {
    if (lengths.data<int32_t>()[b] > sizes.time) {
      return FailedPrecondition("sequence_length(", b, ") <= ", sizes.time);
    }
  }
  return sizes;
}

// Outputs `first`, first + step and first + 2 * step: one label sequence a row, as a sparse matrix.
Status WriteSparse(KernelContext& ctx, const std::vector<Labels>& rows, int first, int step) {
  int64_t total = 0, width = 0;
  for (const Labels& row : rows) {
    total += static_cast<int64_t>(row.size());
    width = std::max(width, static_cast<int64_t>(row.size()));
  }
  WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(first, Shape({total, 2})));
  WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(first + step, Shape({total})));
  int64_t at = 0;
  for (size_t b = 0; b < rows.size(); ++b) {
    for (size_t i = 0; i < rows[b].size(); ++i, ++at) {
      indices->data<int64_t>()[2 * at] = static_cast<int64_t>(b);
      indices->data<int64_t>()[2 * at + 1] = static_cast<int64_t>(i);
      values->data<int64_t>()[at] = rows[b][i];
    }
  }
  ctx.set_output(first + 2 * step, Tensor::Vector<int64_t>({static_cast<int64_t>(rows.size()), width}));
  return OkStatus();
}

template <typename T>
class GreedyKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GreedyKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->merge_, init.Attr<bool>("merge_repeated"));
    WEIR_ASSIGN_OR_RETURN(kernel->blank_, init.Attr<int64_t>("blank_index"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Sizes sizes, CheckInputs(ctx));
    if (blank_ < -sizes.classes || blank_ >= sizes.classes) {
      return InvalidArgument("blank_index expected to be between ", -sizes.classes, " and ", sizes.classes - 1,
                             " but was ", blank_);
    }
    const int64_t blank = blank_ < 0 ? blank_ + sizes.classes : blank_;
    WEIR_ASSIGN_OR_RETURN(Tensor * score, ctx.AllocateOutput(3, Shape({sizes.batch, 1})));
    std::vector<Labels> rows(static_cast<size_t>(sizes.batch));
    for (int64_t b = 0; b < sizes.batch; ++b) {
      T sum = 0;
      int64_t previous = -1;
      for (int64_t t = 0; t < ctx.input(1).data<int32_t>()[b]; ++t) {
        const T* x = ctx.input(0).data<T>() + (t * sizes.batch + b) * sizes.classes;
        const int64_t best = std::max_element(x, x + sizes.classes) - x;
        sum -= x[best];
        if (best != blank && !(merge_ && best == previous)) rows[b].push_back(best);
        previous = best;
      }
      score->data<T>()[b] = sum;
    }
    return WriteSparse(ctx, rows, 0, 1);
  }

 private:
  bool merge_ = false;
  int64_t blank_ = -1;
};

// The best of the entries pushed, `limit` of them. Which of equal ones stay, and in which order, is as TensorFlow's
// heap has it. E: an entry with is_better_than, a strict weak order.
template <typename E>
class BestEntries {
 public:
  explicit BestEntries(int64_t limit) : limit_(static_cast<size_t>(limit)) {}
  // In no order.
  std::span<E* const> entries() const { return std::span(entries_).first(std::min(entries_.size(), limit_)); }
  bool is_full() const { return entries_.size() >= limit_; }

  void Push(E* entry) {
    if (is_heap_) {  // the last place is free
      if (!IsBetter(entry, entries_.front())) return;
      entries_.back() = entry;
      std::pop_heap(entries_.begin(), entries_.end(), IsBetter);
      return;
    }
    entries_.push_back(entry);
    if (worst_is_first_ && !IsBetter(entry, entries_.front())) std::swap(entries_.front(), entries_.back());
    if (entries_.size() <= limit_) return;
    std::make_heap(entries_.begin(), entries_.end(), IsBetter);
    std::pop_heap(entries_.begin(), entries_.end(), IsBetter);
    is_heap_ = true;
  }
  // REQUIRES: something was pushed.
  E* Worst() {
    if (!is_heap_ && !worst_is_first_) {
      auto worst = entries_.begin();
      for (auto it = worst; it != entries_.end(); ++it) {
        if (IsBetter(*worst, *it)) worst = it;
      }
      std::iter_swap(entries_.begin(), worst);
      worst_is_first_ = true;
    }
    return entries_.front();
  }
  // All of them, best first; none are left.
  std::vector<E*> Take() {
    std::vector<E*> out = std::exchange(entries_, {});
    if (is_heap_) {
      out.pop_back();
      std::sort_heap(out.begin(), out.end(), IsBetter);
    } else {
      std::sort(out.begin(), out.end(), IsBetter);
    }
    is_heap_ = worst_is_first_ = false;
    return out;
  }

 private:
  static bool IsBetter(const E* a, const E* b) { return a->is_better_than(*b); }

  const size_t limit_;
  std::vector<E*> entries_;
  bool is_heap_ = false, worst_is_first_ = false;
};

// Prefixes of label sequences as a tree; the best of them are the beam.
template <typename T>
class BeamSearch {
 public:
  BeamSearch(int64_t classes, int64_t width) : classes_(classes), blank_(classes - 1), beam_(width) {
    root_.now = {0, 0, kLogZero<T>};
    beam_.Push(&root_);
  }

  void Step(const T* x) {
    const T largest = *std::max_element(x, x + classes_);
    T sum = 0;
    for (int64_t c = 0; c < classes_; ++c) sum += std::exp(x[c] - largest);
    const T offset = -largest - std::log(sum);
    const std::vector<Entry*> branches = beam_.Take();
    for (Entry* b : branches) b->before = b->now;
    for (Entry* b : branches) {
      if (b->parent != nullptr) {
        if (b->parent->is_active()) {
          const T previous = b->label == b->parent->label ? b->parent->before.blank : b->parent->before.total;
          b->now.label = LogSum(b->now.label, previous);
        }
        b->now.label += x[b->label] + offset;
      }
      b->now.blank = b->before.total + x[blank_] + offset;
      b->now.total = LogSum(b->now.blank, b->now.label);
      beam_.Push(b);
    }
    for (Entry* b : branches) {
      if (IsCandidate(b->before)) Grow(*b, x, offset);
    }
  }

  // The best sequences, best first; fewer if there are not as many.
  std::vector<std::pair<Labels, T>> Best(int64_t count, bool merge_repeated) const {
    BestEntries<Entry> best(count);
    for (Entry* entry : beam_.entries()) best.Push(entry);
    std::vector<std::pair<Labels, T>> out;
    for (const Entry* entry : best.Take()) {
      Labels labels;
      int64_t previous = -1;
      for (const Entry* e = entry; e->parent != nullptr; e = e->parent) {
        if (!merge_repeated || e->label != previous) labels.push_back(e->label);
        previous = e->label;
      }
      std::ranges::reverse(labels);
      out.emplace_back(std::move(labels), entry->now.total);
    }
    return out;
  }

 private:
  struct Probability {
    T total = kLogZero<T>, blank = kLogZero<T>, label = kLogZero<T>;
  };
  struct Entry {
    Entry* parent = nullptr;
    int64_t label = -1;
    Probability before, now;
    std::map<int64_t, Entry*> children;
    bool is_active() const { return now.total != kLogZero<T>; }
    bool is_better_than(const Entry& other) const {
      return now.total > other.now.total || (std::isnan(other.now.total) && !std::isnan(now.total));
    }
  };

  bool IsCandidate(const Probability& p) {
    return p.total > kLogZero<T> && (!beam_.is_full() || p.total > beam_.Worst()->now.total);
  }
  void Grow(Entry& b, const T* x, T offset) {
    for (int64_t label = 0; label < classes_; ++label) {
      if (label == blank_) continue;
      auto found = b.children.find(label);
      if (found != b.children.end() && found->second->is_active()) continue;
      Probability now;
      now.label = x[label] + offset + (label == b.label ? b.before.blank : b.before.total);
      now.total = now.label;
      if (!IsCandidate(now)) {
        // It may have left the beam in this step: then nothing grows from it any more.
        if (found != b.children.end()) found->second->before = found->second->now = Probability();
        continue;
      }
      if (found == b.children.end()) found = b.children.emplace(label, &entries_.emplace_back()).first;
      Entry& child = *found->second;
      child.parent = &b;
      child.label = label;
      child.now = now;
      if (beam_.is_full()) beam_.Worst()->now = Probability();
      beam_.Push(&child);
    }
  }

  const int64_t classes_, blank_;
  Entry root_;
  std::deque<Entry> entries_;  // all others; a tree of them may be deep
  BestEntries<Entry> beam_;
};

template <typename T>
class BeamSearchKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BeamSearchKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->merge_, init.Attr<bool>("merge_repeated"));
    WEIR_ASSIGN_OR_RETURN(kernel->width_, init.Attr<int64_t>("beam_width"));
    WEIR_ASSIGN_OR_RETURN(kernel->paths_, init.Attr<int64_t>("top_paths"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Sizes sizes, CheckInputs(ctx));
    if (paths_ > width_) return InvalidArgument("requested more paths than the beam width.");
    const int64_t dims[] = {sizes.batch, paths_};
    WEIR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * score, ctx.AllocateOutput(3 * static_cast<int>(paths_), shape));
    std::vector<std::vector<Labels>> rows(static_cast<size_t>(paths_), std::vector<Labels>(sizes.batch));
    std::vector<char> is_short(static_cast<size_t>(sizes.batch), 0);
    const double cost = 50.0 * static_cast<double>(sizes.time * sizes.classes) * static_cast<double>(width_);
    ctx.ParallelFor(sizes.batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        BeamSearch<T> search(sizes.classes, width_);
        for (int64_t t = 0; t < ctx.input(1).data<int32_t>()[b]; ++t) {
          search.Step(ctx.input(0).data<T>() + (t * sizes.batch + b) * sizes.classes);
        }
        auto best = search.Best(paths_, merge_);
        is_short[b] = static_cast<int64_t>(best.size()) < paths_;
        for (size_t i = 0; i < best.size(); ++i) {
          rows[i][b] = std::move(best[i].first);
          score->data<T>()[b * paths_ + static_cast<int64_t>(i)] = best[i].second;
        }
      }
    });
    if (std::ranges::count(is_short, 1) > 0) {
      return InvalidArgument("Less leaves in the beam search than requested.");
    }
    for (int64_t i = 0; i < paths_; ++i) {
      WEIR_RETURN_IF_ERROR(WriteSparse(ctx, rows[i], static_cast<int>(i), static_cast<int>(paths_)));
    }
    return OkStatus();
  }

 private:
  bool merge_ = true;
  int64_t width_ = 1, paths_ = 1;
};

template <typename T>
void RegisterDecoders(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CTCGreedyDecoder").Types("T", TypeList<T>{}), MakeKernel<GreedyKernel<T>>);
  registry.Add(KernelBuilder("CTCBeamSearchDecoder").Types("T", TypeList<T>{}), MakeKernel<BeamSearchKernel<T>>);
}

}  // namespace

void RegisterCtcDecoderKernels(KernelRegistry& registry) {
  RegisterDecoders<float>(registry);
  RegisterDecoders<double>(registry);
}

}  // namespace weir

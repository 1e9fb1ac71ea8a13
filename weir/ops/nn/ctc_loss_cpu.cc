// CTCLoss: the negative logarithm of the probability of a label sequence, summed over all its alignments (Graves,
// "Supervised Sequence Labelling", chapter 7), and its gradient. The last class is the blank.
#include <cmath>
#include <limits>
#include <vector>

#include "weir/ops/nn/log_sum.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

// One sequence: log probabilities y[time, classes] and the labels with blanks between and around them.
template <typename T>
struct Alignment {
  const std::vector<T>& log_y;
  const std::vector<int>& labels;
  int64_t time, classes;
  bool merge_repeated;

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  bool is_blank(int64_t u) const { return labels[u] == static_cast<int>(classes) - 1; }
  T LogY(int64_t u, int64_t t) const { return log_y[t * classes + labels[u]]; }
  bool MayStay(int64_t u) const { return merge_repeated || is_blank(u); }
  // From label u to u + 2, over the blank.
  bool MaySkip(int64_t u) const { return !is_blank(u) && !(merge_repeated && labels[u] == labels[u + 2]); }

  std::vector<T> Forward() const {
    std::vector<T> alpha(static_cast<size_t>(size() * time), kLogZero<T>);
    for (int64_t u = 0; u < std::min<int64_t>(2, size()); ++u) alpha[u] = LogY(u, 0);
    for (int64_t t = 1; t < time; ++t) {
      const T* before = alpha.data() + (t - 1) * size();
      for (int64_t u = 0; u < size(); ++u) {
        T sum = MayStay(u) ? before[u] : kLogZero<T>;
        if (u > 0) sum = LogSum(sum, before[u - 1]);
        if (u > 1 && MaySkip(u - 2)) sum = LogSum(sum, before[u - 2]);
        alpha[t * size() + u] = sum + LogY(u, t);
      }
    }
    return alpha;
  }
  // Without the probability at t itself.
  std::vector<T> Backward() const {
    std::vector<T> beta(static_cast<size_t>(size() * time), kLogZero<T>);
    for (int64_t u = std::max<int64_t>(0, size() - 2); u < size(); ++u) beta[(time - 1) * size() + u] = 0;
    for (int64_t t = time - 2; t >= 0; --t) {
      const T* after = beta.data() + (t + 1) * size();
      for (int64_t u = 0; u < size(); ++u) {
        T sum = MayStay(u) ? after[u] + LogY(u, t + 1) : kLogZero<T>;
        if (u + 1 < size()) sum = LogSum(sum, after[u + 1] + LogY(u + 1, t + 1));
        if (u + 2 < size() && MaySkip(u)) sum = LogSum(sum, after[u + 2] + LogY(u + 2, t + 1));
        beta[t * size() + u] = sum;
      }
    }
    return beta;
  }
};

struct Attrs {
  bool collapse = false, merge = true, ignore_longer = false;
};

class CtcLossKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CtcLossKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_.collapse, init.Attr<bool>("preprocess_collapse_repeated"));
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_.merge, init.Attr<bool>("ctc_merge_repeated"));
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_.ignore_longer, init.Attr<bool>("ignore_longer_outputs_than_inputs"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &inputs = ctx.input(0), &lengths = ctx.input(3);
    if (inputs.rank() != 3) return InvalidArgument("inputs is not a 3-Tensor");
    if (lengths.rank() != 1) return InvalidArgument("sequence_length is not a vector");
    const int64_t time = inputs.dim(0), batch = inputs.dim(1), classes = inputs.dim(2);
    if (time == 0) return InvalidArgument("Max time or first dimension of input cannot be 0.");
    if (batch == 0) return InvalidArgument("batch_size must not be 0");
    if (classes == 0) return InvalidArgument("num_classes must not be 0");
    if (lengths.dim(0) != batch) {
      return InvalidArgument("len(sequence_length) != batch_size.  len(sequence_length):  ", lengths.dim(0),
                             " batch_size: ", batch);
    }
    for (int64_t b = 0; b < batch; ++b) {
      const int32_t length = lengths.data<int32_t>()[b];
      if (length < 0) return InvalidArgument("sequence_length(", b, ") must be >= 0, got ", length);
      if (length > time) return InvalidArgument("sequence_length(", b, ") <= ", time);
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<std::vector<int>> labels, ReadLabels(ctx, batch));
    std::vector<std::vector<int>> targets;
    for (int64_t b = 0; b < batch; ++b) {
      const int32_t length = lengths.data<int32_t>()[b];
      WEIR_ASSIGN_OR_RETURN(std::vector<int> target, MakeTarget(labels[b], b, classes));
      const int64_t needed = static_cast<int64_t>(target.size());
      if (needed > length && !attrs_.ignore_longer) {
        return InvalidArgument("Not enough time for target transition sequence (required: ", needed,
                               ", available: ", length, ")", b,
                               "You can turn this error into a warning by using the flag "
                               "ignore_longer_outputs_than_inputs");
      }
      targets.push_back(std::move(target));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape({batch})));
    WEIR_ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, inputs.shape()));
    DispatchDType(inputs.dtype(), TypeList<float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::fill_n(gradient->data<T>(), inputs.num_elements(), T(0));
      const double cost = 40.0 * static_cast<double>(time) * static_cast<double>(classes);
      ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t length = lengths.data<int32_t>()[b];
          T& out = loss->data<T>()[b];
          out = 0;
          if (static_cast<int64_t>(targets[b].size()) > length || length == 0) continue;
          out = One<T>(inputs.data<T>(), b, batch, length, classes, targets[b], gradient->data<T>());
        }
      });
    });
    return OkStatus();
  }

 private:
  // The labels of each sequence; the indices must be those of a sorted sparse matrix.
  static StatusOr<std::vector<std::vector<int>>> ReadLabels(const KernelContext& ctx, int64_t batch) {
    const Tensor &indices = ctx.input(1), &values = ctx.input(2);
    if (indices.rank() != 2 || (indices.dim(1) != 2 && indices.dim(0) > 0)) {
      return InvalidArgument("labels_indices is not a matrix with 2 columns");
    }
    if (values.rank() != 1) return InvalidArgument("labels_values is not a vector");
    if (indices.dim(0) != values.dim(0)) {
      return InvalidArgument("labels_indices and labels_values must contain the same number of rows, but saw shapes: ",
                             indices.shape().ToString(), " vs. ", values.shape().ToString());
    }
    const int64_t* at = indices.data<int64_t>();
    int64_t width = 0;
    for (int64_t i = 0; i < values.dim(0); ++i) width = std::max(width, at[2 * i + 1] + 1);
    std::vector<std::vector<int>> out(static_cast<size_t>(batch));
    for (int64_t i = 0; i < values.dim(0); ++i) {
      const int64_t row = at[2 * i], column = at[2 * i + 1];
      if (row < 0 || row >= batch || column < 0) {
        return InvalidArgument("label SparseTensor is not valid: indices[", i, "] = [", row, ",", column,
                               "] is out of bounds: need 0 <= index < [", batch, ",", width, "]");
      }
      if (i > 0 && std::pair(at[2 * i - 2], at[2 * i - 1]) >= std::pair(row, column)) {
        return InvalidArgument("label SparseTensor is not valid: indices[", i, "] = [", row, ",", column,
                               "] is out of order. Many sparse ops require sorted indices.");
      }
      out[row].push_back(values.data<int32_t>()[i]);
    }
    for (int64_t b = 0; b < batch; ++b) {
      if (out[b].empty()) return InvalidArgument("Labels length is zero in batch ", b);
    }
    return out;
  }

  // The labels to be found: those after a blank do not count.
  StatusOr<std::vector<int>> MakeTarget(const std::vector<int>& labels, int64_t b, int64_t classes) const {
    auto text = [&] {
      std::string out;
      for (int label : labels) out += Cat(out.empty() ? "" : ",", label);
      return out;
    };
    std::vector<int> out;
    bool ended = false;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) {
        return InvalidArgument("All labels must be nonnegative integers, batch: ", b, " labels: ", text());
      }
      if (i > 0 && attrs_.collapse && labels[i] == labels[i - 1]) continue;
      if (labels[i] >= classes - 1) {
        ended = true;
      } else if (ended) {
        return InvalidArgument("Saw a non-null label (index >= num_classes - 1) following a null label, batch: ", b,
                               " num_classes: ", classes, " labels: ", text());
      } else {
        out.push_back(labels[i]);
      }
    }
    return out;
  }

  template <typename T>
  T One(const T* inputs, int64_t b, int64_t batch, int64_t time, int64_t classes, const std::vector<int>& target,
        T* gradient) const {
    std::vector<T> log_y(static_cast<size_t>(time * classes));
    for (int64_t t = 0; t < time; ++t) {
      const T* x = inputs + (t * batch + b) * classes;
      const T largest = *std::max_element(x, x + classes);
      T sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
      for (int64_t c = 0; c < classes; ++c) log_y[t * classes + c] = x[c] - largest - std::log(sum);
    }
    const int blank = static_cast<int>(classes) - 1;
    std::vector<int> labels{blank};
    for (int label : target) {
      labels.push_back(label);
      labels.push_back(blank);
    }
    const Alignment<T> alignment{log_y, labels, time, classes, attrs_.merge};
    const std::vector<T> alpha = alignment.Forward(), beta = alignment.Backward();
    const int64_t size = alignment.size();
    T log_p = kLogZero<T>;
    for (int64_t u = 0; u < size; ++u) log_p = LogSum(log_p, alpha[u] + beta[u]);
    std::vector<T> found(static_cast<size_t>(classes));
    for (int64_t t = 0; t < time; ++t) {
      std::fill(found.begin(), found.end(), kLogZero<T>);
      for (int64_t u = 0; u < size; ++u) {
        found[labels[u]] = LogSum(found[labels[u]], alpha[t * size + u] + beta[t * size + u]);
      }
      for (int64_t c = 0; c < classes; ++c) {
        const T share = log_p == kLogZero<T> ? T(0) : std::exp(static_cast<float>(found[c] - log_p));
        gradient[(t * batch + b) * classes + c] = std::exp(log_y[t * classes + c]) - share;
      }
    }
    return -log_p;
  }

  Attrs attrs_;
};

}  // namespace

void RegisterCtcLossKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CTCLoss").Types("T", TypeList<float, double>{}), MakeKernel<CtcLossKernel>);
}

}  // namespace weir

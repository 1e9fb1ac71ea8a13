// N-grams of the rows of a ragged tensor of strings.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

class StringNGramsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<StringNGramsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->separator_, init.Attr<std::string>("separator"));
    WEIR_ASSIGN_OR_RETURN(kernel->widths_, init.Attr<std::vector<int64_t>>("ngram_widths"));
    WEIR_ASSIGN_OR_RETURN(kernel->left_pad_, init.Attr<std::string>("left_pad"));
    WEIR_ASSIGN_OR_RETURN(kernel->right_pad_, init.Attr<std::string>("right_pad"));
    WEIR_ASSIGN_OR_RETURN(kernel->pad_width_, init.Attr<int64_t>("pad_width"));
    WEIR_ASSIGN_OR_RETURN(kernel->preserve_short_, init.Attr<bool>("preserve_short_sequences"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    for (int64_t width : widths_) {
      if (width <= 0) return InvalidArgument("ngram_widths must contain positive values");
      if (width > kMaxWidth) return InvalidArgument("ngram_widths must not exceed ", kMaxWidth, ", got ", width);
    }
    if (pad_width_ > kMaxWidth) return InvalidArgument("pad_width must not exceed ", kMaxWidth, ", got ", pad_width_);
    const Tensor data = ctx.input(0), splits = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Dims ends, IntElements(splits, "data_splits"));
    if (!ends.empty()) WEIR_RETURN_IF_ERROR(CheckSplits(ends, data.num_elements()));
    if (ends.empty() || data.num_elements() == 0) {  // not even padding
      ctx.set_output(1, splits);
      return ctx.AllocateOutput(0, Shape({0})).status();
    }
    std::vector<std::string> ngrams;
    Dims out_splits{0};
    for (size_t row = 0; row + 1 < ends.size(); ++row) {
      AddRow(data.span<std::string>().subspan(ends[row], ends[row + 1] - ends[row]), ngrams);
      out_splits.push_back(static_cast<int64_t>(ngrams.size()));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(ngrams.size())})));
    std::move(ngrams.begin(), ngrams.end(), out->data<std::string>());
    WEIR_ASSIGN_OR_RETURN(Tensor * out_ends, ctx.AllocateOutput(1, splits.shape()));
    DispatchDType(splits.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < out_splits.size(); ++i) out_ends->data<T>()[i] = static_cast<T>(out_splits[i]);
    });
    return OkStatus();
  }

 private:
  // Wider ones are mistakes: every n-gram is a string of that many tokens.
  static constexpr int64_t kMaxWidth = 1 << 20;
  using Tokens = std::span<const std::string>;

  static Status CheckSplits(const Dims& ends, int64_t size) {
    if (ends[0] != 0) return InvalidArgument("First split value must be 0, got ", ends[0]);
    for (size_t i = 1; i < ends.size(); ++i) {
      if (ends[i] < ends[i - 1] || ends[i] > size) {
        return InvalidArgument("Invalid split value ", ends[i], ", must be in [", ends[i - 1], ", ", size, "]");
      }
    }
    if (ends.back() != size) {
      return InvalidArgument("Last split value must be data size. Expected ", size, ", got ", ends.back());
    }
    return OkStatus();
  }

  void AddRow(Tokens tokens, std::vector<std::string>& ngrams) const {
    const size_t before = ngrams.size();
    const int64_t length = static_cast<int64_t>(tokens.size());
    for (int64_t width : widths_) {
      const int64_t pad = PadFor(width);
      const int64_t count = length + 2 * pad - width + 1;
      for (int64_t i = 0; i < count; ++i) ngrams.push_back(NGram(tokens, width, pad, i, count));
    }
    if (!preserve_short_ || ngrams.size() > before || length == 0) return;
    const int64_t pad = std::max<int64_t>(pad_width_, 0);
    ngrams.push_back(NGram(tokens, length + 2 * pad, pad, 0, 1));
  }

  int64_t PadFor(int64_t width) const { return std::min(pad_width_ < 0 ? width - 1 : pad_width_, width - 1); }

  // N-gram `index` of `count`; the padding at either end counts as tokens.
  std::string NGram(Tokens tokens, int64_t width, int64_t pad, int64_t index, int64_t count) const {
    const int64_t left = std::max<int64_t>(0, pad - index);
    const int64_t right = std::max<int64_t>(0, pad - (count - index - 1));
    const int64_t begin = std::max<int64_t>(0, index - pad);
    std::string out;
    auto add = [&](const std::string& token, bool first) {
      if (!first) out += separator_;
      out += token;
    };
    for (int64_t i = 0; i < width; ++i) {
      if (i < left) {
        add(left_pad_, i == 0);
      } else if (i >= width - right) {
        add(right_pad_, i == 0);
      } else {
        add(tokens[begin + i - left], i == 0);
      }
    }
    return out;
  }

  std::string separator_, left_pad_, right_pad_;
  std::vector<int64_t> widths_;
  int64_t pad_width_ = 0;
  bool preserve_short_ = false;
};

}  // namespace

void RegisterNGramsKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StringNGrams"), MakeKernel<StringNGramsKernel>);
}

}  // namespace weir

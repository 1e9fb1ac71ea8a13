// Splitting strings: the parts as a sparse tensor of [string, part].
#include <algorithm>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

using Parts = std::vector<std::string_view>;

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void SplitAtAny(std::string_view text, std::string_view delimiters, bool skip_empty, Parts& parts) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
    return;
  }
  for (size_t at = 0; at <= text.size();) {
    size_t next = std::min(text.find_first_of(delimiters, at), text.size());
    if (next > at || !skip_empty) parts.push_back(text.substr(at, next - at));
    at = next + 1;
  }
}

void SplitAtBlanks(std::string_view text, int64_t max_splits, Parts& parts) {
  size_t at = 0;
  auto skip_blanks = [&] {
    while (at < text.size() && IsBlank(text[at])) ++at;
  };
  for (int64_t splits = 0; max_splits < 0 || splits < max_splits; ++splits) {
    skip_blanks();
    if (at == text.size()) return;
    size_t begin = at;
    while (at < text.size() && !IsBlank(text[at])) ++at;
    parts.push_back(text.substr(begin, at - begin));
  }
  // What is left counts as a part even if it is empty.
  skip_blanks();
  parts.push_back(text.substr(at));
}

void SplitAtSeparator(std::string_view text, std::string_view separator, int64_t max_splits, Parts& parts) {
  size_t at = 0;
  for (int64_t splits = 0; max_splits < 0 || splits < max_splits; ++splits) {
    size_t next = text.find(separator, at);
    if (next == std::string_view::npos) break;
    parts.push_back(text.substr(at, next - at));
    at = next + separator.size();
  }
  parts.push_back(text.substr(at));
}

class SplitKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0), separator = ctx.input(1);
    if (!input.shape().IsVector()) {
      return InvalidArgument("input must be a vector, got shape: ", input.shape().ToString());
    }
    if (!separator.shape().IsScalar()) {
      return InvalidArgument(separator_name(), " must be a scalar, got shape: ", separator.shape().ToString());
    }
    Parts parts;
    std::vector<size_t> ends;
    for (const std::string& text : input.span<std::string>()) {
      Split(text, separator.scalar<std::string>(), parts);
      ends.push_back(parts.size());
    }
    const int64_t count = static_cast<int64_t>(parts.size());
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({count, 2})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({count})));
    int64_t* index = indices->data<int64_t>();
    int64_t widest = 0, begin = 0;
    for (size_t row = 0; row < ends.size(); ++row) {
      const int64_t end = static_cast<int64_t>(ends[row]);
      widest = std::max(widest, end - begin);
      for (int64_t i = begin; i < end; ++i) {
        index[2 * i] = static_cast<int64_t>(row);
        index[2 * i + 1] = i - begin;
        values->data<std::string>()[i] = parts[i];
      }
      begin = end;
    }
    ctx.set_output(2, Tensor::Vector<int64_t>({input.dim(0), widest}));
    return OkStatus();
  }

 private:
  virtual std::string_view separator_name() const = 0;
  virtual void Split(std::string_view text, std::string_view separator, Parts& parts) const = 0;
};

class StringSplitKernel : public SplitKernel {
 public:
  explicit StringSplitKernel(bool skip_empty) : skip_empty_(skip_empty) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool skip_empty, init.Attr<bool>("skip_empty"));
    return std::unique_ptr<Kernel>(std::make_unique<StringSplitKernel>(skip_empty));
  }

 private:
  std::string_view separator_name() const override { return "delimiter"; }
  void Split(std::string_view text, std::string_view separator, Parts& parts) const override {
    SplitAtAny(text, separator, skip_empty_, parts);
  }
  const bool skip_empty_;
};

class StringSplitV2Kernel : public SplitKernel {
 public:
  explicit StringSplitV2Kernel(int64_t max_splits) : max_splits_(max_splits) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t max_splits, init.Attr<int64_t>("maxsplit"));
    return std::unique_ptr<Kernel>(std::make_unique<StringSplitV2Kernel>(max_splits));
  }

 private:
  std::string_view separator_name() const override { return "sep"; }
  void Split(std::string_view text, std::string_view separator, Parts& parts) const override {
    if (max_splits_ == 0) {
      parts.push_back(text);
    } else if (separator.empty()) {
      SplitAtBlanks(text, max_splits_, parts);
    } else {
      SplitAtSeparator(text, separator, max_splits_, parts);
    }
  }
  const int64_t max_splits_;
};

}  // namespace

void RegisterStringSplitKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StringSplit"), MakeKernel<StringSplitKernel>);
  registry.Add(KernelBuilder("StringSplitV2"), MakeKernel<StringSplitV2Kernel>);
}

}  // namespace weir

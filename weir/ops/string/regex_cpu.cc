// Regular expressions.
#include "absl/synchronization/mutex.h"
#include "re2/re2.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/map_strings.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

using Pattern = std::shared_ptr<const re2::RE2>;

StatusOr<Pattern> Compile(const std::string& text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto pattern = std::make_shared<const re2::RE2>(text, options);
  if (!pattern->ok()) return InvalidArgument("Invalid pattern: ", text, ", error: ", pattern->error());
  return pattern;
}

// The pattern of the last step, which is nearly always that of the next.
class PatternCache {
 public:
  StatusOr<Pattern> Get(const std::string& text) {
    absl::MutexLock lock(&mu_);
    if (last_ && last_->pattern() == text) return last_;
    WEIR_ASSIGN_OR_RETURN(last_, Compile(text));
    return last_;
  }

 private:
  absl::Mutex mu_;
  Pattern last_ ABSL_GUARDED_BY(mu_);
};

// A scalar string input.
StatusOr<std::string> Text(KernelContext& ctx, int input, std::string_view name) {
  const Tensor& tensor = ctx.input(input);
  if (!tensor.shape().IsScalar()) {
    return InvalidArgument(name, " must be scalar, but received ", tensor.shape().ToString());
  }
  return tensor.scalar<std::string>();
}

Status Match(KernelContext& ctx, const re2::RE2& pattern) {
  return MapStrings<bool>(ctx, [&](const std::string& s) { return re2::RE2::FullMatch(s, pattern); });
}

Status Replace(KernelContext& ctx, const re2::RE2& pattern, const std::string& rewrite, bool global) {
  // RE2 complains on standard error of a rewrite that names a group which is not there; then nothing is replaced.
  std::string error;
  const bool usable = pattern.CheckRewriteString(rewrite, &error);
  return MapStrings<std::string>(ctx, [&](const std::string& s) {
    std::string out = s;
    if (usable && global) {
      re2::RE2::GlobalReplace(&out, pattern, rewrite);
    } else if (usable) {
      re2::RE2::Replace(&out, pattern, rewrite);
    }
    return out;
  });
}

class RegexFullMatchKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string text, Text(ctx, 1, "Pattern"));
    WEIR_ASSIGN_OR_RETURN(Pattern pattern, cache_.Get(text));
    return Match(ctx, *pattern);
  }

 private:
  PatternCache cache_;
};

class StaticRegexFullMatchKernel : public Kernel {
 public:
  explicit StaticRegexFullMatchKernel(Pattern pattern) : pattern_(std::move(pattern)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string text, init.Attr<std::string>("pattern"));
    WEIR_ASSIGN_OR_RETURN(Pattern pattern, Compile(text));
    return std::unique_ptr<Kernel>(std::make_unique<StaticRegexFullMatchKernel>(std::move(pattern)));
  }
  Status Compute(KernelContext& ctx) override { return Match(ctx, *pattern_); }

 private:
  const Pattern pattern_;
};

class RegexReplaceKernel : public Kernel {
 public:
  explicit RegexReplaceKernel(bool global) : global_(global) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool global, init.Attr<bool>("replace_global"));
    return std::unique_ptr<Kernel>(std::make_unique<RegexReplaceKernel>(global));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string text, Text(ctx, 1, "Pattern"));
    WEIR_ASSIGN_OR_RETURN(std::string rewrite, Text(ctx, 2, "Rewrite"));
    WEIR_ASSIGN_OR_RETURN(Pattern pattern, cache_.Get(text));
    return Replace(ctx, *pattern, rewrite, global_);
  }

 private:
  const bool global_;
  PatternCache cache_;
};

class StaticRegexReplaceKernel : public Kernel {
 public:
  StaticRegexReplaceKernel(Pattern pattern, std::string rewrite, bool global)
      : pattern_(std::move(pattern)), rewrite_(std::move(rewrite)), global_(global) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string text, init.Attr<std::string>("pattern"));
    WEIR_ASSIGN_OR_RETURN(std::string rewrite, init.Attr<std::string>("rewrite"));
    WEIR_ASSIGN_OR_RETURN(bool global, init.Attr<bool>("replace_global"));
    WEIR_ASSIGN_OR_RETURN(Pattern pattern, Compile(text));
    return std::unique_ptr<Kernel>(
        std::make_unique<StaticRegexReplaceKernel>(std::move(pattern), std::move(rewrite), global));
  }
  Status Compute(KernelContext& ctx) override { return Replace(ctx, *pattern_, rewrite_, global_); }

 private:
  const Pattern pattern_;
  const std::string rewrite_;
  const bool global_;
};

}  // namespace

void RegisterRegexKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RegexFullMatch"), MakeKernel<RegexFullMatchKernel>);
  registry.Add(KernelBuilder("StaticRegexFullMatch"), MakeKernel<StaticRegexFullMatchKernel>);
  registry.Add(KernelBuilder("RegexReplace"), MakeKernel<RegexReplaceKernel>);
  registry.Add(KernelBuilder("StaticRegexReplace"), MakeKernel<StaticRegexReplaceKernel>);
}

}  // namespace weir

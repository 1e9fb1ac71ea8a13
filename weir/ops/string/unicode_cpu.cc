// Decoding, encoding and transcoding of Unicode text.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/map_strings.h"
#include "weir/ops/string/register.h"
#include "weir/ops/string/text_decoder.h"
#include "weir/ops/string/unicode.h"

namespace weir {
namespace {

enum class OnError { kStrict, kReplace, kIgnore };

struct Options {
  OnError errors = OnError::kReplace;
  char32_t replacement = 0xFFFD;
  bool replace_control = false;

  static StatusOr<Options> Make(const KernelInit& init) {
    Options options;
    WEIR_ASSIGN_OR_RETURN(std::string errors, init.Attr<std::string>("errors"));
    options.errors = errors == "strict" ? OnError::kStrict : errors == "ignore" ? OnError::kIgnore : OnError::kReplace;
    WEIR_ASSIGN_OR_RETURN(int64_t replacement, init.Attr<int64_t>("replacement_char"));
    if (!IsValidCodePoint(replacement)) {
      return InvalidArgument("replacement_char out of unicode codepoint range");
    }
    options.replacement = static_cast<char32_t>(replacement);
    if (init.HasAttr("replace_control_characters")) {
      WEIR_ASSIGN_OR_RETURN(options.replace_control, init.Attr<bool>("replace_control_characters"));
    }
    return options;
  }
};

StatusOr<TextDecoder> InputDecoder(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string name, init.Attr<std::string>("input_encoding"));
  std::optional<TextDecoder> decoder = TextDecoder::Make(name);
  if (!decoder) return InvalidArgument("Could not create converter for input encoding: ", name);
  return *std::move(decoder);
}

StatusOr<TextEncoding> OutputEncoding(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string name, init.Attr<std::string>("output_encoding"));
  std::optional<TextEncoding> encoding = ParseTextEncoding(name);
  if (encoding != TextEncoding::kUtf8 && encoding != TextEncoding::kUtf16Be && encoding != TextEncoding::kUtf32Be) {
    return InvalidArgument("output_encoding must be one of UTF-8, UTF-16-BE or UTF-32-BE, not ", name);
  }
  return *encoding;
}

// Calls put(code point, first byte) for what the options leave of `text`; false if they allow no error and there is
// one.
template <typename Put>
bool Decode(const std::string& text, const TextDecoder& decoder, const Options& options, Put&& put) {
  bool fine = true;
  int64_t at = 0;
  decoder.ForEachCodePoint(text, [&](char32_t c, size_t bytes, bool valid) {
    const bool bad = !valid || (options.replace_control && c < 0x20);
    fine = fine && (valid || options.errors != OnError::kStrict);
    if (!bad) {
      put(c, at);
    } else if (options.errors != OnError::kIgnore) {
      put(options.replacement, at);
    }
    at += static_cast<int64_t>(bytes);
  });
  return fine;
}

class UnicodeDecodeKernel : public Kernel {
 public:
  UnicodeDecodeKernel(TextDecoder decoder, Options options) : decoder_(std::move(decoder)), options_(options) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(TextDecoder decoder, InputDecoder(init));
    WEIR_ASSIGN_OR_RETURN(Options options, Options::Make(init));
    return std::unique_ptr<Kernel>(std::make_unique<UnicodeDecodeKernel>(std::move(decoder), options));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    std::vector<int32_t> code_points;
    std::vector<int64_t> starts, splits{0};
    for (const std::string& text : input.span<std::string>()) {
      const bool fine = Decode(text, decoder_, options_, [&](char32_t c, int64_t at) {
        code_points.push_back(static_cast<int32_t>(c));
        starts.push_back(at);
      });
      if (!fine) return InvalidArgument("Invalid formatting on input string");
      splits.push_back(static_cast<int64_t>(code_points.size()));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out_splits, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(splits.size())})));
    DispatchDType(out_splits->dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < splits.size(); ++i) out_splits->data<T>()[i] = static_cast<T>(splits[i]);
    });
    ctx.set_output(1, Tensor::Vector<int32_t>(code_points));
    if (ctx.num_outputs() > 2) ctx.set_output(2, Tensor::Vector<int64_t>(starts));
    return OkStatus();
  }

 private:
  const TextDecoder decoder_;
  const Options options_;
};

class UnicodeTranscodeKernel : public Kernel {
 public:
  UnicodeTranscodeKernel(TextDecoder from, TextEncoding to, Options options)
      : from_(std::move(from)), to_(to), options_(options) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(TextDecoder from, InputDecoder(init));
    WEIR_ASSIGN_OR_RETURN(TextEncoding to, OutputEncoding(init));
    WEIR_ASSIGN_OR_RETURN(Options options, Options::Make(init));
    return std::unique_ptr<Kernel>(std::make_unique<UnicodeTranscodeKernel>(std::move(from), to, options));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      std::string& to = out->data<std::string>()[i];
      const bool fine = Decode(input.data<std::string>()[i], from_, options_,
                               [&](char32_t c, int64_t) { AppendCodePoint(c, to_, to); });
      if (!fine) return InvalidArgument("Invalid formatting on input string");
    }
    return OkStatus();
  }

 private:
  const TextDecoder from_;
  const TextEncoding to_;
  const Options options_;
};

class UnicodeEncodeKernel : public Kernel {
 public:
  UnicodeEncodeKernel(TextEncoding encoding, Options options) : encoding_(encoding), options_(options) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(TextEncoding encoding, OutputEncoding(init));
    WEIR_ASSIGN_OR_RETURN(Options options, Options::Make(init));
    return std::unique_ptr<Kernel>(std::make_unique<UnicodeEncodeKernel>(encoding, options));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor values = ctx.input(0);
    if (values.rank() != 1 || ctx.input(1).rank() != 1) {
      return InvalidArgument("Both the input_tensor and input_splits should be of rank 1.");
    }
    WEIR_ASSIGN_OR_RETURN(Dims splits, IntElements(ctx.input(1), "input_splits"));
    if (splits.empty()) return InvalidArgument("Input_splits should contain elements, but was empty.");
    if (splits[0] != 0) return InvalidArgument("First value in input_splits must be zero.");
    if (splits.back() != values.num_elements()) {
      return InvalidArgument("Last value in input_splits must be equal to length of input_tensor.");
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1])
        return InvalidArgument("Values in input_splits must be equal or in ascending order.");
    }
    const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({rows})));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        char32_t c = static_cast<char32_t>(values.data<int32_t>()[i]);
        if (!IsValidCodePoint(values.data<int32_t>()[i])) {
          if (options_.errors == OnError::kStrict) {
            return InvalidArgument("Code point is out of range for Unicode, or is a surrogate.");
          }
          if (options_.errors == OnError::kIgnore) continue;
          c = options_.replacement;
        }
        AppendCodePoint(c, encoding_, out->data<std::string>()[row]);
      }
    }
    return OkStatus();
  }

 private:
  const TextEncoding encoding_;
  const Options options_;
};

class UnicodeScriptKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    const int32_t* from = input.data<int32_t>();
    for (int64_t i = 0; i < input.num_elements(); ++i) out->data<int32_t>()[i] = UnicodeScriptOf(from[i]);
    return OkStatus();
  }
};

}  // namespace

void RegisterUnicodeKernels(KernelRegistry& registry) {
  for (const char* op : {"UnicodeDecode", "UnicodeDecodeWithOffsets"}) {
    registry.Add(KernelBuilder(op), MakeKernel<UnicodeDecodeKernel>);
  }
  registry.Add(KernelBuilder("UnicodeTranscode"), MakeKernel<UnicodeTranscodeKernel>);
  registry.Add(KernelBuilder("UnicodeEncode"), MakeKernel<UnicodeEncodeKernel>);
  registry.Add(KernelBuilder("UnicodeScript"), MakeKernel<UnicodeScriptKernel>);
}

}  // namespace weir

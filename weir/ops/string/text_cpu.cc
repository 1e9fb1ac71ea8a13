// Lengths, parts, case and blanks of strings.
#include <algorithm>
#include <atomic>

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/map_strings.h"
#include "weir/ops/string/register.h"
#include "weir/ops/string/unicode.h"

namespace weir {
namespace {

StatusOr<bool> CountsCharacters(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(std::string unit, init.Attr<std::string>("unit"));
  return unit == "UTF8_CHAR";
}

bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

class StringLengthKernel : public Kernel {
 public:
  explicit StringLengthKernel(bool characters) : characters_(characters) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool characters, CountsCharacters(init));
    return std::unique_ptr<Kernel>(std::make_unique<StringLengthKernel>(characters));
  }
  Status Compute(KernelContext& ctx) override {
    return MapStrings<int32_t>(ctx, [this](const std::string& s) {
      return static_cast<int32_t>(characters_ ? std::count_if(s.begin(), s.end(), BeginsCharacter) : s.size());
    });
  }

 private:
  const bool characters_;
};

class StringStripKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    return MapStrings<std::string>(ctx, [](const std::string& s) {
      constexpr std::string_view kBlanks = " \t\n\v\f\r";
      size_t begin = s.find_first_not_of(kBlanks);
      return begin == s.npos ? std::string() : s.substr(begin, s.find_last_not_of(kBlanks) - begin + 1);
    });
  }
};

template <bool kUpper>
class StringCaseKernel : public Kernel {
 public:
  explicit StringCaseKernel(bool utf8) : utf8_(utf8) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string encoding, init.Attr<std::string>("encoding"));
    if (!encoding.empty() && encoding != "utf-8") {
      return InvalidArgument("only utf-8 or '' (no encoding) is supported, received ", encoding);
    }
    return std::unique_ptr<Kernel>(std::make_unique<StringCaseKernel>(!encoding.empty()));
  }
  Status Compute(KernelContext& ctx) override {
    return MapStrings<std::string>(ctx, [this](const std::string& s) {
      if (utf8_) return kUpper ? Utf8ToUpper(s) : Utf8ToLower(s);
      std::string out = s;
      constexpr char kFirst = kUpper ? 'a' : 'A';
      for (char& c : out) {
        if (c >= kFirst && c < kFirst + 26) c = static_cast<char>(c ^ 0x20);
      }
      return out;
    });
  }

 private:
  const bool utf8_;
};

// The part of `text` from `pos` (from the end if negative), `length` units long (to the end if negative); nothing if
// pos is outside.
std::optional<std::string_view> BytePart(std::string_view text, int64_t pos, int64_t length) {
  const int64_t size = static_cast<int64_t>(text.size());
  if (pos < 0) pos += size;
  if (pos < 0 || pos > size) return std::nullopt;
  return text.substr(pos, length < 0 ? text.npos : static_cast<size_t>(length));
}

std::optional<std::string_view> CharacterPart(std::string_view text, int64_t pos, int64_t length) {
  const int64_t size = std::count_if(text.begin(), text.end(), BeginsCharacter);
  if (pos < 0) pos += size;
  if (pos < 0 || pos > size) return std::nullopt;
  size_t at = 0;
  auto advance = [&](int64_t count) {
    for (; count > 0 && at < text.size(); --count) {
      for (++at; at < text.size() && !BeginsCharacter(text[at]);) ++at;
    }
  };
  advance(pos);
  const size_t begin = at;
  advance(length);
  return text.substr(begin, at - begin);
}

class SubstrKernel : public Kernel {
 public:
  explicit SubstrKernel(bool characters) : characters_(characters) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool characters, CountsCharacters(init));
    return std::unique_ptr<Kernel>(std::make_unique<SubstrKernel>(characters));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0), pos = ctx.input(1), len = ctx.input(2);
    if (!(pos.shape() == len.shape())) {
      return InvalidArgument("pos and len should have the same shape, got: ", pos.shape().ToString(), " vs. ",
                             len.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Dims positions, IntElements(pos, "pos"));
    WEIR_ASSIGN_OR_RETURN(Dims lengths, IntElements(len, "len"));
    WEIR_ASSIGN_OR_RETURN(Shape shape, BroadcastShape(input.shape(), pos.shape()));
    if (pos.rank() > 0 && shape.rank() > 2 && !(pos.shape() == input.shape())) {
      return Unimplemented("Substr broadcast not implemented for ", shape.rank(), " dimensions");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const Shape* operands[] = {&input.shape(), &pos.shape()};
    BroadcastRuns runs(shape, operands);
    Status status;
    runs.ForRows(0, runs.rows(), [&](int64_t to, const auto& from) {
      for (int64_t i = 0; i < runs.run() && status.ok(); ++i) {
        const std::string& text = input.data<std::string>()[from[0] + i * runs.step(0)];
        const int64_t p = from[1] + i * runs.step(1);
        auto part =
            characters_ ? CharacterPart(text, positions[p], lengths[p]) : BytePart(text, positions[p], lengths[p]);
        if (part) {
          out->data<std::string>()[to + i] = *part;
        } else {
          const std::string shown = characters_ ? "" : Cat(" b'", text, "'");
          status = InvalidArgument("pos ", positions[p], " out of range for string", shown, " at index ", to + i);
        }
      }
    });
    return status;
  }

 private:
  const bool characters_;
};

}  // namespace

void RegisterTextKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StringLength"), MakeKernel<StringLengthKernel>);
  registry.Add(KernelBuilder("StringStrip"), MakeKernel<StringStripKernel>);
  registry.Add(KernelBuilder("StringLower"), MakeKernel<StringCaseKernel<false>>);
  registry.Add(KernelBuilder("StringUpper"), MakeKernel<StringCaseKernel<true>>);
  registry.Add(KernelBuilder("Substr"), MakeKernel<SubstrKernel>);
}

}  // namespace weir

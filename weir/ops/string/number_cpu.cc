// Numbers to text and back.
#include <cstdio>

#include "weir/base/parse_number.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/map_strings.h"
#include "weir/ops/string/register.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

template <typename... Args>
std::string Print(const std::string& format, Args... args) {
  char small[64];
  const int size = std::snprintf(small, sizeof(small), format.c_str(), args...);
  if (size < 0) return {};
  if (size < static_cast<int>(sizeof(small))) return std::string(small, size);
  std::string out(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), format.c_str(), args...);
  out.pop_back();
  return out;
}

std::string Pad(const std::string& text, int64_t width, bool left) {
  const int64_t missing = width - static_cast<int64_t>(text.size());
  if (missing <= 0) return text;
  std::string blanks(missing, ' ');
  return left ? text + blanks : blanks + text;
}

class AsStringKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AsStringKernel>();
    WEIR_ASSIGN_OR_RETURN(int64_t precision, init.Attr<int64_t>("precision"));
    WEIR_ASSIGN_OR_RETURN(bool scientific, init.Attr<bool>("scientific"));
    WEIR_ASSIGN_OR_RETURN(bool shortest, init.Attr<bool>("shortest"));
    WEIR_ASSIGN_OR_RETURN(int64_t width, init.Attr<int64_t>("width"));
    WEIR_ASSIGN_OR_RETURN(std::string fill, init.Attr<std::string>("fill"));
    const DType dtype = init.input_type(0);
    const bool real = IsFloating(dtype) || IsComplex(dtype);
    if (!real && dtype != DType::kString && dtype != DType::kVariant) {
      if (scientific || shortest) {
        return InvalidArgument("scientific and shortest format not supported for datatype ", Name(dtype));
      }
      if (precision >= 0) return InvalidArgument("precision not supported for datatype ", Name(dtype));
    }
    if (fill.size() > 1) return InvalidArgument("Fill string must be one or fewer characters");
    if (scientific && shortest) return InvalidArgument("Cannot select both scientific and shortest notation");
    if (!fill.empty() && std::string_view(" +-0#").find(fill[0]) == std::string_view::npos) {
      return InvalidArgument("Fill argument not supported: \"", fill, "\"");
    }
    if (precision > kMaxWidth || width > kMaxWidth) {
      return InvalidArgument("width ", width, " and precision ", precision, " must not exceed ", kMaxWidth);
    }
    kernel->width_ = width;
    if (width >= 0) kernel->longest_ = precision;
    kernel->left_ = fill == "-";
    kernel->format_ = Cat("%", fill);
    if (width >= 0) absl::StrAppend(&kernel->format_, width);
    if (!real) {
      kernel->format_ += IsUnsigned(dtype) ? "llu" : "lld";
      return std::unique_ptr<Kernel>(std::move(kernel));
    }
    if (precision >= 0) absl::StrAppend(&kernel->format_, ".", precision);
    kernel->format_ += scientific ? "e" : shortest ? "g" : "f";
    if (IsComplex(dtype)) kernel->format_ = Cat("(", kernel->format_, ",", kernel->format_, ")");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    std::string* to = out->data<std::string>();
    using Types = decltype(NumberTypes{} + TypeList<bool, std::string, Variant>{});
    DispatchDType(input.dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(input.num_elements(), 300, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = Text(input.data<T>()[i]);
      });
    });
    return OkStatus();
  }

 private:
  static constexpr int64_t kMaxWidth = 1 << 20;

  template <typename T>
  std::string Text(const T& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      // A precision cuts, but only where a width is given too.
      return Pad(longest_ < 0 ? value : value.substr(0, static_cast<size_t>(longest_)), width_, left_);
    } else if constexpr (std::is_same_v<T, Variant>) {
      return Pad(value.has_value() ? value.get()->DebugString() : "<empty>", width_, left_);
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
      return Print(format_, static_cast<Wide>(value));
    } else if constexpr (requires { value.real(); }) {
      return Print(format_, static_cast<double>(value.real()), static_cast<double>(value.imag()));
    } else if constexpr (std::is_same_v<T, double>) {
      return Print(format_, value);
    } else {
      return Print(format_, static_cast<double>(static_cast<float>(value)));
    }
  }

  std::string format_;  // of this kernel's own making: one conversion, two for complex numbers
  int64_t width_ = -1, longest_ = -1;
  bool left_ = false;
};

class StringToNumberKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    Status status;
    using Types = TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>;
    DispatchDType(out->dtype(), Types{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::string* from = input.data<std::string>();
      for (int64_t i = 0; i < input.num_elements() && status.ok(); ++i) {
        if (!ParseNumber(from[i], &out->data<T>()[i])) {
          status = InvalidArgument("StringToNumberOp could not correctly convert string: ", from[i]);
        }
      }
    });
    return status;
  }
};

}  // namespace

void RegisterNumberTextKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("AsString"), MakeKernel<AsStringKernel>);
  registry.Add(KernelBuilder("StringToNumber"), MakeKernel<StringToNumberKernel>);
}

}  // namespace weir

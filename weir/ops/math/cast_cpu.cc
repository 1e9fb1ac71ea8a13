#include <cstring>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/cast.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// Types of less than a byte's worth of numbers go through a wider one, a block at a time.
using TinyFloats = decltype(Float8Types{} + TypeList<Float4E2M1FN>{});
using TinyIntegers = TypeList<Int4, UInt4, Int2, UInt2>;
constexpr int64_t kBlock = 256;

DType Carrier(DType dtype) {
  if (DispatchDType(dtype, TinyFloats{}, [](auto) {})) return DType::kFloat;
  if (DispatchDType(dtype, TinyIntegers{}, [](auto) {})) return DType::kInt32;
  return dtype;
}

// Quantised numbers are converted as the integers that they are stored as.
DType Stored(DType dtype) {
  switch (dtype) {
    case DType::kQInt8:
      return DType::kInt8;
    case DType::kQUInt8:
      return DType::kUInt8;
    case DType::kQInt16:
      return DType::kInt16;
    case DType::kQUInt16:
      return DType::kUInt16;
    case DType::kQInt32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

void WidenTiny(DType dtype, const char* from, void* to, int64_t n) {
  DispatchDType(dtype, TinyFloats{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i)
      static_cast<float*>(to)[i] = static_cast<float>(reinterpret_cast<const T*>(from)[i]);
  });
  DispatchDType(dtype, TinyIntegers{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i)
      static_cast<int32_t*>(to)[i] = static_cast<int>(reinterpret_cast<const T*>(from)[i]);
  });
}

void NarrowTiny(DType dtype, const void* from, char* to, int64_t n) {
  DispatchDType(dtype, TinyFloats{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = T(static_cast<const float*>(from)[i]);
  });
  DispatchDType(dtype, TinyIntegers{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = T(static_cast<const int32_t*>(from)[i]);
  });
}

// Zeroes the mantissa bits that the result has no room for, so that the conversion cannot round.
int DroppedBits(DType from, DType to) {
  auto mantissa = [](DType type) {
    switch (type) {
      case DType::kDouble:
        return 52;
      case DType::kFloat:
        return 23;
      case DType::kHalf:
        return 10;
      case DType::kBFloat16:
        return 7;
      default:
        return -1;
    }
  };
  int have = mantissa(from), want = mantissa(to);
  return (from == DType::kDouble || from == DType::kFloat) && want >= 0 && have > want ? have - want : 0;
}

class CastKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CastKernel>();
    kernel->from_ = Stored(init.input_type(0));
    kernel->to_ = Stored(init.output_type(0));
    kernel->is_same_ = init.input_type(0) == init.output_type(0);
    WEIR_ASSIGN_OR_RETURN(bool truncate, init.Attr<bool>("Truncate"));
    if (truncate) kernel->dropped_bits_ = DroppedBits(kernel->from_, kernel->to_);
    kernel->loop_ = FindCast(Carrier(kernel->from_), Carrier(kernel->to_));
    if (kernel->loop_ == nullptr && kernel->from_ != kernel->to_) {
      return Unimplemented("Cast ", Name(kernel->from_), " to ", Name(kernel->to_), " is not supported");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    if (is_same_) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    if (from_ == to_) {
      if (x.num_bytes() > 0) std::memcpy(out->raw_data(), x.raw_data(), x.num_bytes());
      return OkStatus();
    }
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    const bool direct = dropped_bits_ == 0 && Carrier(from_) == from_ && Carrier(to_) == to_;
    if (direct && x.num_elements() < 4096) {
      loop_(from, to, x.num_elements());
      return OkStatus();
    }
    // Whole blocks a thread: what becomes of a number out of range depends on its place in the tensor (CastRun).
    const int64_t from_size = SizeOf(from_), to_size = SizeOf(to_), blocks = (x.num_elements() + kBlock - 1) / kBlock;
    ctx.ParallelFor(blocks, kBlock * (direct ? 0.5 : 3), [&](int64_t first, int64_t last) {
      const int64_t begin = first * kBlock, end = std::min(x.num_elements(), last * kBlock);
      if (direct) return loop_(from + begin * from_size, to + begin * to_size, end - begin);
      for (int64_t i = begin; i < end; i += kBlock) {
        RunBlock(from + i * from_size, to + i * to_size, std::min(kBlock, end - i));
      }
    });
    return OkStatus();
  }

 private:
  void RunBlock(const char* from, char* to, int64_t n) const {
    alignas(16) char wide_in[kBlock * 16];
    alignas(16) char wide_out[kBlock * 16];
    const void* in = from;
    if (Carrier(from_) != from_) {
      WidenTiny(from_, from, wide_in, n);
      in = wide_in;
    } else if (dropped_bits_ > 0) {
      std::memcpy(wide_in, from, n * SizeOf(from_));
      for (int64_t i = 0; i < n; ++i) DropBits(wide_in, i);
      in = wide_in;
    }
    if (Carrier(to_) == to_) return loop_(in, to, n);
    loop_(in, wide_out, n);
    NarrowTiny(to_, wide_out, to, n);
  }

  void DropBits(char* data, int64_t i) const {
    if (from_ == DType::kDouble) {
      reinterpret_cast<uint64_t*>(data)[i] &= ~uint64_t{0} << dropped_bits_;
    } else {
      reinterpret_cast<uint32_t*>(data)[i] &= ~uint32_t{0} << dropped_bits_;
    }
  }

  DType from_ = DType::kInvalid;
  bool is_same_ = false;  // nothing to do
  DType to_ = DType::kInvalid;
  int dropped_bits_ = 0;
  CastLoop loop_ = nullptr;
};

}  // namespace

CastLoop FindCast(DType from, DType to) {
  CastLoop loop = FindCastFromFloat(from, to);
  return loop != nullptr ? loop : FindCastFromInteger(from, to);
}

void RegisterCastKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Cast"), MakeKernel<CastKernel>);
  registry.Add(KernelBuilder("_HostCast"), MakeKernel<CastKernel>);
}

}  // namespace weir

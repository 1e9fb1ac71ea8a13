// Bytes to tensors and back: raw numbers, base64, compression, serialised tensors, fingerprints.
#include <zlib.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "weir/base/fingerprint.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/io/register.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// Copies `size` bytes of elements that are `width` wide, each turned round if they are big-endian.
void CopyRaw(const char* from, char* to, size_t size, size_t width, bool little_endian) {
  if (little_endian || width == 1) {
    std::memcpy(to, from, size);
    return;
  }
  for (size_t at = 0; at + width <= size; at += width) std::reverse_copy(from + at, from + at + width, to + at);
}

// Bytes that endianness is about: of a complex number, one of its halves.
size_t SwapWidth(DType dtype) { return IsComplex(dtype) ? SizeOf(dtype) / 2 : SizeOf(dtype); }

class DecodeRawKernel : public Kernel {
 public:
  explicit DecodeRawKernel(bool little_endian) : little_endian_(little_endian) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool little_endian, init.Attr<bool>("little_endian"));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeRawKernel>(little_endian));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    const std::string* strings = input.data<std::string>();
    const DType dtype = ctx.output_type(0);
    const size_t width = SizeOf(dtype), size = input.num_elements() > 0 ? strings[0].size() : 0;
    for (int64_t i = 1; i < input.num_elements(); ++i) {
      if (strings[i].size() != size) {
        return InvalidArgument("DecodeRaw requires input strings to all be the same size, but element ", i,
                               " has size ", size, " != ", strings[i].size());
      }
    }
    if (size % width != 0) {
      return InvalidArgument("Input to DecodeRaw has length ", size, " that is not a multiple of ", width,
                             ", the size of ", Name(dtype));
    }
    Shape shape = input.shape();
    WEIR_RETURN_IF_ERROR(shape.AddDim(static_cast<int64_t>(size / width)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      CopyRaw(strings[i].data(), static_cast<char*>(out->raw_data()) + i * size, size, SwapWidth(dtype),
              little_endian_);
    }
    // A bool of another bit pattern than 0 or 1 is no bool.
    if (dtype == DType::kBool) {
      uint8_t* bytes = static_cast<uint8_t*>(out->raw_data());
      for (size_t i = 0; i < out->num_bytes(); ++i) bytes[i] = bytes[i] != 0;
    }
    return OkStatus();
  }

 private:
  const bool little_endian_;
};

class DecodePaddedRawKernel : public Kernel {
 public:
  explicit DecodePaddedRawKernel(bool little_endian) : little_endian_(little_endian) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool little_endian, init.Attr<bool>("little_endian"));
    return std::unique_ptr<Kernel>(std::make_unique<DecodePaddedRawKernel>(little_endian));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
    }
    const int32_t fixed = ctx.input(1).scalar<int32_t>();
    const DType dtype = ctx.output_type(0);
    const int32_t width = static_cast<int32_t>(SizeOf(dtype));
    if (fixed <= 0) return InvalidArgument("fixed_length (", fixed, ") must be greater than zero.");
    if (fixed % width != 0) {
      return InvalidArgument("fixed_length (", fixed, ") must be a multiple of the size of out_type (", width, ")");
    }
    Shape shape = input.shape();
    WEIR_RETURN_IF_ERROR(shape.AddDim(fixed / width));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::string padded;
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      padded = input.data<std::string>()[i];
      padded.resize(fixed, '\0');
      CopyRaw(padded.data(), static_cast<char*>(out->raw_data()) + i * fixed, fixed, SwapWidth(dtype), little_endian_);
    }
    return OkStatus();
  }

 private:
  const bool little_endian_;
};

class EncodeBase64Kernel : public Kernel {
 public:
  explicit EncodeBase64Kernel(bool pad) : pad_(pad) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool pad, init.Attr<bool>("pad"));
    return std::unique_ptr<Kernel>(std::make_unique<EncodeBase64Kernel>(pad));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      std::string& to = out->data<std::string>()[i];
      absl::WebSafeBase64Escape(input.data<std::string>()[i], &to);
      while (pad_ && to.size() % 4 != 0) to += '=';
    }
    return OkStatus();
  }

 private:
  const bool pad_;
};

Status DecodeBase64(std::string_view text, std::string& out) {
  if (text.size() % 4 == 0 && text.ends_with("==")) {
    text.remove_suffix(2);
  } else if (text.size() % 4 == 0 && text.ends_with("=")) {
    text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return InvalidArgument("Base64 string length cannot be 1 modulo 4.");
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    uint32_t value;
    if (c >= 'A' && c <= 'Z')
      value = c - 'A';
    else if (c >= 'a' && c <= 'z')
      value = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      value = c - '0' + 52;
    else if (c == '-')
      value = 62;
    else if (c == '_')
      value = 63;
    else
      return InvalidArgument("Invalid character found in base64.");
    bits = bits << 6 | value;
    if ((held += 6) >= 8) out += static_cast<char>(bits >> (held -= 8) & 0xFF);
  }
  return OkStatus();
}

class DecodeBase64Kernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      WEIR_RETURN_IF_ERROR(DecodeBase64(input.data<std::string>()[i], out->data<std::string>()[i]));
    }
    return OkStatus();
  }
};

// What a stream that ends early has given so far counts.
Status Inflate(const std::string& from, int window_bits, std::string& to) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return Internal("inflateInit2 failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  stream.avail_in = static_cast<uInt>(from.size());
  Status status;
  char buffer[16 << 10];
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    result = inflate(&stream, Z_SYNC_FLUSH);
    to.append(buffer, sizeof(buffer) - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      status = DataLoss("inflate() failed with error ", result, stream.msg ? Cat(": ", stream.msg) : "");
    }
  }
  inflateEnd(&stream);
  return status;
}

class DecodeCompressedKernel : public Kernel {
 public:
  explicit DecodeCompressedKernel(int window_bits) : window_bits_(window_bits) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string type, init.Attr<std::string>("compression_type"));
    if (type == "ZSTD") return Unimplemented("DecodeCompressed of ZSTD");
    if (!type.empty() && type != "ZLIB" && type != "GZIP" && type != "NONE") {
      return InvalidArgument("Only ZLIB, ZSTD, GZIP or NONE are supported compressions");
    }
    const int bits = type == "ZLIB" ? MAX_WBITS : type == "GZIP" ? MAX_WBITS + 16 : 0;
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCompressedKernel>(bits));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    if (window_bits_ == 0) {
      ctx.set_output(0, input);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      WEIR_RETURN_IF_ERROR(Inflate(input.data<std::string>()[i], window_bits_, out->data<std::string>()[i]));
    }
    return OkStatus();
  }

 private:
  const int window_bits_;  // 0: not compressed
};

class SerializeTensorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    TensorProto proto;
    WEIR_RETURN_IF_ERROR(ToProto(ctx.input(0), &proto));
    std::string bytes;
    if (!proto.SerializeToString(&bytes)) return InvalidArgument("The tensor is too large to be serialised");
    ctx.set_output(0, Tensor::Scalar(std::move(bytes)));
    return OkStatus();
  }
};

class ParseTensorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (!input.shape().IsScalar()) {
      return InvalidArgument("Expected `serialized` to be a scalar, got shape: ", input.shape().ToString());
    }
    const std::string& bytes = input.scalar<std::string>();
    TensorProto proto;
    StatusOr<Tensor> tensor = InvalidArgument("not a message");
    if (proto.ParseFromString(bytes)) tensor = FromProto(std::move(proto));
    if (!tensor.ok()) {
      return InvalidArgument("Could not parse `serialized` as TensorProto, base64: ", absl::Base64Escape(bytes));
    }
    if (tensor->dtype() != ctx.output_type(0)) {
      return InvalidArgument("Type mismatch between parsed tensor (", Name(tensor->dtype()), ") and dtype (",
                             Name(ctx.output_type(0)), ")");
    }
    ctx.set_output(0, *std::move(tensor));
    return OkStatus();
  }
};

// Of each row of the data: its bytes, or the fingerprints of its strings if there are several.
class FingerprintKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0), method = ctx.input(1);
    if (!method.shape().IsScalar()) {
      return InvalidArgument("`method` should be a scalar string: ", method.shape().ToString());
    }
    if (method.scalar<std::string>() != "farmhash64") {
      return InvalidArgument("Unsupported fingerprint method: ", method.scalar<std::string>());
    }
    if (data.rank() == 0) return InvalidArgument("`data` should have at least one dimension: []");
    const int64_t rows = data.dim(0), row = rows > 0 ? data.num_elements() / rows : 0;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({rows, 8})));
    if (data.dtype() != DType::kString && !IsPlain(data.dtype())) {
      return InvalidArgument("Type not supported: ", Name(data.dtype()));
    }
    std::vector<uint64_t> parts(row);
    for (int64_t i = 0; i < rows; ++i) {
      uint64_t value;
      if (data.dtype() != DType::kString) {
        const size_t size = row * SizeOf(data.dtype());
        value = Fingerprint64({static_cast<const char*>(data.raw_data()) + i * size, size});
      } else if (row == 1) {
        value = Fingerprint64(data.data<std::string>()[i]);
      } else {
        for (int64_t k = 0; k < row; ++k) parts[k] = Fingerprint64(data.data<std::string>()[i * row + k]);
        value = Fingerprint64({reinterpret_cast<const char*>(parts.data()), parts.size() * 8});
      }
      std::memcpy(out->data<uint8_t>() + i * 8, &value, 8);
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterDecodeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DecodeRaw"), MakeKernel<DecodeRawKernel>);
  registry.Add(KernelBuilder("DecodePaddedRaw"), MakeKernel<DecodePaddedRawKernel>);
  registry.Add(KernelBuilder("EncodeBase64"), MakeKernel<EncodeBase64Kernel>);
  registry.Add(KernelBuilder("DecodeBase64"), MakeKernel<DecodeBase64Kernel>);
  registry.Add(KernelBuilder("DecodeCompressed"), MakeKernel<DecodeCompressedKernel>);
  registry.Add(KernelBuilder("SerializeTensor"), MakeKernel<SerializeTensorKernel>);
  registry.Add(KernelBuilder("ParseTensor"), MakeKernel<ParseTensorKernel>);
  registry.Add(KernelBuilder("Fingerprint"), MakeKernel<FingerprintKernel>);
}

}  // namespace weir

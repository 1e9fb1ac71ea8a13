#include "tests/fuzz/decoder_cases.h"

#include "weir/io/checkpoint_reader.h"
#include "weir/io/example_parser.h"
#include "weir/io/file_system.h"
#include "weir/io/image_codec.h"
#include "weir/io/record_reader.h"
#include "weir/io/sequence_example_parser.h"
#include "weir/io/table_reader.h"
#include "weir/ops/audio/register.h"
#include "weir/ops/data/register.h"
#include "weir/ops/io/register.h"
#include "weir/testing/kernel_runner.h"

namespace weir {
namespace {

using S = std::string;

Status Png(std::string_view bytes) {
  for (int channels : {0, 1, 4}) DecodePng(bytes, channels, DType::kUInt16).status().IgnoreError();
  return DecodePng(bytes, 0, DType::kUInt8).status();
}

Status Jpeg(std::string_view bytes) {
  JpegDecodeOptions options;
  Status status = DecodeJpeg(bytes, options).status();
  options.try_recover_truncated = true;
  options.ratio = 2;
  options.channels = 1;
  DecodeJpeg(bytes, options).status().IgnoreError();
  options.crop = JpegWindow{.y = 1, .x = 2, .height = 3, .width = 4};
  DecodeJpeg(bytes, options).status().IgnoreError();
  ReadJpegShape(bytes).status().IgnoreError();
  return status;
}

Status Gif(std::string_view bytes) {
  DecodeGif(bytes, false).status().IgnoreError();
  return DecodeGif(bytes, true).status();
}

Status WebP(std::string_view bytes) {
  DecodeWebP(bytes, 4, false).status().IgnoreError();
  return DecodeWebP(bytes, 0, true).status();
}

Status Bmp(std::string_view bytes) {
  DecodeBmp(bytes, 4).status().IgnoreError();
  return DecodeBmp(bytes, 0).status();
}

ExampleSpec Features() {
  return {.dense = {{"a", DType::kFloat, {2}, Tensor::Vector<float>({0, 0})},
                    {"p", DType::kString, {-1}, Tensor::Scalar("")}},
          .sparse = {{"s", DType::kString}, {"i", DType::kInt64}},
          .ragged = {{"f", DType::kFloat, DType::kInt32}}};
}

Status ExampleBytes(std::string_view bytes) {
  static const auto* parser = ExampleParser::Create(Features()).value().release();
  const S text(bytes);
  parser->ParseSingle(text).status().IgnoreError();
  return parser->ParseBatch(std::span(&text, 1)).status();
}

Status SequenceBytes(std::string_view bytes) {
  static const auto* parser =
      SequenceExampleParser::Create({.context = {.sparse = {{"s", DType::kString}}, .ragged = {{"f", DType::kFloat}}},
                                     .dense = {{"d", DType::kFloat, {1}, true}},
                                     .sparse = {{"s", DType::kInt64}},
                                     .ragged = {{"r", DType::kString, DType::kInt64}}})
          .value()
          .release();
  const S text(bytes);
  parser->ParseSingle(text, "", true).status().IgnoreError();
  return parser->ParseBatch(std::span(&text, 1)).status();
}

class Bytes : public InputStream {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  Status Read(size_t count, std::string* out) override {
    out->append(left_.substr(0, count));
    left_.remove_prefix(std::min(count, left_.size()));
    return OkStatus();
  }

 private:
  std::string_view left_;
};

Status Records(std::string_view bytes) {
  RecordReader reader(std::make_unique<Bytes>(bytes));
  S record;
  Status status;
  while (status.ok()) status = reader.Read(&record);
  return status.code() == absl::StatusCode::kOutOfRange ? OkStatus() : status;
}

// A path whose files are in memory.
S MemoryPath(std::string_view name) {
  static const bool registered = RegisterFileSystem("decoders", MakeMemoryFileSystem()).ok();
  return Cat(registered ? "decoders" : "file", "://", name);
}

Status SnappyRecords(std::string_view bytes) {
  const S path = MemoryPath("records");
  WEIR_RETURN_IF_ERROR(WriteWholeFile(path, bytes));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader, RecordReader::Open(path, Compression::kSnappy));
  S record;
  Status status;
  while (status.ok()) status = reader->Read(&record);
  return status.code() == absl::StatusCode::kOutOfRange ? OkStatus() : status;
}

Status Table(std::string_view bytes) {
  const S path = MemoryPath("table");
  WEIR_RETURN_IF_ERROR(WriteWholeFile(path, bytes));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableReader> table, TableReader::Open(path));
  return table->Find("key").status();
}

// Every tensor of a checkpoint.
Status ReadAll(StatusOr<std::unique_ptr<CheckpointReader>> reader) {
  WEIR_RETURN_IF_ERROR(reader.status());
  Status status;
  for (const auto& [name, tensor] : (*reader)->tensors()) {
    const Status read = (*reader)->Read(name).status();
    if (status.ok()) status = read;
  }
  return status;
}

// The index of a checkpoint; its data are the bytes of two floats.
Status Checkpoint(std::string_view bytes) {
  const S prefix = MemoryPath("checkpoint");
  WEIR_RETURN_IF_ERROR(WriteWholeFile(prefix + ".index", bytes));
  WEIR_RETURN_IF_ERROR(WriteWholeFile(prefix + ".data-00000-of-00001", std::string_view("\0\0\x80?\0\0\x80?", 8)));
  return ReadAll(OpenBundle(prefix));
}

Status CheckpointV1(std::string_view bytes) {
  const S path = MemoryPath("checkpoint_v1");
  WEIR_RETURN_IF_ERROR(WriteWholeFile(path, bytes));
  return ReadAll(OpenCheckpointV1(path));
}

KernelRunner& Kernels() {
  static auto* runner = new KernelRunner({RegisterIoKernels, RegisterAudioKernels, RegisterDataKernels});
  return *runner;
}

Status Csv(std::string_view bytes) {
  return Kernels()("DecodeCSV")
      .Inputs(
          {Tensor::Scalar(S(bytes)), Tensor::Vector<float>({1}), Tensor::Vector<S>({""}), Tensor::Vector<int64_t>({1})})
      .Attr("OUT_TYPE", std::vector<DType>{DType::kFloat, DType::kString, DType::kInt64})
      .Run()
      .status();
}

Status Json(std::string_view bytes) {
  return Kernels()("DecodeJSONExample").Input(Tensor::Scalar(S(bytes))).Run().status();
}

Status TensorBytes(std::string_view bytes) {
  return Kernels()("ParseTensor").Input(Tensor::Scalar(S(bytes))).Attr("out_type", DType::kFloat).Run().status();
}

Status Wav(std::string_view bytes) {
  for (int wanted : {1, 3}) {
    Kernels()("DecodeWav")
        .Input(Tensor::Scalar(S(bytes)))
        .Attr("desired_channels", wanted)
        .Attr("desired_samples", 100 * wanted)
        .Run()
        .status()
        .IgnoreError();
  }
  return Kernels()("DecodeWav").Input(Tensor::Scalar(S(bytes))).Run().status();
}

Status Compressed(std::string_view bytes) {
  Kernels()("DecodeCompressed")
      .Input(Tensor::Scalar(S(bytes)))
      .Attr("compression_type", "ZLIB")
      .Run()
      .status()
      .IgnoreError();
  return Kernels()("DecodeCompressed").Input(Tensor::Scalar(S(bytes))).Attr("compression_type", "GZIP").Run().status();
}

// An element of a dataset as one value.
Status CompressedElement(std::string_view bytes) {
  WEIR_ASSIGN_OR_RETURN(
      std::vector<Tensor> variant,
      Kernels()("ParseTensor").Input(Tensor::Scalar(S(bytes))).Attr("out_type", DType::kVariant).Run());
  AttrList shapes;
  shapes.shape.resize(3);
  return Kernels()("UncompressElement")
      .Inputs(std::move(variant))
      .Attr("output_types", std::vector<DType>{DType::kFloat, DType::kString, DType::kBool})
      .Attr("output_shapes", Attribute(std::move(shapes)))
      .Run()
      .status();
}

struct Kind {
  std::string_view name;
  Status (*decode)(std::string_view);
};
constexpr Kind kKinds[] = {{"png", Png},
                           {"jpeg", Jpeg},
                           {"gif", Gif},
                           {"bmp", Bmp},
                           {"webp", WebP},
                           {"example", ExampleBytes},
                           {"sequence", SequenceBytes},
                           {"record", Records},
                           {"table", Table},
                           {"csv", Csv},
                           {"json", Json},
                           {"tensor", TensorBytes},
                           {"wav", Wav},
                           {"checkpoint", Checkpoint},
                           {"checkpointv1", CheckpointV1},
                           {"compressed", Compressed},
                           {"snappy", SnappyRecords},
                           {"element", CompressedElement}};

}  // namespace

std::span<const std::string_view> DecoderKinds() {
  static const auto* names = [] {
    auto* out = new std::vector<std::string_view>;
    for (const Kind& kind : kKinds) out->push_back(kind.name);
    return out;
  }();
  return *names;
}

Status Decode(std::string_view kind, std::string_view bytes) {
  for (const Kind& known : kKinds) {
    if (known.name == kind) return known.decode(bytes);
  }
  return Internal("no decoder of ", kind);
}

}  // namespace weir

#include <filesystem>

#include "gtest/gtest.h"
#include "weir/ops/io/register.h"
#include "weir/testing/kernel_test.h"

namespace weir {
namespace {

using S = std::string;

Tensor Strings(std::initializer_list<S> values) { return Tensor::Vector<S>(values); }

class IoTest : public KernelTest {
 protected:
  KernelRunner run{{RegisterIoKernels}};
};

TEST_F(IoTest, FilesAreWrittenReadAndFound) {
  const S folder = ::testing::TempDir() + "weir_io_test/some";
  const S contents("one\n\0\xfftwo", 9);
  for (const char* name : {"b.txt", "a.txt", "c.dat"}) {
    ASSERT_TRUE(run("WriteFile").Input(Tensor::Scalar(folder + "/" + name)).Input(Tensor::Scalar(contents)).Run().ok());
  }
  Expect(run("ReadFile").Input(Tensor::Scalar(folder + "/b.txt")), Tensor::Scalar(contents));
  Expect(run("ReadFile").Input(Tensor::Scalar("file://" + folder + "/b.txt")), Tensor::Scalar(contents));
  Expect(run("MatchingFiles").Input(Tensor::Scalar(folder + "/*.txt")),
         Strings({folder + "/a.txt", folder + "/b.txt"}));
  Expect(run("MatchingFiles").Input(Tensor::Scalar(folder + "/*.none")), Strings({}));
  ExpectError(run("ReadFile").Input(Tensor::Scalar(folder + "/no")), folder + "/no; No such file or directory",
              absl::StatusCode::kNotFound);
  ExpectError(run("ReadFile").Input(Tensor::Scalar(folder)), folder + "; Is a directory",
              absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove_all(::testing::TempDir() + "weir_io_test");
}

TEST_F(IoTest, ConstantsThatAreFiles) {
  const S path = ::testing::TempDir() + "weir_immutable_const";
  ASSERT_TRUE(run("WriteFile").Input(Tensor::Scalar(path)).Input(Tensor::Scalar(S("\x01\0\x02\0", 4))).Run().ok());
  auto constant = [&](DType type, PartialShape shape) {
    return run("ImmutableConst").Attr("dtype", type).Attr("shape", shape).Attr("memory_region_name", path);
  };
  Expect(constant(DType::kInt16, {2}), Tensor::Vector<int16_t>({1, 2}));
  EXPECT_EQ(constant(DType::kInt32, {2}).Run().status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(constant(DType::kString, {2}).Run().status().code(), absl::StatusCode::kUnimplemented);
  std::filesystem::remove(path);
  EXPECT_EQ(constant(DType::kInt16, {2}).Run().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(IoTest, ShardNames) {
  Expect(run("ShardedFilename").Inputs({Tensor::Scalar("m"), Tensor::Scalar<int32_t>(2), Tensor::Scalar<int32_t>(10)}),
         Tensor::Scalar("m-00002-of-00010"));
  Expect(run("ShardedFilespec").Inputs({Tensor::Scalar("m"), Tensor::Scalar<int32_t>(10)}),
         Tensor::Scalar("m-?????"
                        "-of-00010"));
}

TEST_F(IoTest, RawBytes) {
  auto raw = [&](Tensor text, DType type) { return run("DecodeRaw").Input(text).Attr("out_type", type); };
  Expect(raw(Strings({"\x01\x02"}), DType::kInt16), TensorOf<int16_t>({1, 1}, {513}));
  Expect(raw(Strings({"\x01\x02"}), DType::kInt16).Attr("little_endian", false), TensorOf<int16_t>({1, 1}, {258}));
  Expect(raw(Strings({}), DType::kInt16), TensorOf<int16_t>({0, 0}, {}));
  ExpectError(raw(Strings({"abc"}), DType::kInt16),
              "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16");
  ExpectError(raw(Strings({"ab", "c"}), DType::kUInt8),
              "DecodeRaw requires input strings to all be the same size, but element 1 has size 2 != 1");
  auto padded = [&](int32_t length) {
    return run("DecodePaddedRaw")
        .Input(Strings({"abcdef", "c"}))
        .Input(Tensor::Scalar(length))
        .Attr("out_type", DType::kInt16);
  };
  Expect(padded(4), TensorOf<int16_t>({2, 2}, {25185, 25699, 99, 0}));
  ExpectError(padded(3), "fixed_length (3) must be a multiple of the size of out_type (2)");
  ExpectError(padded(0), "fixed_length (0) must be greater than zero.");
}

TEST_F(IoTest, Base64) {
  Expect(run("EncodeBase64").Input(Strings({"a", "\xfb\xff"})), Strings({"YQ", "-_8"}));
  Expect(run("EncodeBase64").Input(Strings({"a"})).Attr("pad", true), Strings({"YQ=="}));
  Expect(run("DecodeBase64").Input(Strings({"YQ", "YQ==", "YR==", ""})), Strings({"a", "a", "a", ""}));
  ExpectError(run("DecodeBase64").Input(Strings({"+/-_"})), "Invalid character found in base64.");
  ExpectError(run("DecodeBase64").Input(Strings({"Y"})), "Base64 string length cannot be 1 modulo 4.");
}

TEST_F(IoTest, SerialisedTensors) {
  const Tensor value = Tensor::Vector<float>({1.5f, 2});
  const S bytes("\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\x00\x00\xc0?\x00\x00\x00@", 18);
  Expect(run("SerializeTensor").Input(value), Tensor::Scalar(bytes));
  auto parse = [&](S text, DType type) {
    return run("ParseTensor").Input(Tensor::Scalar(text)).Attr("out_type", type);
  };
  Expect(parse(bytes, DType::kFloat), value);
  ExpectError(parse(bytes, DType::kInt32), "Type mismatch between parsed tensor (float) and dtype (int32)");
  ExpectError(parse("junk", DType::kInt32), "Could not parse `serialized` as TensorProto, base64: anVuaw==");
}

TEST_F(IoTest, FingerprintsOfRows) {
  auto fingerprint = [&](Tensor data) { return run("Fingerprint").Input(data).Input(Tensor::Scalar("farmhash64")); };
  Expect(fingerprint(TensorOf<int32_t>({1, 2}, {1, 2})),
         TensorOf<uint8_t>({1, 8}, {76, 18, 253, 133, 168, 204, 240, 10}));
  Expect(fingerprint(TensorOf<S>({1, 2}, {"a", "b"})), TensorOf<uint8_t>({1, 8}, {122, 64, 59, 169, 136, 60, 55, 83}));
  Expect(fingerprint(Strings({"a"})), TensorOf<uint8_t>({1, 8}, {227, 117, 223, 182, 101, 66, 69, 179}));
}

TEST_F(IoTest, CompressedStrings) {
  auto decode = [&](S bytes, S type) {
    return run("DecodeCompressed").Input(Strings({bytes})).Attr("compression_type", type);
  };
  const S zlib("\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27", 11);
  Expect(decode(zlib, "ZLIB"), Strings({"abc"}));
  Expect(decode("abc", ""), Strings({"abc"}));
  ExpectError(decode("abc", "ZLIB"), "inflate() failed with error -3: incorrect header check",
              absl::StatusCode::kDataLoss);
  ExpectError(decode("abc", "X"), "Only ZLIB, ZSTD, GZIP or NONE are supported compressions");
}

TEST_F(IoTest, CommaSeparatedLines) {
  const Tensor number = Tensor::Vector<float>({1.5f}), required = Strings({});
  auto decode = [&](S line) {
    return run("DecodeCSV")
        .Inputs({Strings({line}), number, required})
        .Attr("OUT_TYPE", std::vector<DType>{DType::kFloat, DType::kString});
  };
  struct Row {
    S line;
    float first;
    S second;
  };
  for (const Row& row : {Row{"1,a", 1, "a"}, Row{",a", 1.5, "a"}, Row{" 1 ,a", 1, "a"}, Row{"\"1\",a", 1, "a"},
                         Row{"1,\"a\"\"b,c\"", 1, "a\"b,c"}, Row{"1,\"a\n\"", 1, "a\n"}}) {
    Expect(decode(row.line), Tensor::Vector<float>({row.first}), 0);
    Expect(decode(row.line), Strings({row.second}), 1);
  }
  for (const auto& [line, message] :
       std::vector<std::pair<S, S>>{{"1", "Expect 2 fields but have 1 in record 0"},
                                    {"1,2,3", "Expect 2 fields but have 3 in record 0"},
                                    {"", "Expect 2 fields but have 0 in record 0"},
                                    {"x,2", "Field 0 in record 0 is not a valid float: x"},
                                    {"++1,2", "Field 0 in record 0 is not a valid float: ++1"},
                                    {"+ 1,2", "Field 0 in record 0 is not a valid float: + 1"},
                                    {"1,", "Field 1 is required but missing in record 0!"},
                                    {"1,\"ab\"c", "Quote inside a string has to be escaped by another quote"},
                                    {"1,a\"b", "Unquoted fields cannot have quotes/CRLFs inside"},
                                    {"1,\"ab", "Quoted field has to end with quote followed by delim or end"}}) {
    ExpectError(decode(line), message);
  }
  Expect(decode("1,2,3").Attr("select_cols", std::vector<int64_t>{0, 2}), Strings({"3"}), 1);
  ExpectError(decode("1,2,3").Attr("select_cols", std::vector<int64_t>{2, 0}),
              "select_cols should be strictly increasing indices");
}

}  // namespace
}  // namespace weir

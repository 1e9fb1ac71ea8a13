#include "gtest/gtest.h"
#include "weir/base/fingerprint.h"
#include "weir/ops/string/register.h"
#include "weir/testing/kernel_test.h"

namespace weir {
namespace {

using S = std::string;

Tensor Strings(std::initializer_list<S> values) { return Tensor::Vector<S>(values); }

class StringTest : public KernelTest {
 protected:
  KernelRunner run{{RegisterStringKernels}};
};

TEST_F(StringTest, Fingerprints) {
  std::vector<S> texts;
  for (int n : {0, 1, 8, 16, 17, 32, 33, 64, 65, 200}) texts.push_back(S(n, 'x'));
  const uint64_t farm[] = {912170738, 67517324, 590530917, 875378675, 271727477,
                           688772086, 50541667, 885338614, 956385644, 399033351};
  const uint64_t old[] = {727638525, 400286504, 682096022, 179050308, 964465256,
                          439209636, 24335990,  819762237, 278190548, 161918615};
  const uint64_t strong[] = {436933189, 7347588,  341736852, 436802957, 280004370,
                             782384266, 25701275, 618755861, 243875394, 365765877};
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(Fingerprint64(texts[i]) % 1000000007, farm[i]) << texts[i].size();
    EXPECT_EQ(Hash64(texts[i]) % 1000000007, old[i]) << texts[i].size();
    EXPECT_EQ(SipHash({1, 2}, texts[i]) % 1000000007, strong[i]) << texts[i].size();
  }
}

TEST_F(StringTest, Joins) {
  Expect(run("StringJoin").Inputs({Strings({"a", "b"}), Tensor::Scalar("c")}).Attr("separator", S("-")),
         Strings({"a-c", "b-c"}));
  ExpectError(run("StringJoin").Inputs({Strings({"a"}), Strings({"c", "d"})}),
              "Input shapes do not match: [1] vs. [2]");
  const Tensor grid = TensorOf<S>({2, 2}, {"a", "b", "c", "d"});
  auto join = [&](std::initializer_list<int32_t> axes) {
    return run("ReduceJoin").Input(grid).Input(Tensor::Vector<int32_t>(axes));
  };
  Expect(join({0}).Attr("separator", S(".")), Strings({"a.c", "b.d"}));
  Expect(join({-1}).Attr("keep_dims", true), TensorOf<S>({2, 1}, {"ab", "cd"}));
  Expect(join({0, 1}), Tensor::Scalar("acbd"));
  Expect(join({1, 0}), Tensor::Scalar("abcd"));
  Expect(join({}), grid);
  ExpectError(join({2}), "Invalid reduction dimension 2 for input with 2 dimension(s)", absl::StatusCode::kOutOfRange);
  ExpectError(join({0, -2}), "Duplicate reduction dimension -2");
  auto segments = [&](std::initializer_list<int32_t> ids) {
    return run("UnsortedSegmentJoin")
        .Inputs({Strings({"a", "b", "c"}), Tensor::Vector<int32_t>(ids), Tensor::Scalar<int32_t>(2)})
        .Attr("separator", S(","));
  };
  Expect(segments({0, 1, 0}), Strings({"a,c", "b"}));
  ExpectError(segments({0, 1, 2}), "segment_ids are not allowed to exceed num_segments or to have negative values.");
  Expect(
      run("StringFormat").Input(Tensor::Vector<int32_t>({1, 2})).Input(Strings({"a"})).Attr("template", S("<%s|%s>")),
      Tensor::Scalar("<[1 2]|[\"a\"]>"));
  ExpectError(run("StringFormat").Input(Tensor::Scalar(1.f)).Attr("template", S("%s %s")),
              "num placeholders in template and num inputs must match: 2 vs. 1");
}

TEST_F(StringTest, Splits) {
  auto split = [&](S text, S delimiter, bool skip) {
    return run("StringSplit").Input(Strings({text})).Input(Tensor::Scalar(delimiter)).Attr("skip_empty", skip);
  };
  Expect(split("a,b,;c", ",;", true), Strings({"a", "b", "c"}), 1);
  Expect(split(",", ",", false), Strings({"", ""}), 1);
  Expect(split("", ",", false), Strings({}), 1);
  Expect(split("abc", "", true), Strings({"a", "b", "c"}), 1);
  auto split2 = [&](S text, S separator, int64_t limit) {
    return run("StringSplitV2").Input(Strings({text})).Input(Tensor::Scalar(separator)).Attr("maxsplit", limit);
  };
  Expect(split2("a::b::::c", "::", -1), Strings({"a", "b", "", "c"}), 1);
  Expect(split2("", "::", -1), Strings({""}), 1);
  Expect(split2(" a b  c d ", "", -1), Strings({"a", "b", "c", "d"}), 1);
  Expect(split2(" a b  c d  ", "", 1), Strings({"a", "b  c d  "}), 1);
  Expect(split2("x", "", 1), Strings({"x", ""}), 1);
  Expect(split2("a,b", ",", 0), Strings({"a,b"}), 1);
  Expect(split2("a,b", ",", -1), TensorOf<int64_t>({2, 2}, {0, 0, 0, 1}), 0);
  Expect(split2("a,b", ",", -1), Tensor::Vector<int64_t>({1, 2}), 2);
  ExpectError(run("StringSplitV2").Input(Tensor::Scalar("a")).Input(Tensor::Scalar(",")),
              "input must be a vector, got shape: []");
}

TEST_F(StringTest, NumbersAsText) {
  auto text = [&](Tensor value) { return run("AsString").Input(value); };
  Expect(text(Tensor::Scalar(2.5f)), Tensor::Scalar("2.500000"));
  Expect(text(Tensor::Scalar(1e10)).Attr("scientific", true), Tensor::Scalar("1.000000e+10"));
  Expect(text(Tensor::Scalar(0.1f)).Attr("shortest", true), Tensor::Scalar("0.1"));
  Expect(text(Tensor::Scalar(2.5f)).Attr("precision", int64_t{2}), Tensor::Scalar("2.50"));
  Expect(text(Tensor::Scalar<int32_t>(3)).Attr("width", int64_t{5}).Attr("fill", S("0")), Tensor::Scalar("00003"));
  Expect(text(Tensor::Scalar<int32_t>(3)).Attr("width", int64_t{5}).Attr("fill", S("-")), Tensor::Scalar("3    "));
  Expect(text(Tensor::Scalar<uint8_t>(200)).Attr("fill", S("+")), Tensor::Scalar("200"));
  Expect(text(Tensor::Scalar("ab")).Attr("width", int64_t{4}), Tensor::Scalar("  ab"));
  Expect(text(Tensor::Scalar(true)), Tensor::Scalar("true"));
  Expect(text(Tensor::Scalar(std::complex<float>(1, 2))), Tensor::Scalar("(1.000000,2.000000)"));
  ExpectError(text(Tensor::Scalar(1.f)).Attr("fill", S("x")), "Fill argument not supported: \"x\"");
  ExpectError(text(Tensor::Scalar<int32_t>(1)).Attr("precision", int64_t{2}),
              "precision not supported for datatype int32");
}

TEST_F(StringTest, TextAsNumbers) {
  auto number = [&](S text, DType type) {
    return run("StringToNumber").Input(Tensor::Scalar(text)).Attr("out_type", type);
  };
  const float kInf = std::numeric_limits<float>::infinity();
  for (const auto& [text, value] : std::vector<std::pair<S, float>>{{"+1", 1.f},
                                                                    {" 7 ", 7.f},
                                                                    {"-2e3", -2000.f},
                                                                    {".5", .5f},
                                                                    {"1.", 1.f},
                                                                    {"0x10", 16.f},
                                                                    {"INF", kInf},
                                                                    {"-infinity", -kInf},
                                                                    {"1e400", kInf},
                                                                    {"1e-400", 0.f},
                                                                    {"NaN", std::nanf("")}}) {
    Expect(number(text, DType::kFloat), Tensor::Scalar(value));
  }
  Expect(number("9223372036854775807", DType::kInt64), Tensor::Scalar<int64_t>(9223372036854775807));
  for (const char* text : {"", " ", "abc", "1e", "1f", "1 2", "+-1", "infinityx"}) {
    ExpectError(number(text, DType::kFloat), Cat("StringToNumberOp could not correctly convert string: ", text));
  }
  for (const char* text : {"99999999999", "1.0", "0x10", "--1"}) {
    ExpectError(number(text, DType::kInt32), Cat("StringToNumberOp could not correctly convert string: ", text));
  }
}

TEST_F(StringTest, CaseLengthAndParts) {
  const Tensor words = Strings({"Äb", "ß"});
  Expect(run("StringLength").Input(words), Tensor::Vector<int32_t>({3, 2}));
  Expect(run("StringLength").Input(words).Attr("unit", S("UTF8_CHAR")), Tensor::Vector<int32_t>({2, 1}));
  Expect(run("StringLower").Input(words), Strings({"Äb", "ß"}));
  Expect(run("StringUpper").Input(words), Strings({"ÄB", "ß"}));
  Expect(run("StringUpper").Input(words).Attr("encoding", S("utf-8")), Strings({"ÄB", "SS"}));
  Expect(run("StringLower").Input(Strings({"ÜİΑΣ ΑΣΑ"})).Attr("encoding", S("utf-8")), Strings({"üi̇ας ασα"}));
  Expect(run("StringStrip").Input(Strings({"  a b\n", "\t", ""})), Strings({"a b", "", ""}));
  auto part = [&](Tensor text, int32_t pos, int32_t length) {
    return run("Substr").Input(text).Input(Tensor::Scalar(pos)).Input(Tensor::Scalar(length));
  };
  Expect(part(Strings({"hello"}), -3, 2), Strings({"ll"}));
  Expect(part(Strings({"hello"}), 2, -1), Strings({"llo"}));
  Expect(part(Strings({"✓Ü✓"}), 1, 1).Attr("unit", S("UTF8_CHAR")), Strings({"Ü"}));
  ExpectError(part(Strings({"abc"}), 9, 1), "pos 9 out of range for string b'abc' at index 0");
  Expect(run("Substr")
             .Input(Strings({"abc", "de"}))
             .Input(TensorOf<int32_t>({2, 1}, {1, 0}))
             .Input(TensorOf<int32_t>({2, 1}, {1, 2})),
         TensorOf<S>({2, 2}, {"b", "e", "ab", "de"}));
}

TEST_F(StringTest, RegularExpressions) {
  const Tensor text = Strings({"a1b22", ""});
  Expect(run("StaticRegexReplace").Input(text).Attr("pattern", S("[0-9]+")).Attr("rewrite", S("<\\0>")),
         Strings({"a<1>b<22>", ""}));
  auto replace = [&](S pattern, S rewrite) {
    return run("RegexReplace").Input(text).Input(Tensor::Scalar(pattern)).Input(Tensor::Scalar(rewrite));
  };
  Expect(replace("[0-9]", "#").Attr("replace_global", false), Strings({"a#b22", ""}));
  Expect(replace("a", "\\3"), text);
  ExpectError(replace("a(b", ""), "Invalid pattern: a(b, error: missing ): a(b");
  Expect(run("RegexFullMatch").Input(text).Input(Tensor::Scalar("a.*")), Tensor::Vector<bool>({true, false}));
  ExpectError(run("RegexFullMatch").Input(text).Input(text), "Pattern must be scalar, but received [2]");
}

TEST_F(StringTest, Unicode) {
  auto decode = [&](S text, S encoding) {
    return run("UnicodeDecodeWithOffsets").Input(Strings({text})).Attr("input_encoding", encoding);
  };
  Expect(decode("aÜ✓", "UTF-8"), Tensor::Vector<int32_t>({97, 220, 10003}), 1);
  Expect(decode("aÜ✓", "UTF-8"), Tensor::Vector<int64_t>({0, 1, 3}), 2);
  Expect(decode("a\xff\xe2\x82"
                "b",
                "UTF-8"),
         Tensor::Vector<int32_t>({97, 65533, 65533, 98}), 1);
  Expect(decode("\xed\xa0\x80", "UTF-8"), Tensor::Vector<int32_t>({65533, 65533, 65533}), 1);
  Expect(decode(S("\0a\xd8\0\0b\0", 7), "UTF-16-BE"), Tensor::Vector<int32_t>({97, 65533, 98, 65533}), 1);
  Expect(decode("\xff", "UTF-8").Attr("errors", S("ignore")), Tensor::Vector<int32_t>({}), 1);
  ExpectError(decode("\xff", "UTF-8").Attr("errors", S("strict")), "Invalid formatting on input string");
  ExpectError(decode("a", "klingon"), "Could not create converter for input encoding: klingon");
  auto encode = [&](Tensor values, int64_t end) {
    return run("UnicodeEncode").Input(values).Input(Tensor::Vector<int64_t>({0, end}));
  };
  const Tensor points = Tensor::Vector<int32_t>({97, 0xD800, 0x1F600});
  Expect(encode(points, 3).Attr("output_encoding", S("UTF-8")), Strings({"a\uFFFD\U0001F600"}));
  Expect(encode(points, 3).Attr("output_encoding", S("UTF-16-BE")).Attr("errors", S("ignore")),
         Strings({S("\0a\xd8\x3d\xde\0", 6)}));
  ExpectError(encode(points, 2).Attr("output_encoding", S("UTF-8")),
              "Last value in input_splits must be equal to length of input_tensor.");
  Expect(run("UnicodeTranscode")
             .Input(Strings({"a\xff"
                             "b"}))
             .Attr("input_encoding", S("UTF-8"))
             .Attr("output_encoding", S("UTF-16-BE"))
             .Attr("replacement_char", int64_t{63}),
         Strings({S("\0a\0?\0b", 6)}));
  Expect(run("UnicodeScript").Input(Tensor::Vector<int32_t>({97, 1051, 0x4E2D, -1})),
         Tensor::Vector<int32_t>({25, 8, 17, -1}));
}

TEST_F(StringTest, NGrams) {
  auto ngrams = [&](std::vector<int64_t> widths, int64_t pad, bool keep_short) {
    return run("StringNGrams")
        .Input(Strings({"a", "b", "c"}))
        .Input(Tensor::Vector<int64_t>({0, 2, 3, 3}))
        .Attr("separator", S("-"))
        .Attr("ngram_widths", widths)
        .Attr("left_pad", S("L"))
        .Attr("right_pad", S("R"))
        .Attr("pad_width", pad)
        .Attr("preserve_short_sequences", keep_short);
  };
  Expect(ngrams({2, 3}, 1, true), Strings({"L-a", "a-b", "b-R", "L-a-b", "a-b-R", "L-c", "c-R", "L-c-R", "L-R"}));
  Expect(ngrams({2, 3}, 1, true), Tensor::Vector<int64_t>({0, 5, 8, 9}), 1);
  Expect(ngrams({4}, 0, true), Strings({"a-b", "c"}));
  Expect(ngrams({2}, -1, false), Strings({"L-a", "a-b", "b-R", "L-c", "c-R", "L-R"}));
  ExpectError(ngrams({0}, 0, false), "ngram_widths must contain positive values");
}

TEST_F(StringTest, EditDistances) {
  auto distance = [&](bool normalize) {
    return run("EditDistance")
        .Inputs({TensorOf<int64_t>({3, 2}, {0, 0, 0, 1, 1, 0}), Strings({"a", "b", "c"}),
                 Tensor::Vector<int64_t>({3, 2}), TensorOf<int64_t>({3, 2}, {0, 0, 2, 0, 2, 1}),
                 Strings({"a", "x", "y"}), Tensor::Vector<int64_t>({4, 2})})
        .Attr("normalize", normalize);
  };
  const float kInf = std::numeric_limits<float>::infinity();
  Expect(distance(true), Tensor::Vector<float>({1, kInf, 1, 0}));
  Expect(distance(false), Tensor::Vector<float>({1, 1, 2, 0}));
}

}  // namespace
}  // namespace weir

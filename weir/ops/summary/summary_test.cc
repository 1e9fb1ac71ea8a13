#include <gtest/gtest.h>

#include <filesystem>

#include "weir/io/record_reader.h"
#include "weir/ops/summary/register.h"
#include "weir/proto/event.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using S = std::string;

Summary Parse(const StatusOr<std::vector<Tensor>>& out) {
  Summary summary;
  EXPECT_TRUE(out.ok()) << out.status();
  if (out.ok()) {
    EXPECT_TRUE(summary.ParseFromString((*out)[0].scalar<S>()));
  }
  return summary;
}

TEST(Summaries, OfImagesHaveATagEachAndMarkWhatIsNotFinite) {
  KernelRunner run({RegisterSummaryKernels});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor images = TensorOf<float>({2, 1, 2, 1}, {0, 1, nan, 2});
  const Summary summary = Parse(run("ImageSummary").Input(Tensor::Scalar("i")).Input(images).Run());
  ASSERT_EQ(summary.value_size(), 2);
  EXPECT_EQ(summary.value(0).tag(), "i/image/0");
  EXPECT_EQ(summary.value(1).image().width(), 2);
  EXPECT_EQ(summary.value(1).image().colorspace(), 1);
  EXPECT_TRUE(summary.value(1).image().encoded_image_string().starts_with("\x89PNG"));
}

TEST(Summaries, AreMergedUnlessATagIsThereTwice) {
  KernelRunner run({RegisterSummaryKernels});
  auto scalar = [&](const char* tag) {
    return (*run("ScalarSummary").Input(Tensor::Scalar(tag)).Input(Tensor::Scalar(1.5f)).Run())[0];
  };
  EXPECT_EQ(Parse(run("MergeSummary").Inputs({scalar("a"), scalar("b")}).Run()).value_size(), 2);
  EXPECT_EQ(Message(run("MergeSummary").Inputs({scalar("a"), scalar("a")}).Run().status()),
            "Duplicate tag a found in summary inputs ");
  EXPECT_EQ(run("MergeSummary").Input(Tensor::Scalar("junk")).Run().status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SummaryWriter, WritesEventsUntilItIsClosed) {
  KernelRunner run({RegisterSummaryKernels});
  const S folder = ::testing::TempDir() + "weir_summary_writer_test";
  std::filesystem::remove_all(folder);
  const Tensor writer = (*run("SummaryWriter").Attr("shared_name", "w").Run())[0];
  auto create = [&] {
    return run("CreateSummaryFileWriter")
        .Inputs({writer, Tensor::Scalar(folder), Tensor::Scalar<int32_t>(100), Tensor::Scalar<int32_t>(60000),
                 Tensor::Scalar("v2")})
        .Run()
        .status();
  };
  const Tensor step = Tensor::Scalar<int64_t>(7);
  auto write = [&] {
    return run("WriteScalarSummary")
        .Inputs({writer, step, Tensor::Scalar("loss"), Tensor::Scalar(2.5f)})
        .Run()
        .status();
  };
  EXPECT_EQ(write().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(create().ok());
  ASSERT_TRUE(create().ok()) << "a second one finds the first";
  ASSERT_TRUE(write().ok());
  EXPECT_EQ(run("WriteGraphSummary").Inputs({writer, step, Tensor::Scalar("junk")}).Run().status().code(),
            absl::StatusCode::kDataLoss);
  ASSERT_TRUE(run("WriteHistogramSummary")
                  .Inputs({writer, step, Tensor::Scalar("h"), Tensor::Vector<float>({1, 2})})
                  .Run()
                  .ok());
  ASSERT_TRUE(run("WriteSummary")
                  .Inputs({writer, step, Tensor::Vector<float>({1, 2}), Tensor::Scalar("t"), Tensor::Scalar("")})
                  .Run()
                  .ok());
  ASSERT_TRUE(run("CloseSummaryWriter").Input(writer).Run().ok());
  EXPECT_EQ(write().code(), absl::StatusCode::kNotFound);

  std::vector<Event> events;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(entry.path().string().ends_with(".v2"));
    auto reader = RecordReader::Open(entry.path()).value();
    for (S record; reader->Read(&record).ok();) EXPECT_TRUE(events.emplace_back().ParseFromString(record));
  }
  ASSERT_EQ(events.size(), 4);
  EXPECT_EQ(events[0].source_metadata().writer(), "tensorflow.core.util.events_writer");
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 2.5);
  EXPECT_EQ(events[2].summary().value(0).histo().num(), 2);
  EXPECT_EQ(events[3].summary().value(0).tensor().tensor_shape().dim(0).size(), 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir

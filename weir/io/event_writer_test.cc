#include "weir/io/event_writer.h"

#include <gtest/gtest.h>

#include "weir/io/hparams.h"
#include "weir/io/record_reader.h"
#include "weir/io/record_writer.h"
#include "weir/proto/event.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

std::vector<Event> ReadEvents(const std::string& path) {
  auto reader = RecordReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<Event> events;
  std::string record;
  while ((*reader)->Read(&record).ok()) {
    Event event;
    EXPECT_TRUE(event.ParseFromString(record));
    events.push_back(event);
  }
  return events;
}

TEST(EventWriter, WritesWhatTensorBoardShows) {
  auto writer = EventWriter::Create(testing::TempDir() + "/event_writer/run");
  ASSERT_TRUE(writer.ok()) << writer.status();
  const double values[] = {0, 1, 1, 30};
  ASSERT_TRUE((*writer)->Scalar(7, "loss", 0.5).ok());
  ASSERT_TRUE((*writer)->Histogram(7, "weights", values).ok());
  ASSERT_TRUE((*writer)->Text(8, "note", "hello").ok());
  ASSERT_TRUE((*writer)->GraphBytes("graph").ok());
  ASSERT_TRUE((*writer)->Flush().ok());

  std::vector<Event> events = ReadEvents((*writer)->path());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[1].wall_time(), 1.5e9);
  EXPECT_EQ(events[1].step(), 7);
  const Summary::Value& scalar = events[1].summary().value(0);
  EXPECT_EQ(scalar.tag(), "loss");
  EXPECT_EQ(scalar.metadata().plugin_data().plugin_name(), "scalars");
  EXPECT_EQ(FromProto(scalar.tensor())->scalar<float>(), 0.5f);
  Tensor buckets = *FromProto(events[2].summary().value(0).tensor());
  EXPECT_EQ(buckets.shape(), Shape({30, 3}));
  EXPECT_EQ(buckets.data<double>()[2], 1);      // [0, 1)
  EXPECT_EQ(buckets.data<double>()[3 + 2], 2);  // [1, 2)
  EXPECT_EQ(buckets.data<double>()[29 * 3 + 2], 1);
  EXPECT_EQ(events[4].graph_def(), "graph");
}

TEST(EventWriter, ParametersOfARun) {
  auto writer = EventWriter::Create(testing::TempDir() + "/event_writer/parameters");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(WriteHParams(**writer, {{"lr", 0.5}, {"on", true}, {"opt", std::string("adam")}}, "one").ok());
  ASSERT_TRUE(WriteHParamsEnd(**writer).ok());
  std::vector<Event> events = ReadEvents((*writer)->path());
  ASSERT_EQ(events.size(), 3u);
  const Summary::Value& start = events[1].summary().value(0);
  EXPECT_EQ(start.tag(), "_hparams_/session_start_info");
  EXPECT_EQ(start.metadata().plugin_data().plugin_name(), "hparams");
  // As TensorBoard's own message: session_start_info {hparams {key, value} ... group_name} before the time.
  const std::string expected = std::string("\x0a\x0f\x0a\x02lr\x12\x09\x11\x00\x00\x00\x00\x00\x00\xe0\x3f", 17) +
                               std::string("\x0a\x08\x0a\x02on\x12\x02\x20\x01", 10) +
                               std::string(
                                   "\x0a\x0d\x0a\x03opt\x12\x06\x1a\x04"
                                   "adam",
                                   15) +
                               "\x22\x03one";
  const std::string& content = start.metadata().plugin_data().content();
  ASSERT_EQ(content.size(), 2 + expected.size() + 9);
  EXPECT_EQ(content[0], '\x1a');
  EXPECT_EQ(content.substr(2, expected.size()), expected);
  EXPECT_EQ(events[2].summary().value(0).tag(), "_hparams_/session_end_info");
}

TEST(EventWriter, HistogramOfNothingAndOfOneValue) {
  auto writer = EventWriter::Create(testing::TempDir() + "/event_writer/edge");
  ASSERT_TRUE(writer.ok()) << writer.status();
  const double same[] = {2, 2, NAN};
  ASSERT_TRUE((*writer)->Histogram(0, "none", {}).ok());
  ASSERT_TRUE((*writer)->Histogram(0, "same", same).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  std::vector<Event> events = ReadEvents((*writer)->path());
  EXPECT_EQ(FromProto(events[1].summary().value(0).tensor())->shape(), Shape({0, 3}));
  Tensor row = *FromProto(events[2].summary().value(0).tensor());
  EXPECT_EQ(row.data<double>()[2], 2);
}

class RecordWriterTest : public testing::TestWithParam<Compression> {};

TEST_P(RecordWriterTest, WhatIsWrittenIsRead) {
  const std::string path = testing::TempDir() + "/records_" + std::to_string(static_cast<int>(GetParam()));
  const std::vector<std::string> records = {"", "a", std::string(100000, 'x'), std::string("\0\1", 2)};
  auto writer = RecordWriter::Create(path, GetParam());
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const std::string& record : records) ASSERT_TRUE((*writer)->Write(record).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  EXPECT_EQ((*writer)->Write("late").code(), absl::StatusCode::kFailedPrecondition);
  auto reader = RecordReader::Open(path, GetParam());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string record;
  for (const std::string& expected : records) {
    ASSERT_TRUE((*reader)->Read(&record).ok());
    EXPECT_EQ(record, expected);
  }
  EXPECT_EQ((*reader)->Read(&record).code(), absl::StatusCode::kOutOfRange);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecordWriterTest,
                         testing::Values(Compression::kNone, Compression::kGzip, Compression::kZlib));

TEST(RecordWriter, AFolderThatIsNotThere) {
  EXPECT_EQ(RecordWriter::Create("/no/such/folder/file").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace weir

#include "weir/distributed/wire/worker_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "weir/proto/worker.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::io::ArrayInputStream;

template <typename Message>
Status Read(Status (*read)(google::protobuf::io::ZeroCopyInputStream*, size_t, Message*), const std::string& bytes,
            Message* out) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return read(&stream, bytes.size(), out);
}

RunGraphCall SampleCall() {
  RunGraphCall call;
  call.session_handle = "s";
  call.graph_handle = "000000000000000a";
  call.step_id = int64_t{1} << 55;
  call.sends = {{"k1", Tensor::Scalar(2.5f)}, {"k2", Tensor::Scalar(std::string("text"))}};
  call.recv_keys = {"r1", "r2"};
  call.record_timeline = true;
  call.store_errors_in_response_body = true;
  call.request_id = 99;
  call.only_part = true;
  return call;
}

TEST(WorkerMessages, RunGraphIsWhatProtobufReads) {
  WireBuffer bytes;
  ASSERT_TRUE(WriteRunGraph(SampleCall(), &bytes).ok());
  RunGraphRequest request;
  ASSERT_TRUE(request.ParseFromString(bytes.Flatten()));
  EXPECT_EQ(request.session_handle(), "s");
  EXPECT_TRUE(request.create_worker_session_called());
  EXPECT_EQ(request.step_id(), int64_t{1} << 55);
  EXPECT_TRUE(request.exec_opts().record_timeline());
  ASSERT_EQ(request.send_size(), 2);
  EXPECT_EQ(FromProto(request.send(0).tensor())->scalar<float>(), 2.5f);
  EXPECT_EQ(request.recv_key_size(), 2);
  EXPECT_EQ(request.request_id(), 99);

  RunGraphCall call;
  ASSERT_TRUE(Read(ReadRunGraph, request.SerializeAsString(), &call).ok());
  EXPECT_EQ(call.graph_handle, "000000000000000a");
  ASSERT_EQ(call.sends.size(), 2);
  EXPECT_EQ(call.sends[1].second.scalar<std::string>(), "text");
  EXPECT_TRUE(call.record_timeline && call.store_errors_in_response_body && !call.is_partial && call.only_part);
}

TEST(WorkerMessages, AnswersComeBack) {
  RunGraphAnswer answer;
  answer.received = {{"r1", Tensor::Scalar(int32_t{7})}};
  answer.status = Aborted("gone \xff");
  answer.forgotten = true;
  WireBuffer bytes;
  ASSERT_TRUE(WriteRunGraphResponse(answer, &bytes).ok());
  RunGraphResponse response;
  ASSERT_TRUE(response.ParseFromString(bytes.Flatten()));
  EXPECT_EQ(response.status_error_message(), "gone ?");
  RunGraphAnswer back;
  ASSERT_TRUE(Read(ReadRunGraphResponse, bytes.Flatten(), &back).ok());
  EXPECT_TRUE(absl::IsAborted(back.status));
  EXPECT_TRUE(back.forgotten);
  EXPECT_EQ(back.received[0].second.scalar<int32_t>(), 7);
}

TEST(WorkerMessages, CutOrBrokenBytesAreErrors) {
  WireBuffer written;
  ASSERT_TRUE(WriteRunGraph(SampleCall(), &written).ok());
  const std::string bytes = written.Flatten();
  for (size_t i = 0; i < bytes.size(); ++i) {
    RunGraphCall call;
    Read(ReadRunGraph, bytes.substr(0, i), &call).IgnoreError();
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    RunGraphCall other;
    Read(ReadRunGraph, broken, &other).IgnoreError();
    RunGraphAnswer answer;
    Read(ReadRunGraphResponse, broken, &answer).IgnoreError();
  }
  RunGraphCall call;
  EXPECT_TRUE(absl::IsInvalidArgument(Read(ReadRunGraph, bytes.substr(0, bytes.size() - 1), &call)));
}

}  // namespace
}  // namespace weir

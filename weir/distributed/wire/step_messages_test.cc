#include "weir/distributed/wire/step_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "weir/proto/master.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::io::ArrayInputStream;

Status Read(const std::string& bytes, RunStepCall* call, int block = -1) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), block);
  return ReadRunStep(&stream, bytes.size(), call);
}

RunStepRequest Request() {
  RunStepRequest request;
  request.set_session_handle("s");
  auto* feed = request.add_feed();
  feed->set_name("x:0");
  EXPECT_TRUE(ToProto(Tensor::Vector<float>({1, 2}), feed->mutable_tensor()).ok());
  request.add_fetch("y:0");
  request.add_fetch("z:1");
  request.add_target("t");
  request.mutable_options()->set_timeout_in_ms(5);
  request.set_partial_run_handle("p");
  request.set_store_errors_in_response_body(true);
  request.set_request_id(-7);
  return request;
}

TEST(StepMessages, ReadsARunStep) {
  for (int block : {-1, 1, 5}) {
    RunStepCall call;
    ASSERT_TRUE(Read(Request().SerializeAsString(), &call, block).ok());
    EXPECT_EQ(call.session_handle, "s");
    ASSERT_EQ(call.feeds.size(), 1u);
    EXPECT_EQ(call.feeds[0].first, "x:0");
    EXPECT_THAT(call.feeds[0].second.span<float>(), testing::ElementsAre(1, 2));
    EXPECT_THAT(call.fetches, testing::ElementsAre("y:0", "z:1"));
    EXPECT_THAT(call.targets, testing::ElementsAre("t"));
    EXPECT_EQ(call.options->timeout_in_ms(), 5);
    EXPECT_EQ(call.partial_run_handle, "p");
    EXPECT_TRUE(call.store_errors_in_response_body);
    EXPECT_EQ(call.request_id, -7);
    EXPECT_TRUE(call.feed_error.ok());
  }
}

TEST(StepMessages, ABadFeedLeavesTheRestReadable) {
  RunStepRequest request = Request();
  auto* feed = request.add_feed();
  feed->set_name("bad:0");
  feed->mutable_tensor()->set_dtype(DT_FLOAT);
  feed->mutable_tensor()->set_tensor_content("123");
  RunStepCall call;
  ASSERT_TRUE(Read(request.SerializeAsString(), &call).ok());
  EXPECT_EQ(Message(call.feed_error), "Invalid TensorProto for feed value 1");
  EXPECT_TRUE(call.store_errors_in_response_body);
}

TEST(StepMessages, EveryCutOfAMessageIsRefusedOrHarmless) {
  std::string bytes = Request().SerializeAsString();
  for (size_t n = 0; n < bytes.size(); ++n) {
    RunStepCall call;
    Status status = Read(bytes.substr(0, n), &call);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  }
  RunStepCall call;
  EXPECT_FALSE(Read("\xff\xff\xff\xff", &call).ok());
  // A submessage that is longer than the message.
  EXPECT_FALSE(Read(std::string("\x12\x7f\x0a\x01x", 5), &call).ok());
}

TEST(StepMessages, ReadsARunCallable) {
  RunCallableRequest request;
  request.set_session_handle("s");
  request.set_handle(3);
  ASSERT_TRUE(ToProto(Tensor::Scalar(int32_t{4}), request.add_feed()).ok());
  std::string bytes = request.SerializeAsString();
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  RunCallableCall call;
  ASSERT_TRUE(ReadRunCallable(&stream, bytes.size(), &call).ok());
  EXPECT_EQ(call.handle, 3);
  ASSERT_EQ(call.feeds.size(), 1u);
  EXPECT_EQ(call.feeds[0].scalar<int32_t>(), 4);
}

TEST(StepMessages, WritesResponses) {
  std::vector<std::string> names = {"a:0", "b:0"};
  std::vector<Tensor> tensors = {Tensor::Scalar(1.0f), Tensor::Vector<std::string>({"x"})};
  RunMetadata metadata;
  WireBuffer out;
  ASSERT_TRUE(WriteRunStepResponse(names, tensors, &metadata, OkStatus(), &out).ok());
  RunStepResponse response;
  ASSERT_TRUE(response.ParseFromString(out.Flatten()));
  ASSERT_EQ(response.tensor_size(), 2);
  EXPECT_EQ(response.tensor(1).name(), "b:0");
  EXPECT_EQ(FromProto(response.tensor(1).tensor())->scalar<std::string>(), "x");
  EXPECT_TRUE(response.has_metadata());

  ASSERT_TRUE(WriteRunStepResponse({}, {}, nullptr, NotFound("gone"), &out).ok());
  ASSERT_TRUE(response.ParseFromString(out.Flatten()));
  EXPECT_EQ(response.status_code(), error::NOT_FOUND);
  EXPECT_EQ(response.status_error_message(), "gone");
  EXPECT_FALSE(response.has_metadata());

  ASSERT_TRUE(WriteRunStepResponse({}, {}, nullptr, NotFound("no \xff\xe4\xc3\xa4\xed\xa0\x80"), &out).ok());
  ASSERT_TRUE(response.ParseFromString(out.Flatten()));
  EXPECT_EQ(response.status_error_message(), "no ??\xc3\xa4???");

  ASSERT_TRUE(WriteRunCallableResponse(tensors, metadata, &out).ok());
  RunCallableResponse callable;
  ASSERT_TRUE(callable.ParseFromString(out.Flatten()));
  EXPECT_EQ(callable.fetch_size(), 2);
  EXPECT_TRUE(callable.has_metadata());
}

}  // namespace
}  // namespace weir

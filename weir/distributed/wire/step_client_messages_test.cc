#include "weir/distributed/wire/step_client_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "weir/proto/master.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::io::ArrayInputStream;
using ::testing::ElementsAre;

TEST(StepClientMessages, WritesWhatServersRead) {
  RunStepCall call;
  call.session_handle = "s";
  call.feeds = {{"x:0", Tensor::Vector<float>({1, 2})}};
  call.fetches = {"y:0", "y:1"};
  call.targets = {"t"};
  call.options->set_timeout_in_ms(7);
  call.partial_run_handle = "p";
  call.store_errors_in_response_body = true;
  call.request_id = -3;
  WireBuffer bytes;
  ASSERT_TRUE(WriteRunStep(call, &bytes).ok());
  RunStepRequest step;
  ASSERT_TRUE(step.ParseFromString(bytes.Flatten()));
  EXPECT_EQ(step.session_handle(), "s");
  EXPECT_EQ(step.feed(0).name(), "x:0");
  EXPECT_THAT(FromProto(step.feed(0).tensor())->span<float>(), ElementsAre(1, 2));
  EXPECT_THAT(step.fetch(), ElementsAre("y:0", "y:1"));
  EXPECT_THAT(step.target(), ElementsAre("t"));
  EXPECT_EQ(step.options().timeout_in_ms(), 7);
  EXPECT_EQ(step.partial_run_handle(), "p");
  EXPECT_TRUE(step.store_errors_in_response_body());
  EXPECT_EQ(step.request_id(), -3);

  ASSERT_TRUE(
      WriteRunCallable({.session_handle = "s", .handle = 4, .feeds = {Tensor::Scalar(2.0f)}, .request_id = 9}, &bytes)
          .ok());
  RunCallableRequest callable;
  ASSERT_TRUE(callable.ParseFromString(bytes.Flatten()));
  EXPECT_EQ(callable.handle(), 4);
  EXPECT_EQ(FromProto(callable.feed(0))->scalar<float>(), 2);
  EXPECT_EQ(callable.request_id(), 9);
}

Status Read(const std::string& bytes, RunStepAnswer* answer) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 3);
  return ReadRunStepResponse(&stream, bytes.size(), answer);
}

TEST(StepClientMessages, ReadsAnswers) {
  RunStepResponse response;
  response.add_tensor()->set_name("y:0");
  ASSERT_TRUE(ToProto(Tensor::Vector<float>({3, 4}), response.mutable_tensor(0)->mutable_tensor()).ok());
  response.mutable_metadata()->add_partition_graphs();
  response.set_status_code(static_cast<error::Code>(absl::StatusCode::kAborted));
  response.set_status_error_message("no");
  RunStepAnswer answer;
  ASSERT_TRUE(Read(response.SerializeAsString(), &answer).ok());
  ASSERT_EQ(answer.tensors.size(), 1);
  EXPECT_EQ(answer.tensors[0].first, "y:0");
  EXPECT_THAT(answer.tensors[0].second.span<float>(), ElementsAre(3, 4));
  EXPECT_EQ(answer.metadata->partition_graphs_size(), 1);
  EXPECT_TRUE(absl::IsAborted(answer.status));
  EXPECT_EQ(Message(answer.status), "no");

  RunCallableResponse callable;
  ASSERT_TRUE(ToProto(Tensor::Scalar(5.0f), callable.add_fetch()).ok());
  const std::string bytes = callable.SerializeAsString();
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  RunStepAnswer results;
  ASSERT_TRUE(ReadRunCallableResponse(&stream, bytes.size(), &results).ok());
  EXPECT_EQ(results.tensors[0].second.scalar<float>(), 5);
}

TEST(StepClientMessages, RefusesWhatIsNoAnswer) {
  RunStepAnswer answer;
  EXPECT_TRUE(absl::IsInvalidArgument(Read("\x0a\x7f", &answer)));
  RunStepResponse bad;
  bad.add_tensor()->mutable_tensor()->set_dtype(DT_FLOAT);
  bad.mutable_tensor(0)->mutable_tensor()->set_tensor_content("123");
  EXPECT_TRUE(absl::IsInvalidArgument(Read(bad.SerializeAsString(), &answer)));
}

}  // namespace
}  // namespace weir

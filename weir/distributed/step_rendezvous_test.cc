#include "weir/distributed/step_rendezvous.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

const std::string kOwn = "/job:ps/replica:0/task:0", kOther = "/job:worker/replica:0/task:0";
constexpr int64_t kStep = 7;

std::string Key(const std::string& from, const std::string& to, const std::string& edge) {
  return Cat(from, "/device:CPU:0;0000000000000001;", to, "/device:CPU:0;", edge, ";0:0");
}

class RendezvousTableTest : public testing::Test {
 protected:
  float Receive(const std::string& key) {
    float out = 0;
    table_.Begin(kStep)->RecvAsync(key, nullptr, [&](const Status& status, const Tensor& value, bool) {
      EXPECT_TRUE(status.ok()) << status;
      out = value.scalar<float>();
    });
    return out;
  }

  int fetches_ = 0;
  RendezvousTable table_{kOwn,
                         [this](int64_t, std::string_view, bool, CancellationManager*, Rendezvous::RecvValueDone done) {
                           ++fetches_;
                           done(OkStatus(), {Tensor::Scalar(-1.0f), false, nullptr, nullptr});
                         }};
};

TEST_F(RendezvousTableTest, WhatWasBroughtIsNotAskedFor) {
  const std::string brought = Key(kOther, kOwn, "brought");
  ASSERT_TRUE(table_.Begin(kStep)->Send(brought, Tensor::Scalar(2.0f), false).ok());
  EXPECT_EQ(Receive(brought), 2);
  EXPECT_EQ(fetches_, 0);
  EXPECT_EQ(Receive(Key(kOther, kOwn, "another")), -1);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(RendezvousTableTest, SmallLiveValuesOfOneDestinationAreTakenAlong) {
  auto step = table_.Begin(kStep);
  const std::string small = Key(kOwn, kOther, "small");
  ASSERT_TRUE(step->Send(small, Tensor::Scalar(1.0f), false).ok());
  ASSERT_TRUE(step->Send(Key(kOwn, kOther, "dead"), Tensor(), true).ok());
  ASSERT_TRUE(step->Send(Key(kOwn, kOther, "text"), Tensor::Scalar(std::string("x")), false).ok());
  ASSERT_TRUE(step->Send(Key(kOwn, kOther, "large"), *Tensor::Zeros(DType::kFloat, Shape({100'000})), false).ok());
  ASSERT_TRUE(step->Send(Key(kOwn, kOwn, "elsewhere"), Tensor::Scalar(1.0f), false).ok());
  auto taken = table_.TakeSmall(kStep, Cat(kOther, "/device:CPU:0"));
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].first, small);
  EXPECT_TRUE(table_.TakeSmall(kStep, Cat(kOther, "/device:CPU:0")).empty());
  EXPECT_EQ(table_.metrics().tensors_sent, 1);
  EXPECT_TRUE(table_.TakeSmall(kStep + 1, Cat(kOther, "/device:CPU:0")).empty());
}

TEST_F(RendezvousTableTest, AStepThatNobodyNeedsIsForgotten) {
  const std::string key = Key(kOwn, kOther, "value");
  ASSERT_TRUE(table_.Begin(kStep)->Send(key, Tensor::Scalar(1.0f), false).ok());
  EXPECT_FALSE(table_.EndIfIdle(kStep));  // nobody has it yet
  Receive(key);
  table_.BeginPeer(kStep);
  EXPECT_FALSE(table_.EndIfIdle(kStep));  // a peer is being answered
  table_.EndPeer(kStep);
  table_.held().Hold(kStep, 1, Tensor::Scalar(1.0f));
  EXPECT_FALSE(table_.EndIfIdle(kStep));  // a peer reads its memory
  table_.held().Take(1);
  EXPECT_TRUE(table_.EndIfIdle(kStep));
  EXPECT_EQ(table_.size(), 0u);
}

}  // namespace
}  // namespace weir

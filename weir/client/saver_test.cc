#include "weir/client/saver.h"

#include <gtest/gtest.h>

#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/faulty_file_system.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class SaverTest : public testing::Test {
 protected:
  SaverTest() {
    session = ClientSession::Create(root).value();
    EXPECT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  }
  void Set(float value) {
    EXPECT_TRUE(session->RunTargets({assign}, {{fed, Tensor::Vector<float>({value, value})}}).ok());
  }
  float Get() { return session->Evaluate(w).value().data<float>()[1]; }

  Scope root = Scope::NewRoot();
  Variable w{root, "w", Shape({2}), init::Zeros()};
  Output fed = ops::Placeholder(root, DType::kFloat, {.shape = {2}});
  Operation assign = w.Assign(root, fed);
  std::unique_ptr<ClientSession> session;
};

// A save that ends at any byte leaves the checkpoint before it, and the file that names it.
TEST_F(SaverTest, ACrashAtAnyByteLosesNothing) {
  auto faulty = std::make_shared<FaultyFileSystem>(MakeMemoryFileSystem());
  ASSERT_TRUE(RegisterFileSystem("crash", faulty).ok());
  Saver saver(root, {.max_to_keep = 1});
  Set(1);
  ASSERT_TRUE(saver.Save(*session, "crash://run/model", 1).ok());
  int64_t space = 0;
  for (bool saved = false; !saved; ++space) {
    ASSERT_LT(space, 10'000);
    Set(2);
    faulty->SetFaults({.space = space});
    saved = saver.Save(*session, "crash://run/model", 2).ok();
    faulty->SetFaults({});
    StatusOr<std::string> latest = LatestCheckpoint("crash://run");
    ASSERT_TRUE(latest.ok()) << space << ": " << latest.status();
    Set(0);
    ASSERT_TRUE(saver.Restore(*session, *latest).ok()) << space;
    EXPECT_EQ(Get(), saved ? 2 : 1) << space;
  }
  EXPECT_GT(space, 100);
}

TEST_F(SaverTest, FilesAreWrittenWhileTrainingGoesOn) {
  Saver saver(root);
  const std::string prefix = testing::TempDir() + "/async/model";
  for (int step = 1; step <= 5; ++step) {
    Set(static_cast<float>(step));
    ASSERT_TRUE(saver.SaveAsync(*session, prefix, step).ok());
    Set(-1);  // after the values were read
  }
  ASSERT_TRUE(saver.Wait().ok());
  EXPECT_EQ(saver.checkpoints().size(), 5u);
  ASSERT_TRUE(saver.Restore(*session, prefix + "-3").ok());
  EXPECT_EQ(Get(), 3);
  ASSERT_TRUE(saver.SaveAsync(*session, "/proc/no/such/folder/model", 1).ok());
  EXPECT_FALSE(saver.Wait().ok());
  EXPECT_TRUE(saver.Wait().ok());
}

// A checkpoint that tf.train.Checkpoint wrote: keys are paths of objects.
TEST(RestoreTest, ObjectsAreFoundByNameOrPath) {
  const std::string checkpoint = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/object/ckpt-1";
  auto reader = CheckpointReader::Open(checkpoint);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const Tensor kernel = (*reader)->Read("net/layers/0/kernel/.ATTRIBUTES/VARIABLE_VALUE").value();
  const Tensor slot =
      (*reader)->Read("net/layers/0/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE").value();
  Scope root = Scope::NewRoot();
  Variable mine(root, "kernel", kernel.shape(), init::Zeros());
  Variable moment(root, "kernel/Adam", slot.shape(), init::Zeros());
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  Saver saver(root);
  // Two layers have a `kernel`: only the path says which.
  EXPECT_TRUE(absl::IsNotFound(saver.Restore(*session, checkpoint)));
  ASSERT_TRUE(saver.Restore(*session, checkpoint, {.names = {{"kernel", "net/layers/0/kernel"}}}).ok());
  ExpectTensorEqual(session->Evaluate(mine).value(), kernel);
  ExpectTensorEqual(session->Evaluate(moment).value(), slot);
}

}  // namespace
}  // namespace weir

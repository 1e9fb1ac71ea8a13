// Reads checkpoints and SavedModels that TensorFlow wrote, and compares with what it says of them.
#include <gtest/gtest.h>

#include <set>

#include "tests/fixture_tensors.h"
#include "weir/client/environment.h"
#include "weir/client/saved_model.h"
#include "weir/io/checkpoint_reader.h"

namespace weir {
namespace {

const std::string kFixtures = WEIR_SOURCE_DIR "/tests/fixtures/";

class Checkpoints : public testing::TestWithParam<const char*> {};

TEST_P(Checkpoints, HoldWhatTensorFlowStored) {
  std::string folder = Cat(kFixtures, "checkpoint_v2/", GetParam());
  nlohmann::json expected = nlohmann::json::parse(ReadFixture(folder + "/expected.json"));
  auto reader = CheckpointReader::Open(Cat(folder, "/", expected["prefix"].get<std::string>()));
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const auto& [name, json] : expected["tensors"].items()) {
    auto want = TensorFromJson(json, folder);
    ASSERT_TRUE(want.ok()) << want.status();
    auto got = (*reader)->Read(name);
    ASSERT_TRUE(got.ok()) << name << ": " << got.status();
    EXPECT_EQ(got->shape(), want->shape());
    EXPECT_EQ(Difference(*got, *want, {}), "") << name;
  }
  std::set<std::string> others;
  for (const auto& [name, info] : (*reader)->tensors()) {
    if (!expected["tensors"].contains(name)) others.insert(name);
  }
  others.erase("_CHECKPOINTABLE_OBJECT_GRAPH");
  EXPECT_TRUE(others.empty()) << *others.begin();
}

INSTANTIATE_TEST_SUITE_P(All, Checkpoints, testing::Values("saver", "object", "sharded", "format_v1"),
                         [](const auto& info) { return std::string(info.param); });

// Runs a model's calls; the first thing that is not as it should be.
Status Replay(const std::string& name) {
  std::string folder = Cat(kFixtures, "saved_model/", name);
  nlohmann::json io = nlohmann::json::parse(ReadFixture(folder + "/io.json"));
  Tolerance tolerance{io["tolerance"]["relative"].get<double>(), io["tolerance"]["absolute"].get<double>()};
  WEIR_ASSIGN_OR_RETURN(auto environment, MakeEnvironment());
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model,
                        LoadedModel::Load(folder + "/model", io["tags"].get<std::set<std::string>>(), environment));
  for (const auto& call : io["calls"]) {
    std::map<std::string, Tensor> inputs;
    for (const auto& [key, json] : call["inputs"].items()) {
      WEIR_ASSIGN_OR_RETURN(inputs[key], TensorFromJson(json, folder));
    }
    WEIR_ASSIGN_OR_RETURN(auto outputs, model->Run(call["signature"], inputs));
    if (outputs.size() != call["outputs"].size()) return Unknown("wrong number of outputs");
    for (const auto& [key, json] : call["outputs"].items()) {
      WEIR_ASSIGN_OR_RETURN(Tensor want, TensorFromJson(json, folder));
      std::string difference = Difference(outputs[key], want, tolerance);
      if (!difference.empty()) return Unknown(key, ": ", difference);
    }
  }
  return OkStatus();
}

class SavedModels : public testing::TestWithParam<const char*> {};

TEST_P(SavedModels, ComputeWhatTensorFlowComputed) { EXPECT_EQ(Replay(GetParam()), OkStatus()); }

INSTANTIATE_TEST_SUITE_P(All, SavedModels, testing::Values("keras_mnist", "tf1_cnn", "tf2_asset", "tf2_module"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LoadedModel, SaysWhatIsWrong) {
  std::string folder = kFixtures + "saved_model/tf2_module/model";
  EXPECT_TRUE(absl::IsNotFound(LoadedModel::Load(kFixtures).status()));
  EXPECT_TRUE(absl::IsNotFound(LoadedModel::Load(folder, {"train"}).status()));
  auto model = LoadedModel::Load(folder);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(absl::IsNotFound((*model)->Run("nothing", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument((*model)->Run("count", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument((*model)->Run("count", {{"y", Tensor::Scalar(1.f)}}).status()));
}

}  // namespace
}  // namespace weir

#include "weir/client/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "weir/client/data/elements.h"
#include "weir/client/data/image_folder.h"
#include "weir/client/eager/eager.h"
#include "weir/client/nn/callbacks.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// All elements of one int64 tensor each, flat.
std::vector<int64_t> Walk(const Dataset& dataset, int64_t most = 1000) {
  std::vector<int64_t> out;
  Elements elements(dataset);
  for (const Tensors& element : elements) {
    for (int64_t i = 0; i < element[0].num_elements(); ++i) out.push_back(element[0].data<int64_t>()[i]);
    if (static_cast<int64_t>(out.size()) >= most) break;
  }
  EXPECT_TRUE(elements.status().ok()) << elements.status();
  return out;
}

std::vector<std::string> WalkStrings(const Dataset& dataset) {
  std::vector<std::string> out;
  Elements elements(dataset);
  for (const Tensors& element : elements) out.push_back(element[0].scalar<std::string>());
  EXPECT_TRUE(elements.status().ok()) << elements.status();
  return out;
}

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(DatasetTest, Transformations) {
  EXPECT_THAT(Walk(Range(0, 5)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Walk(Range(0, 5).Take(3).Repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(Walk(Range(0, 5).Skip(3).Concatenate(Range(7, 9))), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(Walk(Range(0, 10).Shard(3, 1)), ElementsAre(1, 4, 7));
  EXPECT_THAT(Walk(Range(0, 3).Map([](const EagerTensors& e) { return EagerTensors{e[0] * e[0] + 1}; })),
              ElementsAre(1, 2, 5));
  EXPECT_THAT(Walk(Range(0, 6).Map([](const EagerTensors& e) { return EagerTensors{e[0] * 2}; }, {.parallel = 3})),
              ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(Walk(Range(0, 6).Filter([](const EagerTensors& e) { return eager::FloorMod(e[0], 2) > 0; })),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(Walk(Range(0, 3).Cache().Repeat(2).Prefetch(2)), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(Walk(Range(0, 2).FlatMap([](const EagerTensors& e) {
                return Range(0, 2).Map([&](const EagerTensors& inner) { return EagerTensors{inner[0] + e[0] * 10}; });
              })),
              ElementsAre(0, 1, 10, 11));
  EXPECT_THAT(
      Walk(Range(1, 3).Interleave(
          [](const EagerTensors& e) {
            return Dataset(FromElement({Tensor::Scalar<int64_t>(0)})).Repeat(2).Map([&](const EagerTensors& inner) {
              return EagerTensors{inner[0] + e[0]};
            });
          },
          {.cycle = 2})),
      ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(Range(0, 10).Batch(4).Cardinality().value(), 3);
  EXPECT_EQ(Range(0, 10).Repeat().Cardinality().value(), -1);
}

TEST(DatasetTest, BatchesHaveShapes) {
  Dataset batches = Range(0, 5).Batch(2);
  EXPECT_EQ(batches.spec().shapes[0], PartialShape({-1}));
  Elements elements(batches);
  Tensors element;
  ASSERT_TRUE(*elements.Next(&element));
  ExpectTensorEqual(element[0], Tensor::Vector<int64_t>({0, 1}));
  EXPECT_EQ(Range(0, 5).Batch(2, true).spec().shapes[0], PartialShape({2}));
  EXPECT_THAT(Walk(Range(0, 5).Batch(2, true)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Walk(Range(0, 5).Batch(2).Unbatch()), ElementsAre(0, 1, 2, 3, 4));
  Dataset ragged = Range(1, 4)
                       .Map([](const EagerTensors& e) {
                         return EagerTensors{eager::Fill(eager::Reshape(eager::Cast(e[0], DType::kInt32), {1}), e[0])};
                       })
                       .PaddedBatch(3);
  EXPECT_THAT(Walk(ragged), ElementsAre(1, 0, 0, 2, 2, 0, 3, 3, 3));
}

TEST(DatasetTest, TensorsAndTuples) {
  Tensor x = TensorOf<float>(Shape({3, 2}), {1, 2, 3, 4, 5, 6});
  Tensor y = Tensor::Vector<int64_t>({7, 8, 9});
  Dataset pairs = Zip({FromTensors({x}), FromTensors({y}), Range(0, 100)});
  ASSERT_EQ(pairs.spec().types.size(), 3u);
  Elements elements(pairs);
  Tensors element;
  ASSERT_TRUE(*elements.Next(&element));
  ASSERT_TRUE(*elements.Next(&element));
  ExpectTensorEqual(element[0], TensorOf<float>(Shape({2}), {3, 4}));
  ExpectTensorEqual(element[1], Tensor::Scalar<int64_t>(8));
  ASSERT_TRUE(*elements.Next(&element));
  EXPECT_FALSE(*elements.Next(&element));
  EXPECT_FALSE(*elements.Next(&element));
}

TEST(DatasetTest, ShufflesAreRepeatable) {
  Dataset shuffled = Range(0, 20).Shuffle(20, {.seed = 3});
  std::vector<int64_t> first = Walk(shuffled), second = Walk(shuffled);
  EXPECT_NE(first, second);
  Dataset again = Range(0, 20).Shuffle(20, {.seed = 3});
  EXPECT_EQ(Walk(again), first);
  EXPECT_EQ(Walk(again), second);
  Dataset fixed = Range(0, 20).Shuffle(20, {.seed = 3, .reshuffle_each_epoch = false});
  EXPECT_EQ(Walk(fixed), Walk(fixed));
}

TEST(DatasetTest, CppFunctions) {
  Dataset squares = FromGenerator({{DType::kInt64}, {PartialShape(Shape())}}, [] {
    return [i = int64_t{0}](Tensors* element) mutable -> StatusOr<bool> {
      if (i == 4) return false;
      *element = {Tensor::Scalar(i * i)};
      ++i;
      return true;
    };
  });
  EXPECT_THAT(Walk(squares.Repeat(2)), ElementsAre(0, 1, 4, 9, 0, 1, 4, 9));
  Dataset halves =
      squares.MapTensors({{DType::kInt64}, {PartialShape(Shape())}}, [](const Tensors& element) -> StatusOr<Tensors> {
        return Tensors{Tensor::Scalar(element[0].scalar<int64_t>() / 2)};
      });
  EXPECT_THAT(Walk(halves), ElementsAre(0, 0, 2, 4));
  Dataset wrong = squares.MapTensors({{DType::kFloat}, {PartialShape(Shape())}},
                                     [](const Tensors& element) -> StatusOr<Tensors> { return element; });
  Elements elements(wrong);
  Tensors element;
  EXPECT_FALSE(elements.Next(&element).ok());
}

TEST(DatasetTest, Files) {
  const std::string lines = WriteFile("dataset_lines.txt", "one\ntwo\nthree\n");
  EXPECT_THAT(WalkStrings(TextLines(lines)), ElementsAre("one", "two", "three"));
  const std::string fixed = WriteFile("dataset_fixed.bin", "HHaabbccF");
  EXPECT_THAT(WalkStrings(FixedLengthRecords(fixed, 2, 2, 1)), ElementsAre("aa", "bb", "cc"));
  const std::string csv = WriteFile("dataset.csv", "a,b\n1,x\n2,y\n");
  Elements rows(CsvLines(csv, {DType::kInt64, DType::kString}, {{}, /*header=*/true}));
  Tensors row;
  ASSERT_TRUE(*rows.Next(&row)) << rows.status();
  EXPECT_EQ(row[0].scalar<int64_t>(), 1);
  EXPECT_EQ(row[1].scalar<std::string>(), "x");
  // Several files by turns.
  const std::string other = WriteFile("dataset_more.txt", "four\nfive\n");
  Dataset files = FromTensors({Tensor::Vector<std::string>({lines, other})});
  EXPECT_THAT(WalkStrings(files.Interleave([](const EagerTensors& e) { return TextLines(e[0]); }, {.cycle = 2})),
              ElementsAre("one", "four", "two", "five", "three"));
  Elements missing(TextLines(testing::TempDir() + "/no/such/file"));
  EXPECT_EQ(missing.Next(&row).status().code(), absl::StatusCode::kNotFound);
}

TEST(DatasetTest, FoldersOfPictures) {
  const std::string folder = testing::TempDir() + "/dataset_pictures";
  for (int i = 0; i < 2; ++i) {
    Tensor pixels = Tensor::Zeros(DType::kUInt8, Shape({4, 6, 3})).value();
    std::fill_n(pixels.data<uint8_t>(), pixels.num_elements(), i == 0 ? 51 : 255);
    const std::string of_class = folder + (i == 0 ? "/cat" : "/dog");
    std::filesystem::create_directories(of_class);
    std::ofstream(of_class + "/one.png", std::ios::binary)
        << eager::EncodePng(EagerTensor(pixels)).scalar<std::string>();
    std::ofstream(of_class + "/notes.txt") << "no picture";
  }
  StatusOr<ImageFolder> pictures = ReadImageFolder(folder, 2, 3);
  ASSERT_TRUE(pictures.ok()) << pictures.status();
  EXPECT_THAT(pictures->classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(pictures->count, 2);
  Elements elements(pictures->dataset.Batch(2));
  Tensors element;
  ASSERT_TRUE(*elements.Next(&element)) << elements.status();
  EXPECT_EQ(element[0].shape(), Shape({2, 2, 3, 3}));
  EXPECT_FLOAT_EQ(element[0].data<float>()[0], 0.2f);
  EXPECT_FLOAT_EQ(element[0].data<float>()[18], 1.0f);
  ExpectTensorEqual(element[1], Tensor::Vector<int64_t>({0, 1}));
  EXPECT_TRUE(absl::IsNotFound(ReadImageFolder(folder + "/cat", 2, 3).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadImageFolder(folder + "/nobody", 2, 3).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadImageFolder(folder, 0, 3).status()));
}

TEST(DatasetTest, ErrorsStick) {
  Dataset bad = Range(0, 3).Map([](const EagerTensors& e) { return EagerTensors{eager::MatMul(e[0], e[0])}; });
  EXPECT_FALSE(bad.status().ok());
  EXPECT_FALSE(bad.Batch(2).Prefetch(1).status().ok());
  EXPECT_FALSE(Elements(bad.Batch(2)).status().ok());
  EXPECT_FALSE(Dataset().status().ok());
  EXPECT_FALSE(Range(0, 3).Concatenate(TextLines("x")).status().ok());
  EXPECT_FALSE(Range(0, 3).Filter([](const EagerTensors& e) { return e[0]; }).status().ok());
  Elements zero(Range(0, 3).Batch(0));
  EXPECT_FALSE(zero.status().ok());
  Elements failing(Range(0, 3).Map([](const EagerTensors& e) {
    return EagerTensors{eager::CheckNumerics(1 / eager::Cast(e[0], DType::kFloat), "no")};
  }));
  for (const Tensors& element : failing) (void)element;
  EXPECT_THAT(Message(failing.status()), HasSubstr("no"));
}

TEST(DatasetTest, WalksGoOnWhereTheyWere) {
  auto make = [] {
    Dataset generated = FromGenerator({{DType::kInt64}, {PartialShape(Shape())}}, [] {
      return [i = int64_t{0}](Tensors* element) mutable -> StatusOr<bool> {
        *element = {Tensor::Scalar(i++)};
        return i <= 40;
      };
    });
    return generated.Shuffle(10, {.seed = 5})
        .Map([](const EagerTensors& e) { return EagerTensors{e[0] + 100}; }, {.parallel = 2})
        .Batch(3)
        .Prefetch(2);
  };
  Elements whole(make());
  std::vector<Tensors> all;
  for (const Tensors& element : whole) all.push_back(element);
  Elements first(make());
  Tensors element;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(*first.Next(&element));
  StatusOr<Tensor> position = first.Save();
  ASSERT_TRUE(position.ok()) << position.status();
  Elements second(make());
  ASSERT_TRUE(second.Restore(*position).ok());
  for (size_t i = 5; i < all.size(); ++i) {
    ASSERT_TRUE(*second.Next(&element));
    ExpectTensorEqual(element[0], all[i][0]);
  }
  EXPECT_FALSE(*second.Next(&element));
  EXPECT_FALSE(second.Restore(Tensor::Scalar("junk")).ok());
  EXPECT_FALSE(second.Restore(Tensor::Scalar(1.0f)).ok());
}

// y = x . (1, 2)
Dataset Line(int64_t count) {
  return Range(0, count)
      .Map([](const EagerTensors& e) {
        EagerTensor x =
            eager::Pack({eager::Sin(eager::Cast(e[0], DType::kFloat)), eager::Cos(eager::Cast(e[0], DType::kFloat))});
        return EagerTensors{x, eager::Reshape(eager::Sum(x * eager::Constant({1.0f, 2.0f}), 0), {1})};
      })
      .Shuffle(64, {.seed = 9})
      .Batch(8);
}

std::unique_ptr<nn::Model> LineModel() {
  auto model = std::make_unique<nn::Model>(nn::Sequential({nn::Dense(1)}), std::vector<nn::InputSpec>{{2}}, 3);
  EXPECT_TRUE(model
                  ->Compile({.optimizer = optimizer::Adam({.learning_rate = 0.05}),
                             .loss = loss::MeanSquaredError(),
                             .labels = DType::kFloat})
                  .ok());
  return model;
}

class StopAfter : public nn::Callback {
 public:
  explicit StopAfter(int64_t batches) : left_(batches) {}
  Status OnBatchEnd(nn::Model& model, int64_t, const nn::Logs&) override {
    if (--left_ == 0) model.StopTraining();
    return OkStatus();
  }
  bool wants_batches() const override { return true; }

 private:
  int64_t left_;
};

TEST(DatasetTest, ModelsTrainAndGoOnAtTheSameExample) {
  const std::string prefix = testing::TempDir() + "/dataset_model/model";
  std::filesystem::remove_all(testing::TempDir() + "/dataset_model");
  auto whole = LineModel();
  DatasetBatches batches(Line(60));
  StatusOr<nn::History> history = whole->Fit(batches, {.epochs = 3, .verbosity = nn::Verbosity::kSilent});
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_LT(history->epochs[2][0].second, history->epochs[0][0].second);

  // The same in two parts, cut in the middle of the second epoch.
  auto first = LineModel();
  DatasetBatches before(Line(60));
  ASSERT_TRUE(first
                  ->Fit(before, {.epochs = 3,
                                 .callbacks = {nn::callback::Checkpoint(prefix, {.every_steps = 11}),
                                               std::make_shared<StopAfter>(11)},
                                 .verbosity = nn::Verbosity::kSilent})
                  .ok());
  auto second = LineModel();
  ASSERT_TRUE(second->Load(prefix + "-11").ok());
  DatasetBatches after(Line(60));
  StatusOr<nn::History> rest = second->Fit(after, {.epochs = 3, .verbosity = nn::Verbosity::kSilent});
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->epochs.size(), 2u);
  EXPECT_EQ(second->step().value(), whole->step().value());
  Tensor probe = TensorOf<float>(Shape({2, 2}), {1, 0, 0, 1});
  ExpectTensorNear(second->Predict(probe).value(), whole->Predict(probe).value());
  EXPECT_EQ(rest->epochs[1][0].second, history->epochs[2][0].second);
}

}  // namespace
}  // namespace weir::data

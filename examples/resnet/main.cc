// resnet [STEPS] [FOLDER]: a small residual network on CIFAR-10. FOLDER holds the binary version of the set
// (data_batch_1.bin ...); without it, stand-in pictures of ten kinds are drawn and written in the same format. The
// files are read as a dataset of records: shuffled, mirrored and batched while the network trains.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "weir/weir.h"

namespace {

using namespace weir;

constexpr int64_t kRecord = 1 + 3 * 32 * 32;

// Stripes whose direction and colour tell the class, at random places, with noise.
void DrawStandIn(const std::string& path, int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::ofstream file(path, std::ios::binary);
  for (int n = 0; n < count; ++n) {
    const int label = static_cast<int>(random() % 10);
    const double angle = 0.6 * label, phase = static_cast<double>(random() % 628) / 100;
    std::string record(1, static_cast<char>(label));
    for (int channel = 0; channel < 3; ++channel) {
      for (int y = 0; y < 32; ++y) {
        for (int x = 0; x < 32; ++x) {
          const double wave = std::sin(0.6 * (x * std::cos(angle) + y * std::sin(angle)) + phase + channel * label);
          record += static_cast<char>(static_cast<int>(128 + 80 * wave) + static_cast<int>(random() % 40) - 20);
        }
      }
    }
    file << record;
  }
}

// Records as images [32, 32, 3] in [-1, 1] and labels.
data::Dataset Pictures(const std::vector<std::string>& files, bool train) {
  data::Dataset records =
      data::FixedLengthRecords(Tensor::Vector<std::string>(std::span<const std::string>(files)), kRecord);
  if (train) records = records.Shuffle(2000, {.seed = 1}).Repeat();
  return records
      .Map(
          [train](const data::EagerTensors& record) {
            EagerTensor bytes = eager::DecodeRaw(record[0], DType::kUInt8);
            EagerTensor label = eager::Reshape(eager::Slice(bytes, {0}, {1}), Tensor::Vector<int32_t>({}));
            EagerTensor planes = eager::Reshape(eager::Slice(bytes, {1}, {kRecord - 1}), {3, 32, 32});
            EagerTensor image = eager::Cast(eager::Transpose(planes, {1, 2, 0}), DType::kFloat) / 127.5f - 1;
            if (train) {  // half of them mirrored
              EagerTensor turn = eager::RandomUniform({1}, DType::kFloat) < 0.5f;
              image = eager::SelectV2(eager::Reshape(turn, {1, 1, 1}), eager::ReverseV2(image, {1}), image);
            }
            return data::EagerTensors{eager::EnsureShape(image, {32, 32, 3}), eager::Cast(label, DType::kInt64)};
          },
          {.parallel = data::kAllCores})
      .Batch(32)
      .Prefetch(2);
}

// Two convolutions, added to what came in; where the size changes, so does what is added.
nn::LayerPtr Block(int64_t channels, int64_t stride) {
  auto conv = [&](int64_t size, int64_t step) {
    return nn::Conv2D(channels, size,
                      {.strides = step, .padding = "same", .use_bias = false, .kernel_initializer = init::HeNormal()});
  };
  nn::LayerPtr first = conv(3, stride), second = conv(3, 1), shortcut = stride == 1 ? nullptr : conv(1, stride);
  nn::LayerPtr norm_first = nn::BatchNorm({.momentum = 0.9}), norm_second = nn::BatchNorm({.momentum = 0.9});
  return nn::Function(
      [=](nn::Context& context, const Output& x) {
        Output y = ops::Relu(context.scope(), context(norm_first, context(first, x)));
        y = context(norm_second, context(second, y));
        return ops::Relu(context.scope(), y + (shortcut == nullptr ? x : context(shortcut, x)));
      },
      "block");
}

Status Run(int64_t steps, std::string folder) {
  std::vector<std::string> train;
  if (folder.empty()) {
    folder = (std::filesystem::temp_directory_path() / "weir_resnet_pictures").string();
    std::filesystem::create_directories(folder);
    DrawStandIn(folder + "/data_batch_1.bin", 2000, 1);
    DrawStandIn(folder + "/test_batch.bin", 200, 2);
    train = {folder + "/data_batch_1.bin"};
  } else {
    for (int i = 1; i <= 5; ++i) train.push_back(Cat(folder, "/data_batch_", i, ".bin"));
  }
  nn::Model model(
      nn::Sequential({nn::Conv2D(16, 3, {.padding = "same", .use_bias = false}), nn::BatchNorm({.momentum = 0.9}),
                      nn::Activate("relu"), Block(16, 1), Block(32, 2), Block(64, 2), nn::GlobalAveragePool(),
                      nn::Dense(10, {.kernel_regularizer = nn::L2(1e-4)})}),
      {{32, 32, 3}}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(model.Compile(
      {.optimizer =
           optimizer::Momentum({.learning_rate = schedule::Cosine(0.1, static_cast<double>(steps)), .nesterov = true}),
       .loss = loss::SparseCategoricalCrossentropy(),
       .metrics = {metric::SparseCategoricalAccuracy()}}));
  data::DatasetBatches batches(Pictures(train, true).Take(steps));
  WEIR_RETURN_IF_ERROR(model.Fit(batches, {.epochs = 1}).status());
  data::DatasetBatches tests(Pictures({folder + "/test_batch.bin"}, false));
  WEIR_ASSIGN_OR_RETURN(nn::Logs logs, model.Evaluate(tests));
  std::printf("test accuracy %.1f%%\n", 100 * logs[1].second);
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 150, argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

// What a program says about its GPUs: which cards, how they are divided, and which session says it first.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

StatusOr<std::vector<DeviceInfo>> DevicesWith(const GpuOptions& gpu) {
  ChooseDriver();
  EnvironmentOptions options;
  options.gpu = gpu;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment(options));
  std::vector<DeviceInfo> out;
  for (const auto& device : environment->devices.devices()) out.push_back(device->info());
  return out;
}

TEST(GpuChoice, ACardIsOneDeviceWithAShareOfItsMemory) {
  GpuOptions options;
  options.memory_fraction = 0.25;
  auto devices = DevicesWith(options);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_GE(devices->size(), 2u);
  const DeviceInfo& gpu = (*devices)[1];
  EXPECT_EQ(gpu.name, "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(gpu.device_type, "GPU");
  const std::vector<GpuCard> cards = ListGpuCards();
  ASSERT_FALSE(cards.empty());
  EXPECT_EQ(gpu.memory_limit, static_cast<int64_t>(0.25 * static_cast<double>(cards[0].memory)));
  EXPECT_GE(gpu.bus_id, 1);
  EXPECT_NE(gpu.incarnation, 0u);
  EXPECT_TRUE(gpu.description.starts_with("device: 0, name: " + cards[0].name)) << gpu.description;
}

TEST(GpuChoice, LogicalDevicesDivideACard) {
  GpuOptions options;
  options.logical_devices = {{1 << 20, 2 << 20, 3 << 20}};
  options.priorities = {{0, -1, 0}};
  auto devices = DevicesWith(options);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_GE(devices->size(), 4u);
  EXPECT_EQ((*devices)[2].name, "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_EQ((*devices)[2].memory_limit, 2 << 20);
}

TEST(GpuChoice, ListsOfCardsThatMakeNoSenseAreErrorsInTensorFlowsWords) {
  ChooseDriver();
  const std::string count = Cat(ListGpuCards().size());
  for (const auto& [list, message] : std::vector<std::pair<std::string, std::string>>{
           {"x", "Could not parse entry in 'visible_device_list': 'x'. visible_device_list = x"},
           {"77", "'visible_device_list' listed an invalid Device id '77' but visible device count is " + count},
           {"0,0", "visible_device_list contained a duplicate entry: 0,0"}}) {
    GpuOptions options;
    options.visible_devices = list;
    EXPECT_EQ(Message(DevicesWith(options).status()), message);
  }
  GpuOptions many;
  many.logical_devices.resize(50);
  EXPECT_TRUE(Message(DevicesWith(many).status()).starts_with("Not enough GPUs to create virtual devices."));
}

TEST(GpuChoice, ASessionWithoutGpusStartsNone) {
  ChooseDriver();
  const std::shared_ptr<Environment> environment = DefaultEnvironment();
  if (environment->devices.is_complete()) GTEST_SKIP() << "another test of this process has started them";
  SessionOptions options;
  options.device_count["GPU"] = 0;
  auto session = Session::Create(environment, options);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->ListDevices().size(), 1u);
  EXPECT_FALSE(environment->devices.is_complete());

  options.device_count.clear();
  options.gpu.logical_devices = {{64 << 20, 64 << 20}};
  auto first = Session::Create(environment, options);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->ListDevices().size(), 3u);
  EXPECT_TRUE(environment->devices.is_complete());
  options.device_count["GPU"] = 1;
  EXPECT_EQ((*Session::Create(environment, options))->ListDevices().size(), 2u);
  options.gpu.visible_devices = "1";
  EXPECT_EQ(Session::Create(environment, options).status().code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace weir::gpu_testing

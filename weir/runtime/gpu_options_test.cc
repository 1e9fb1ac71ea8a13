#include "weir/runtime/gpu_options.h"

#include <gtest/gtest.h>

#include "weir/proto/config.pb.h"

namespace weir {
namespace {

TEST(GpuOptions, ComeFromAConfigAndGoBackIntoOne) {
  ConfigProto config;
  config.mutable_gpu_options()->set_visible_device_list("1,0");
  config.mutable_gpu_options()->set_force_gpu_compatible(true);
  auto* devices = config.mutable_gpu_options()->mutable_experimental()->add_virtual_devices();
  devices->add_memory_limit_mb(1024);
  devices->add_memory_limit_mb(512.5);
  devices->add_priority(0);
  devices->add_priority(-1);
  (*config.mutable_device_count())["GPU"] = 2;
  StatusOr<GpuOptions> options = GpuOptions::FromConfig(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->visible_devices, "1,0");
  EXPECT_EQ(options->max_devices, 2);
  ASSERT_EQ(options->logical_devices.size(), 1u);
  EXPECT_EQ(options->logical_devices[0], (std::vector<int64_t>{1024 << 20, (512 << 20) + (512 << 10)}));
  EXPECT_EQ(options->priorities[0], (std::vector<int>{0, -1}));
  ConfigProto back;
  options->ToConfig(&back);
  EXPECT_EQ(GpuOptions::FromConfig(back)->logical_devices, options->logical_devices);
  EXPECT_EQ(back.gpu_options().visible_device_list(), "1,0");
}

TEST(GpuOptions, AFractionOfMemoryAndLogicalDevicesExcludeEachOther) {
  ConfigProto config;
  config.mutable_gpu_options()->set_per_process_gpu_memory_fraction(0.5);
  EXPECT_EQ(GpuOptions::FromConfig(config)->memory_fraction, 0.5);
  config.mutable_gpu_options()->mutable_experimental()->add_virtual_devices()->add_memory_limit_mb(1);
  EXPECT_EQ(Message(GpuOptions::FromConfig(config).status()),
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
}

TEST(GpuOptions, EveryLogicalDeviceHasAPriorityOrNone) {
  ConfigProto config;
  auto* devices = config.mutable_gpu_options()->mutable_experimental()->add_virtual_devices();
  devices->add_memory_limit_mb(1);
  devices->add_memory_limit_mb(1);
  devices->add_priority(0);
  EXPECT_EQ(GpuOptions::FromConfig(config).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GpuOptions, CardsOfTheFirstSessionStay) {
  GpuOptions before, now;
  before.visible_devices = "1,0";
  EXPECT_TRUE(CheckSameGpus(now, before).ok()) << "who asks for none takes what there is";
  now.visible_devices = "1";
  EXPECT_TRUE(CheckSameGpus(now, before).ok());
  now.visible_devices = "0";
  const Status status = CheckSameGpus(now, before);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Message(status).starts_with(
      "TensorFlow device (GPU:0) is being mapped to multiple devices (0 now, and 1 previously)"))
      << status;
  now.visible_devices = "0";
  before.visible_devices = "";
  EXPECT_TRUE(CheckSameGpus(now, before).ok());
}

}  // namespace
}  // namespace weir

#include "weir/client/device_flag.h"

#include <gtest/gtest.h>

#include <vector>

#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

Status Take(std::vector<const char*> arguments, std::vector<std::string_view>* left) {
  std::vector<char*> argv;
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
  int argc = static_cast<int>(argv.size());
  Status status = TakeDeviceFlag(&argc, argv.data());
  left->assign(argv.begin(), argv.begin() + argc);
  return status;
}

TEST(DeviceFlag, IsTakenFromWhereverItStands) {
  std::vector<std::string_view> left;
  EXPECT_EQ(Take({"program", "20"}, &left), OkStatus());
  EXPECT_EQ(left, (std::vector<std::string_view>{"program", "20"}));
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"program", "--device", "CPU:0", "20", "folder"},
        std::vector<const char*>{"program", "20", "--device=cpu", "folder"},
        std::vector<const char*>{"program", "20", "folder", "--device", "/device:CPU:0"}}) {
    const Status status = Take(arguments, &left);
    // Another test of this process may have started the devices.
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(left, (std::vector<std::string_view>{"program", "20", "folder"}));
  }
}

TEST(DeviceFlag, RefusesWhatThereIsNot) {
  EXPECT_EQ(UseDevice("GPU:1000").code(), absl::StatusCode::kNotFound);
  for (const char* name : {"", "CPU:1", "TPU:0", "GPU:x", "GPU:-1", "GPU:"}) {
    EXPECT_EQ(UseDevice(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  std::vector<std::string_view> left;
  EXPECT_EQ(Take({"program", "--device"}, &left).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir

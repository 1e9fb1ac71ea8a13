#include "weir/base/logging.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Logging, LevelsHaveNamesAndNumbers) {
  EXPECT_EQ(ParseLogLevel("warning"), LogLevel::WARNING);
  EXPECT_EQ(ParseLogLevel("Error"), LogLevel::ERROR);
  EXPECT_EQ(ParseLogLevel("0"), LogLevel::DEBUG);
  EXPECT_FALSE(ParseLogLevel("loud").has_value());
  EXPECT_FALSE(ParseLogLevel("").has_value());
}

TEST(Logging, WritesOnlyWhatIsAtOrAboveTheLevel) {
  LogLevel before = MinLogLevel();
  SetMinLogLevel(LogLevel::WARNING);
  int evaluated = 0;
  testing::internal::CaptureStderr();
  WEIR_LOG(INFO) << "quiet " << ++evaluated;
  WEIR_LOG(ERROR) << "loud " << ++evaluated;
  std::string text = testing::internal::GetCapturedStderr();
  SetMinLogLevel(before);
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("loud 1\n"), std::string::npos);
  EXPECT_EQ(text[0], 'E');
}

}  // namespace
}  // namespace weir

#include "tests/main/run_tests.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace weir {

int RunTests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string folder = ::testing::TempDir() + "weir_test_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  setenv("TEST_TMPDIR", folder.c_str(), 1);
  const int result = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

}  // namespace weir

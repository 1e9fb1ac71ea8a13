#pragma once

namespace weir {

// Runs the tests of this program in a temporary folder of its own (`testing::TempDir()`), which goes with it: CTest
// runs every test as a process, several at a time, and they name their files alike.
int RunTests(int argc, char** argv);

}  // namespace weir

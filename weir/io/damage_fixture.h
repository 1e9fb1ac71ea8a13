// For tests: damaged copies of a file.
#ifndef WEIR_IO_DAMAGE_FIXTURE_H_
#define WEIR_IO_DAMAGE_FIXTURE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

#include "weir/io/file.h"

namespace weir {

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Calls `check` with the file at `path` cut at every `step`-th length, and with one bit of every `step`-th byte turned.
inline void ForEachDamage(const std::string& path, size_t step, const std::function<void(bool cut, size_t at)>& check) {
  std::string good = ReadFile(path).value();
  for (size_t length = 0; length < good.size(); length += step) {
    WriteBytes(path, good.substr(0, length));
    check(true, length);
  }
  for (size_t at = 0; at < good.size(); at += step) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    WriteBytes(path, bad);
    check(false, at);
  }
  WriteBytes(path, good);
}

}  // namespace weir

#endif  // WEIR_IO_DAMAGE_FIXTURE_H_

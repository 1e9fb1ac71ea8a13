#include "weir/device/cuda/disk_cache.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "weir/base/fingerprint.h"

namespace weir::cuda {
namespace {

// A file holds a line with two fingerprints (of the key by another hash, and of the rest), a line with the symbol, and
// the code.
std::string FileOf(const std::string& folder, const std::string& key) {
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx.bin", static_cast<unsigned long long>(Fingerprint64(key)));
  return Cat(folder, "/", name);
}

std::string Header(const std::string& key, const std::string& rest) {
  char line[48];
  std::snprintf(line, sizeof(line), "%016llx %016llx\n", static_cast<unsigned long long>(Hash64(key)),
                static_cast<unsigned long long>(Fingerprint64(rest)));
  return line;
}

}  // namespace

std::string DiskCacheFolder() {
  if (const char* chosen = std::getenv("WEIR_CUDA_CACHE")) return chosen;
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches != '\0') {
    return Cat(caches, "/weir/cuda");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return Cat(home, "/.cache/weir/cuda");
  return "";
}

std::optional<CompiledProgram> ReadDiskCache(const std::string& folder, const std::string& key) {
  if (folder.empty()) return std::nullopt;
  std::ifstream file(FileOf(folder, key), std::ios::binary);
  std::string header;
  if (!file || !std::getline(file, header)) return std::nullopt;
  const std::string rest((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (header + "\n" != Header(key, rest)) return std::nullopt;
  const size_t end = rest.find('\n');
  if (end == std::string::npos) return std::nullopt;
  return CompiledProgram{rest.substr(end + 1), rest.substr(0, end)};
}

void WriteDiskCache(const std::string& folder, const std::string& key, const CompiledProgram& program) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = FileOf(folder, key), rest = Cat(program.symbol, "\n", program.code);
  // Written beside and moved, so that nobody reads half a file.
  const std::string temporary = Cat(path, ".", getpid(), ".", reinterpret_cast<uintptr_t>(&rest));
  {
    std::ofstream file(temporary, std::ios::binary);
    file << Header(key, rest) << rest;
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, error);
      return;
    }
  }
  std::filesystem::rename(temporary, path, error);
  if (error) std::filesystem::remove(temporary, error);
}

}  // namespace weir::cuda

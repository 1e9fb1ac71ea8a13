#include "weir/base/logging.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace weir {
namespace {

std::atomic<LogLevel>& Level() {
  static std::atomic<LogLevel> level = [] {
    const char* text = std::getenv("WEIR_LOG_LEVEL");
    return text != nullptr ? ParseLogLevel(text).value_or(LogLevel::INFO) : LogLevel::INFO;
  }();
  return level;
}

}  // namespace

LogLevel MinLogLevel() { return Level().load(std::memory_order_relaxed); }
void SetMinLogLevel(LogLevel level) { Level().store(level, std::memory_order_relaxed); }

std::optional<LogLevel> ParseLogLevel(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "none"};
  for (int i = 0; i < 5; ++i) {
    if (lower == kNames[i] || (lower.size() == 1 && lower[0] == '0' + i)) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

LogLine::LogLine(LogLevel level, const char* file, int line) {
  timeval now;
  gettimeofday(&now, nullptr);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  const char* base = std::strrchr(file, '/');
  char head[128];
  std::snprintf(head, sizeof(head), "%c%04d-%02d-%02d %02d:%02d:%02d.%06ld %ld %s:%d] ",
                "DIWEN"[static_cast<int>(level)], parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                parts.tm_min, parts.tm_sec, static_cast<long>(now.tv_usec), static_cast<long>(syscall(SYS_gettid)),
                base != nullptr ? base + 1 : file, line);
  stream_ << head;
}

LogLine::~LogLine() {
  stream_ << '\n';
  std::string text = std::move(stream_).str();
  std::fwrite(text.data(), 1, text.size(), stderr);  // locks the stream; stderr is not buffered
}

}  // namespace weir

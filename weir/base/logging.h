// Log lines to stderr: WEIR_LOG(INFO) << "listening on " << port;
#ifndef WEIR_BASE_LOGGING_H_
#define WEIR_BASE_LOGGING_H_

#include <optional>
#include <sstream>
#include <string_view>

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

enum class LogLevel { DEBUG = 0, INFO = 1, WARNING = 2, ERROR = 3, NONE = 4 };

// Lines below this level are not written. Initially the value of the environment variable WEIR_LOG_LEVEL (a name or a
// number), else INFO.
LogLevel MinLogLevel();
void SetMinLogLevel(LogLevel level);
// "debug", "info", "warning", "error", "none", or their numbers; nothing otherwise.
std::optional<LogLevel> ParseLogLevel(std::string_view text);

// One line, written as a whole when the object is destroyed; lines of several threads do not mix.
class LogLine {
 public:
  LogLine(LogLevel level, const char* file, int line);
  ~LogLine();
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace weir

// The operands are not evaluated if the level is off.
#define WEIR_LOG(level)                                             \
  if (::weir::LogLevel::level < ::weir::MinLogLevel()) [[likely]] { \
  } else                                                            \
    ::weir::LogLine(::weir::LogLevel::level, __FILE__, __LINE__).stream()

#endif  // WEIR_BASE_LOGGING_H_

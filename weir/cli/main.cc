#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/synchronization/mutex.h"
#include "weir/base/logging.h"
#include "weir/cli/commands.h"

namespace weir {

void ExitOnError(const Status& status) {
  if (status.ok()) return;
  // One line, whatever the message holds.
  std::string text = Message(status);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "weir: %s\n", text.c_str());
  std::exit(1);
}

}  // namespace weir

int main(int argc, char** argv) {
  // Debian's Abseil looks for lock cycles at every lock by default, also in gRPC's: a tenth of a short call's time.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  CLI::App program("weir runs TensorFlow's dataflow graphs.", "weir");
  program.set_version_flag("--version", "weir " WEIR_VERSION);
  program.require_subcommand(1);
  program.option_defaults()->always_capture_default();
  program
      .add_option_function<std::string>(
          "--log_level",
          [](const std::string& text) {
            std::optional<weir::LogLevel> level = weir::ParseLogLevel(text);
            if (!level.has_value()) throw CLI::ValidationError("--log_level", "unknown level " + text);
            weir::SetMinLogLevel(*level);
          },
          "debug, info, warning, error or none")
      ->envname("WEIR_LOG_LEVEL");
  weir::AddServeCommand(program);
  weir::AddServerCommand(program);
  weir::AddLaunchCommand(program);
  weir::AddBenchCommand(program);
  weir::AddDevicesCommand(program);
  weir::AddOpsCommand(program);
  weir::AddPlaceCommand(program);
  weir::AddRunCommand(program);
  weir::AddShowCommand(program);
  weir::AddTensorBoardCommand(program);
  weir::AddTraceCommand(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help and --version
    std::vector<std::string> unknown = program.remaining();
    if (program.get_subcommands().empty() && !unknown.empty()) {
      weir::ExitOnError(weir::InvalidArgument("there is no command '", unknown[0], "'; see weir --help"));
    }
    weir::ExitOnError(weir::InvalidArgument(error.what()));
  }
  return 0;
}

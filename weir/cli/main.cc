#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "weir/base/logging.h"
#include "weir/cli/commands.h"

namespace weir {

void ExitOnError(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "weir: %s\n", Message(status).c_str());
  std::exit(1);
}

}  // namespace weir

int main(int argc, char** argv) {
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
  weir::AddServerCommand(program);
  weir::AddBenchCommand(program);
  weir::AddOpsCommand(program);
  CLI11_PARSE(program, argc, argv);
  return 0;
}

// The subcommands of the program `weir`; each function adds one, with its options.
#ifndef WEIR_CLI_COMMANDS_H_
#define WEIR_CLI_COMMANDS_H_

#include "weir/base/status.h"

namespace CLI {
class App;
}

namespace weir {

void AddBenchCommand(CLI::App& program);
void AddDevicesCommand(CLI::App& program);
void AddServeCommand(CLI::App& program);
void AddServerCommand(CLI::App& program);
void AddLaunchCommand(CLI::App& program);
void AddOpsCommand(CLI::App& program);
void AddPlaceCommand(CLI::App& program);
void AddRunCommand(CLI::App& program);
void AddShowCommand(CLI::App& program);
void AddTensorBoardCommand(CLI::App& program);
void AddTraceCommand(CLI::App& program);

// For the callback of a command: prints an error as "weir: <message>" and exits with code 1.
void ExitOnError(const Status& status);

}  // namespace weir

#endif  // WEIR_CLI_COMMANDS_H_

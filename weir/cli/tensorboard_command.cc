// weir tensorboard LOGDIR: TensorBoard on a folder of event files.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "weir/cli/commands.h"
#include "weir/io/file.h"

namespace weir {
namespace {

// Becomes the program; returns only if it cannot.
Status Start(const std::string& folder, int port) {
  if (!IsFolder(folder)) return NotFound(folder, " is not a folder");
  const std::string port_text = std::to_string(port);
  std::vector<const char*> arguments = {"tensorboard", "--logdir",        folder.c_str(),
                                        "--port",      port_text.c_str(), nullptr};
  execvp("tensorboard", const_cast<char* const*>(arguments.data()));
  if (errno == ENOENT) {
    return FailedPrecondition("tensorboard is not installed; install it with python3 -m pip install tensorboard");
  }
  return Unknown("cannot start tensorboard: ", std::strerror(errno));
}

}  // namespace

void AddTensorBoardCommand(CLI::App& program) {
  struct Options {
    std::string folder;
    int port = 6006;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("tensorboard", "show event files in TensorBoard");
  command->add_option("logdir", options->folder, "a folder with event files, or with folders of them")->required();
  command->add_option("--port", options->port, "where the browser finds it")->check(CLI::Range(0, 65535));
  command->footer("\nExamples:\n  weir tensorboard build/quickstart_run/log    then open http://localhost:6006");
  command->callback([options] { ExitOnError(Start(options->folder, options->port)); });
}

}  // namespace weir

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "weir/cli/commands.h"
#include "weir/cli/op_json.h"
#include "weir/client/environment.h"
#include "weir/framework/op_table.h"

namespace weir {
namespace {

struct OpsFlags {
  std::string name;
  bool json = false;
  bool with_kernel = false;
  bool without_kernel = false;
  std::vector<std::string> libraries;
};

constexpr char kOpsExamples[] = R"(Examples:
  weir ops                      all operations, one a line: name, family, devices that have a kernel
  weir ops MatMul               signature, attributes and kernels of one
  weir ops --without_kernel     what a graph may contain but cannot run yet
  weir ops --json               everything, one JSON object a line
)";

std::string Devices(const std::vector<const KernelEntry*>& kernels) {
  std::set<std::string> types;
  for (const KernelEntry* kernel : kernels) types.insert(kernel->device_type);
  std::string out;
  for (const std::string& type : types) out += Cat(out.empty() ? "" : " ", type);
  return out.empty() ? "-" : out;
}

void PrintOne(const OpSchema& schema, const std::vector<const KernelEntry*>& kernels) {
  std::printf("%s", FormatOpSchema(schema).c_str());
  std::printf("\nfamily %s\n", schema.family.c_str());
  if (kernels.empty()) std::printf("no kernel\n");
  for (const KernelEntry* kernel : kernels) {
    std::printf("kernel %s", kernel->device_type.c_str());
    for (const auto& constraint : kernel->constraints) {
      std::printf("  %s:", constraint.attr.c_str());
      for (DType type : constraint.types) std::printf(" %s", std::string(ShortName(type)).c_str());
    }
    if (!kernel->label.empty()) std::printf("  label %s", kernel->label.c_str());
    std::printf("\n");
  }
}

Status RunOps(const OpsFlags& flags) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment({.libraries = flags.libraries}));
  std::vector<const OpSchema*> schemas = environment->ops.All();
  if (!flags.name.empty()) {
    const OpSchema* schema = environment->ops.Find(flags.name);
    if (schema == nullptr) return NotFound("there is no operation ", flags.name);
    schemas = {schema};
  }
  for (const OpSchema* schema : schemas) {
    std::vector<const KernelEntry*> kernels = environment->kernels.All(schema->name);
    if ((flags.with_kernel && kernels.empty()) || (flags.without_kernel && !kernels.empty())) continue;
    if (flags.json) {
      std::printf("%s\n", OpToJson(*schema, environment->kernels).c_str());
    } else if (!flags.name.empty()) {
      PrintOne(*schema, kernels);
    } else {
      std::printf("%-44s %-14s %s\n", schema->name.c_str(), schema->family.c_str(), Devices(kernels).c_str());
    }
  }
  return OkStatus();
}

}  // namespace

void AddOpsCommand(CLI::App& program) {
  auto flags = std::make_shared<OpsFlags>();
  CLI::App* command = program.add_subcommand("ops", "list the operations, or describe one");
  command->footer(kOpsExamples);
  command->add_option("name", flags->name, "an operation");
  command->add_option("--library", flags->libraries, "load operations, kernels or devices from this file");
  command->add_flag("--json", flags->json, "one JSON object a line");
  command->add_flag("--with_kernel", flags->with_kernel, "only what can run here");
  command->add_flag("--without_kernel", flags->without_kernel, "only what cannot");
  command->callback([flags] { ExitOnError(RunOps(*flags)); });
}

}  // namespace weir

// kernel_groups [FILE]: which kernels each registration function has: a line of its name and the ops it is for.
// Without FILE it prints them, as weir/ops/kernel_groups.txt holds them; else it says whether FILE has the same lines.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "weir/client/builtin_kernels.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"
#include "weir/ops/op_tables.h"

namespace weir {

#define WEIR_KERNEL_GROUP(name) void name(KernelRegistry& registry);
#include "kernel_group_list.inc"
#undef WEIR_KERNEL_GROUP

namespace {

struct KernelGroup {
  const char* name;
  void (*add)(KernelRegistry&);
};
constexpr KernelGroup kGroups[] = {
#define WEIR_KERNEL_GROUP(name) {#name, name},
#include "kernel_group_list.inc"
#undef WEIR_KERNEL_GROUP
};

std::string ListGroups() {
  OpRegistry ops;
  if (!RegisterBuiltinOps(ops).ok()) return "";
  KernelRegistry all;
  RegisterBuiltinKernels(all);
  std::set<std::string> missing;
  for (const OpSchema* op : ops.All()) {
    if (!all.All(op->name).empty()) missing.insert(op->name);
  }
  std::string out;
  for (const KernelGroup& group : kGroups) {
    KernelRegistry kernels;
    group.add(kernels);
    out += group.name;
    for (const OpSchema* op : ops.All()) {
      if (kernels.All(op->name).empty()) continue;
      out += " " + op->name;
      missing.erase(op->name);
    }
    out += '\n';
  }
  for (const std::string& op : missing) {
    std::fprintf(stderr, "no registration function of a register.h has the kernels of %s\n", op.c_str());
  }
  return missing.empty() ? out : "";
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const std::string groups = weir::ListGroups();
  if (groups.empty()) return 1;
  if (argc < 2) {
    std::fputs(groups.c_str(), stdout);
    return 0;
  }
  std::ostringstream file;
  file << std::ifstream(argv[1]).rdbuf();
  if (file.str() == groups) return 0;
  std::fprintf(stderr, "%s is out of date: write the output of `kernel_groups` into it\n", argv[1]);
  return 1;
}

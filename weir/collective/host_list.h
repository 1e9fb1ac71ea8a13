// Lists of hosts and of tasks as launchers write them.
#ifndef WEIR_COLLECTIVE_HOST_LIST_H_
#define WEIR_COLLECTIVE_HOST_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir::collective {

// Expands Slurm's "n[1-2],m5,o[3-4,6]" to n1 n2 m5 o3 o4 o6, in this order. If a name has several brackets, the last
// one varies fastest.
StatusOr<std::vector<std::string>> ParseSlurmHosts(std::string_view list);
// Expands Slurm's "2(x3),1" to 2 2 2 1.
StatusOr<std::vector<int>> ParseSlurmTasks(std::string_view list);

struct HostSlots {
  std::string host;
  int slots = 1;
};
// Parses "a:4,b:2,c", as for mpirun and horovodrun. An IPv6 address is written in brackets.
StatusOr<std::vector<HostSlots>> ParseHosts(std::string_view list);
// Parses the lines of a host file: "a slots=4", "a:4" or "a"; a comment starts with #.
StatusOr<std::vector<HostSlots>> ParseHostFile(std::string_view text);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_HOST_LIST_H_

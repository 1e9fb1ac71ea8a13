// Lists of hosts and of tasks as launchers write them.
#ifndef WEIR_COLLECTIVE_HOST_LIST_H_
#define WEIR_COLLECTIVE_HOST_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir::collective {

// Slurm's "n[1-2],m5,o[3-4,6]": n1 n2 m5 o3 o4 o6, in this order. Several brackets in a name: the last counts fastest.
StatusOr<std::vector<std::string>> ParseSlurmHosts(std::string_view list);
// Slurm's "2(x3),1": 2 2 2 1.
StatusOr<std::vector<int>> ParseSlurmTasks(std::string_view list);

struct HostSlots {
  std::string host;
  int slots = 1;
};
// "a:4,b:2,c": of mpirun and horovodrun. An IPv6 address stands in brackets.
StatusOr<std::vector<HostSlots>> ParseHosts(std::string_view list);
// The lines of a host file: "a slots=4", "a:4" or "a"; what follows a # is a comment.
StatusOr<std::vector<HostSlots>> ParseHostFile(std::string_view text);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_HOST_LIST_H_

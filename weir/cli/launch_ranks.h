// Identical processes of one job, on one or several hosts, for `weir launch -n`.
#ifndef WEIR_CLI_LAUNCH_RANKS_H_
#define WEIR_CLI_LAUNCH_RANKS_H_

#include <string>
#include <vector>

#include "weir/base/status.h"
#include "weir/cli/job_processes.h"
#include "weir/collective/host_list.h"
#include "weir/collective/place.h"

namespace weir {

struct RankLaunch {
  int ranks = 0;                             // 0: the number of slots on the hosts
  std::vector<collective::HostSlots> hosts;  // empty: all ranks on this host. Hosts are filled one after the other
  std::string address;  // "host" or "host:port" of rank 0, as seen by all hosts; empty: chosen automatically
  std::vector<std::string> agent{"ssh", "-o", "BatchMode=yes"};  // called with a host and a command line for its shell
  std::vector<std::string> variables;                            // environment variables to pass on to other hosts
  std::vector<std::string> command;
  collective::TlsOptions tls;  // between the ranks; files are the same on all hosts
};

// Runs the command once per rank, with WEIR_RANK, WEIR_SIZE, WEIR_LOCAL_RANK, WEIR_LOCAL_SIZE, WEIR_HOST, WEIR_JOB,
// WEIR_ADDRESS, WEIR_SECRET and WEIR_TLS in its environment (collective/place.h). Each line of output is printed with
// the prefix "[rank] ". When a rank fails, the others get SIGTERM, and SIGKILL five seconds later; SIGINT and SIGTERM
// are passed on. Returns the first exit code that is not 0.
StatusOr<int> LaunchRanks(const RankLaunch& launch);

// For launchers of jobs. Merges duplicate names, and all names of this host.
std::vector<collective::HostSlots> MergeHosts(const std::vector<collective::HostSlots>& hosts);
std::string MakeJobName();
std::string MakeJobSecret();
// The settings of every process on a host, without its number and the variables of its job.
ProcessStart StartOn(const RankLaunch& launch, const std::string& host, const std::string& secret);

}  // namespace weir

#endif  // WEIR_CLI_LAUNCH_RANKS_H_

// Equal processes of one job, on this host or several: what `weir launch -n` runs.
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
  int ranks = 0;                             // 0: as many as the hosts have slots
  std::vector<collective::HostSlots> hosts;  // none: all ranks on this host. Ranks fill one host after the other
  std::string address;                       // "host" or "host:port" of rank 0, as all hosts know it; empty: chosen
  std::vector<std::string> agent{"ssh", "-o", "BatchMode=yes"};  // called with a host and what its shell is to run
  std::vector<std::string> variables;                            // of this environment, passed on to other hosts
  std::vector<std::string> command;
  collective::TlsOptions tls;  // between the ranks; files are the same on all hosts
};

// Runs the command once for every rank, with WEIR_RANK, WEIR_SIZE, WEIR_LOCAL_RANK, WEIR_LOCAL_SIZE, WEIR_HOST,
// WEIR_JOB, WEIR_ADDRESS, WEIR_SECRET and WEIR_TLS in its environment (collective/place.h). Each line of output is
// printed with
// "[rank] " before it. When a rank fails, the others get SIGTERM, and SIGKILL five seconds later; SIGINT and SIGTERM
// are passed on. Gives the first exit code that is not 0.
StatusOr<int> LaunchRanks(const RankLaunch& launch);

// For launchers of jobs. Names that mean this host are one host, and so are names that come twice.
std::vector<collective::HostSlots> MergeHosts(const std::vector<collective::HostSlots>& hosts);
std::string MakeJobName();
std::string MakeJobSecret();
// What every process of a host gets, without its number and the variables of its job.
ProcessStart StartOn(const RankLaunch& launch, const std::string& host, const std::string& secret);

}  // namespace weir

#endif  // WEIR_CLI_LAUNCH_RANKS_H_

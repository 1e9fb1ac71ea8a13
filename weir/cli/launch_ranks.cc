#include "weir/cli/launch_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/time/clock.h"
#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/cli/job_processes.h"
#include "weir/collective/secret.h"

namespace weir {
namespace {

// Until all ranks have ended. The first that fails ends the others.
int WaitForRanks(JobProcesses& processes) {
  int code = 0;
  absl::Time kill_at = absl::InfiniteFuture();
  auto end = [&](int outcome) {
    if (code != 0) return;
    code = outcome;
    kill_at = absl::Now() + kTimeToEnd;
    processes.CloseInputs();
  };
  while (processes.num_running() > 0 || processes.HasOpenStreams()) {
    for (const JobProcesses::Ended& ended : processes.Wait()) {
      if (ended.outcome == 0 || code != 0 || processes.signal() != 0) continue;
      std::fprintf(stderr, "weir launch: rank %d ended with %d; the others are told to end\n", ended.number,
                   ended.outcome);
      processes.SendAll(SIGTERM);
      end(ended.outcome);
    }
    if (processes.signal() != 0) end(128 + processes.signal());
    if (absl::Now() > kill_at) processes.SendAll(SIGKILL);
    // What a rank's own children still hold open is not waited for.
    if (processes.num_running() == 0 && code != 0) break;
  }
  return code;
}

}  // namespace

std::vector<collective::HostSlots> MergeHosts(const std::vector<collective::HostSlots>& hosts) {
  std::vector<collective::HostSlots> merged;
  for (const collective::HostSlots& each : hosts) {
    auto same = std::find_if(merged.begin(), merged.end(), [&](const collective::HostSlots& other) {
      return other.host == each.host || (IsThisHost(other.host) && IsThisHost(each.host));
    });
    if (same == merged.end()) {
      merged.push_back(each);
    } else {
      same->slots += each.slots;
    }
  }
  return merged;
}

std::string MakeJobName() { return Cat("launch_", HostName(), "_", getpid(), "_", absl::ToUnixNanos(absl::Now())); }

std::string MakeJobSecret() {
  std::string secret;
  for (const char byte : collective::RandomBytes(16)) {
    secret += Cat(absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  }
  return secret;
}

ProcessStart StartOn(const RankLaunch& launch, const std::string& host, const std::string& secret) {
  ProcessStart start;
  start.secret = secret;
  start.variables.emplace_back("WEIR_TLS", launch.tls.is_on ? "1" : "0");
  if (launch.tls.is_on && !launch.tls.certificate.empty()) {
    start.variables.insert(
        start.variables.end(),
        {{"WEIR_TLS_CERT", launch.tls.certificate}, {"WEIR_TLS_KEY", launch.tls.key}, {"WEIR_TLS_CA", launch.tls.ca}});
  }
  if (!IsThisHost(host)) {
    start.host = host;
    for (const std::string& variable : launch.variables) {
      if (const char* value = std::getenv(variable.c_str())) start.variables.emplace_back(variable, value);
    }
  }
  return start;
}

StatusOr<int> LaunchRanks(const RankLaunch& launch) {
  std::vector<collective::HostSlots> hosts = launch.hosts;
  if (hosts.empty()) hosts.push_back({"localhost", std::max(launch.ranks, 1)});
  hosts = MergeHosts(hosts);
  int slots = 0;
  for (const collective::HostSlots& each : hosts) slots += each.slots;
  const int ranks = launch.ranks > 0 ? launch.ranks : slots;
  if (ranks > slots) return InvalidArgument("There are ", slots, " slots on the hosts, too few for ", ranks, " ranks");
  const std::string job = MakeJobName(), secret = MakeJobSecret();
  std::string address = launch.address;
  if (address.empty()) address = IsThisHost(hosts[0].host) ? HostName() : hosts[0].host;
  if (address.rfind(':') == address.npos || address.ends_with(']')) {
    const std::vector<int> ports = FreePorts(1);
    if (ports.empty()) return ResourceExhausted("there is no free port");
    if (address.find(':') != address.npos && !address.starts_with('[')) address = Cat("[", address, "]");
    address += Cat(":", ports[0]);
  }
  JobProcesses processes(launch.agent, launch.command);
  int rank = 0;
  for (const collective::HostSlots& host : hosts) {
    const int local_size = std::min(host.slots, ranks - rank);
    for (int local = 0; local < local_size; ++local, ++rank) {
      ProcessStart start = StartOn(launch, host.host, secret);
      start.number = rank;
      start.variables.insert(start.variables.end(), {{"WEIR_RANK", Cat(rank)},
                                                     {"WEIR_SIZE", Cat(ranks)},
                                                     {"WEIR_LOCAL_RANK", Cat(local)},
                                                     {"WEIR_LOCAL_SIZE", Cat(local_size)},
                                                     {"WEIR_HOST", host.host},
                                                     {"WEIR_JOB", job},
                                                     {"WEIR_ADDRESS", address}});
      WEIR_RETURN_IF_ERROR(processes.Start(start));
    }
  }
  return WaitForRanks(processes);
}

}  // namespace weir

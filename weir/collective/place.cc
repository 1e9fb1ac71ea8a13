#include "weir/collective/place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "weir/base/fingerprint.h"
#include "weir/base/strings.h"
#include "weir/collective/host_list.h"

namespace weir::collective {
namespace {

struct Convention {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job[2];  // two variables that together identify the job
};

constexpr Convention kConventions[] = {
    {"weir launch", "WEIR_RANK", "WEIR_SIZE", "WEIR_LOCAL_RANK", "WEIR_LOCAL_SIZE", {"WEIR_JOB", nullptr}},
    {"Horovod",
     "HOROVOD_RANK",
     "HOROVOD_SIZE",
     "HOROVOD_LOCAL_RANK",
     "HOROVOD_LOCAL_SIZE",
     {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"}},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT"}},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", nullptr}},
    {"an MPI with Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {"PMI_ID", "PMI_PORT"}},
    {"MVAPICH2",
     "MV2_COMM_WORLD_RANK",
     "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE",
     {"MPIRUN_ID", nullptr}},
};

StatusOr<int> Number(const Variables& variables, const char* name, int absent) {
  const std::string text = name != nullptr ? variables(name) : "";
  if (text.empty()) return absent;
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0) return InvalidArgument(name, "=", text, " is not a number");
  return value;
}

// Slurm tells the number of tasks of each node, and the index of this node.
StatusOr<int> SlurmLocalSize(const Variables& variables, int size) {
  std::string list = variables("SLURM_STEP_TASKS_PER_NODE");
  if (list.empty()) list = variables("SLURM_TASKS_PER_NODE");
  if (list.empty()) return size;
  WEIR_ASSIGN_OR_RETURN(int node, Number(variables, "SLURM_NODEID", 0));
  WEIR_ASSIGN_OR_RETURN(std::vector<int> tasks, ParseSlurmTasks(list));
  if (node >= static_cast<int>(tasks.size())) {
    return InvalidArgument("SLURM_STEP_TASKS_PER_NODE=", list, " has no node ", node);
  }
  return tasks[node];
}

// Rank 0 is on the first node of the step, in Slurm's order. Steps on the same node use different ports.
StatusOr<std::string> SlurmAddress(const Variables& variables, const std::string& job) {
  std::string list = variables("SLURM_STEP_NODELIST");
  if (list.empty()) list = variables("SLURM_NODELIST");
  if (list.empty()) return std::string();
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> hosts, ParseSlurmHosts(list));
  if (hosts.empty()) return std::string();
  return Cat(hosts[0], ":", 20000 + Fingerprint64(job) % 12000);
}

// A host is where processes can share memory: two containers on one machine usually count as two hosts.
std::string ThisHost() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat memory = {};
  stat("/dev/shm", &memory);
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return Cat(name, "_", boot, "_", memory.st_dev);
}

Status FindRankZeroAddress(const Variables& variables, Place* place) {
  place->address = variables("WEIR_ADDRESS");
  place->secret = variables("WEIR_SECRET");
  if (place->secret.empty()) place->secret = place->job;
  WEIR_ASSIGN_OR_RETURN(place->tls, FindTlsOptions(variables));
  std::string node;
  if (place->launcher == "torchrun") {
    node = variables("GROUP_RANK");
    WEIR_ASSIGN_OR_RETURN(int port, Number(variables, "MASTER_PORT", 0));
    if (place->address.empty() && port > 0) {
      // In that case torchrun itself listens on the port.
      const bool taken = variables("TORCHELASTIC_USE_AGENT_STORE") == "True";
      place->address = Cat(variables("MASTER_ADDR"), ":", port + (taken ? 1 : 0));
    }
  } else if (place->launcher == "Slurm") {
    node = variables("SLURM_NODEID");
    if (place->address.empty()) {
      WEIR_ASSIGN_OR_RETURN(place->address, SlurmAddress(variables, place->job));
    }
  } else if (place->launcher == "weir launch") {
    node = variables("WEIR_HOST");
  } else if (place->launcher == "Horovod") {
    node = variables("HOROVOD_HOSTNAME");
  }
  place->host = node.empty() ? ThisHost() : node;
  return OkStatus();
}

}  // namespace

std::string ProcessVariable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

StatusOr<TlsOptions> FindTlsOptions(const Variables& variables) {
  TlsOptions tls;
  tls.certificate = variables("WEIR_TLS_CERT");
  tls.key = variables("WEIR_TLS_KEY");
  tls.ca = variables("WEIR_TLS_CA");
  const bool has_files = !tls.certificate.empty();
  if (tls.key.empty() == has_files || tls.ca.empty() == has_files) {
    return InvalidArgument("TLS with certificates needs WEIR_TLS_CERT, WEIR_TLS_KEY and WEIR_TLS_CA, all three");
  }
  const std::string word = variables("WEIR_TLS");
  if (!word.empty() && word != "0" && word != "1") return InvalidArgument("WEIR_TLS=", word, " is neither 0 nor 1");
  tls.is_on = word == "1" || (word.empty() && has_files);
  if (tls.is_on && !has_files && variables("WEIR_SECRET").empty()) {
    return InvalidArgument("WEIR_TLS=1 needs a secret that only this job's processes know: set WEIR_SECRET");
  }
  return tls;
}

StatusOr<Place> FindPlace(const Variables& variables) {
  for (const Convention& convention : kConventions) {
    if (variables(convention.rank).empty() || variables(convention.size).empty()) continue;
    Place place;
    place.launcher = convention.launcher;
    WEIR_ASSIGN_OR_RETURN(place.rank, Number(variables, convention.rank, 0));
    WEIR_ASSIGN_OR_RETURN(place.size, Number(variables, convention.size, 1));
    WEIR_ASSIGN_OR_RETURN(place.local_rank, Number(variables, convention.local_rank, place.rank));
    if (convention.local_size != nullptr) {
      WEIR_ASSIGN_OR_RETURN(place.local_size, Number(variables, convention.local_size, place.size));
    } else {
      WEIR_ASSIGN_OR_RETURN(place.local_size, SlurmLocalSize(variables, place.size));
    }
    for (const char* name : convention.job) {
      if (name != nullptr) place.job += Cat(place.job.empty() ? "" : "_", variables(name));
    }
    if (place.size < 1 || place.rank >= place.size || place.local_size > place.size ||
        place.local_rank >= place.local_size) {
      return InvalidArgument(convention.launcher, " says rank ", place.rank, " of ", place.size, " and local rank ",
                             place.local_rank, " of ", place.local_size, " (", convention.rank, ", ", convention.size,
                             ", ...), which is impossible");
    }
    WEIR_RETURN_IF_ERROR(FindRankZeroAddress(variables, &place));
    const std::string transport = variables("WEIR_TRANSPORT");
    if (transport == "mpi") {
      place.transport = Transport::kMpi;
    } else if (!transport.empty() && transport != "direct") {
      return InvalidArgument("WEIR_TRANSPORT=", transport, " is neither direct nor mpi");
    }
    return place;
  }
  if (!variables("WEIR_ELASTIC").empty()) {
    return FailedPrecondition("This process was started by weir launch --elastic: its ranks are given by ",
                              "weir::collective::RunElastic (docs/guide/hpc.md), not by Init");
  }
  Place alone;
  alone.launcher = "none";
  return alone;
}

}  // namespace weir::collective

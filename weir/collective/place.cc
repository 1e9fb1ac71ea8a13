#include "weir/collective/place.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

struct Convention {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job[2];  // variables that together name the job
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

// Slurm says how many tasks each node has, as "2(x3),1", and the number of this node.
StatusOr<int> SlurmLocalSize(const Variables& variables, int size) {
  std::string list = variables("SLURM_STEP_TASKS_PER_NODE");
  if (list.empty()) list = variables("SLURM_TASKS_PER_NODE");
  if (list.empty()) return size;
  WEIR_ASSIGN_OR_RETURN(int node, Number(variables, "SLURM_NODEID", 0));
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const size_t times = entry.find("(x");
    int tasks = 0;
    int nodes = 1;
    bool good = absl::SimpleAtoi(ToAbsl(entry.substr(0, times)), &tasks) && tasks > 0;
    if (times != entry.npos) {
      good = good && entry.ends_with(')') &&
             absl::SimpleAtoi(ToAbsl(entry.substr(times + 2, entry.size() - times - 3)), &nodes) && nodes > 0;
    }
    if (!good) return InvalidArgument("SLURM_STEP_TASKS_PER_NODE=", list, " is not a list such as 2(x3),1");
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return InvalidArgument("SLURM_STEP_TASKS_PER_NODE=", list, " has no node ", variables("SLURM_NODEID"));
}

}  // namespace

std::string ProcessVariable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
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
                             ", ...), which cannot be");
    }
    return place;
  }
  Place alone;
  alone.launcher = "none";
  return alone;
}

}  // namespace weir::collective

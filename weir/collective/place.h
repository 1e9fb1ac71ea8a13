// Place: which rank a process is, as its launcher says: `weir launch`, torchrun, Horovod's, srun, or an mpirun.
#ifndef WEIR_COLLECTIVE_PLACE_H_
#define WEIR_COLLECTIVE_PLACE_H_

#include <functional>
#include <string>

#include "weir/base/status.h"

namespace weir::collective {

struct Place {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  std::string job;       // the same for all ranks of a job, another one for every job
  std::string launcher;  // for messages: "weir launch", "Open MPI", "Slurm", ...
};

// The value of an environment variable; empty if it is not set.
using Variables = std::function<std::string(const char* name)>;
std::string ProcessVariable(const char* name);

// Looks for WEIR_RANK, HOROVOD_RANK, RANK (torchrun), SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK (MPICH, Intel MPI)
// and MV2_COMM_WORLD_RANK (MVAPICH2), in this order, and for the sizes beside it. Without any of them the process is
// alone. INVALID_ARGUMENT if the variables contradict each other.
StatusOr<Place> FindPlace(const Variables& variables = ProcessVariable);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_PLACE_H_

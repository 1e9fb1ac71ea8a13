// Place: the rank of a process, as told by its launcher: `weir launch`, torchrun, Horovod's, srun, or an mpirun.
#ifndef WEIR_COLLECTIVE_PLACE_H_
#define WEIR_COLLECTIVE_PLACE_H_

#include <functional>
#include <string>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {
namespace collective {

// TLS on connections between the processes of a job.
struct TlsOptions {
  bool is_on = false;
  // PEM files: this process's certificate and its private key, and the CA that has signed everybody's. None of them:
  // the job's secret is the key.
  std::string certificate, key, ca;
};

// How ranks exchange data.
enum class Transport {
  kDirect,  // over shared memory and TCP connections of weir's own
  kMpi,     // by Open MPI's library
};

struct Place {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_size = 1;
  std::string job;       // the same for all ranks of a job; differs between jobs
  std::string launcher;  // for messages: "weir launch", "Open MPI", "Slurm", ...
  // For jobs on several hosts:
  std::string host;     // the same for all ranks of a host; differs between hosts
  std::string address;  // host:port where rank 0 listens; empty: published through PMIx
  std::string secret;   // known only to the processes of the job
  int listener = -1;    // for rank 0: a socket that already listens at the address; the group takes ownership. -1: none
  TlsOptions tls;
  Transport transport = Transport::kDirect;
};

// The value of an environment variable; empty if it is not set.
using Variables = std::function<std::string(const char* name)>;
std::string ProcessVariable(const char* name);

// Looks for WEIR_RANK, HOROVOD_RANK, RANK (torchrun), SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK (MPICH, Intel MPI)
// and MV2_COMM_WORLD_RANK (MVAPICH2), in this order, and for the corresponding sizes. Without any of them, the process
// is the only rank. INVALID_ARGUMENT if the variables contradict each other, FAILED_PRECONDITION in an elastic job
// (elastic.h).
//
// Rank 0 is found at WEIR_ADDRESS if that is set, else at torchrun's MASTER_ADDR and MASTER_PORT (the next port if
// torchrun's own store uses that one), or on the first node of SLURM_STEP_NODELIST at a port derived from the job's
// number. The secret is WEIR_SECRET, or else the job's name, which prevents accidents but not attacks. WEIR_TLS=1 turns
// TLS on, with the secret as its key; WEIR_TLS_CERT, WEIR_TLS_KEY and WEIR_TLS_CA name files to use instead.
// WEIR_TRANSPORT=mpi chooses the transport ("direct": the default).
StatusOr<Place> FindPlace(const Variables& variables = ProcessVariable);
// Its `tls` alone. INVALID_ARGUMENT if TLS is on without WEIR_SECRET and without all three files.
StatusOr<TlsOptions> FindTlsOptions(const Variables& variables);

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_PLACE_H_

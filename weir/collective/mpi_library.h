// The C library of Open MPI, loaded when a program asks for MPI as its transport (WEIR_TRANSPORT=mpi).
//
// MPI has no binary interface that all implementations share: the handles of Open MPI are addresses of its symbols,
// those of MPICH and its relatives are numbers. Only Open MPI is supported; other libraries are recognised and named in
// the error.
//
// A thread of this class starts MPI and ends it, as MPI wants it to be one thread that does both. If MPI lets threads
// call it one after the other (MPI_THREAD_SERIALIZED or more), calls are made on the threads that need them; otherwise
// on that thread.
#ifndef WEIR_COLLECTIVE_MPI_LIBRARY_H_
#define WEIR_COLLECTIVE_MPI_LIBRARY_H_

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "weir/base/status.h"

namespace weir::collective {

using MpiHandle = void*;  // of a communicator, group, type, operation or request

// MPI_Status of Open MPI.
struct MpiStatus {
  int source;
  int tag;
  int error;
  int cancelled;
  size_t bytes;
};

#define WEIR_MPI_FUNCTIONS(X)                                                                                   \
  X(Initialized, (int* flag))                                                                                   \
  X(Query_thread, (int* provided))                                                                              \
  X(Init_thread, (int* argc, char*** argv, int required, int* provided))                                        \
  X(Finalize, ())                                                                                               \
  X(Comm_rank, (MpiHandle comm, int* rank))                                                                     \
  X(Comm_size, (MpiHandle comm, int* size))                                                                     \
  X(Comm_idup, (MpiHandle comm, MpiHandle * out, MpiHandle * request))                                          \
  X(Comm_group, (MpiHandle comm, MpiHandle * group))                                                            \
  X(Comm_create_group, (MpiHandle comm, MpiHandle group, int tag, MpiHandle* out))                              \
  X(Comm_set_errhandler, (MpiHandle comm, MpiHandle handler))                                                   \
  X(Comm_free, (MpiHandle * comm))                                                                              \
  X(Group_incl, (MpiHandle group, int count, const int* ranks, MpiHandle* out))                                 \
  X(Group_free, (MpiHandle * group))                                                                            \
  X(Error_string, (int code, char* text, int* length))                                                          \
  X(Isend, (const void* data, int count, MpiHandle type, int to, int tag, MpiHandle comm, MpiHandle* request))  \
  X(Irecv, (void* data, int count, MpiHandle type, int from, int tag, MpiHandle comm, MpiHandle* request))      \
  X(Recv, (void* data, int count, MpiHandle type, int from, int tag, MpiHandle comm, MpiStatus* status))        \
  X(Iprobe, (int from, int tag, MpiHandle comm, int* flag, MpiStatus* status))                                  \
  X(Testall, (int count, MpiHandle* requests, int* flag, MpiStatus* statuses))                                  \
  X(Ibcast, (void* data, int count, MpiHandle type, int root, MpiHandle comm, MpiHandle* request))              \
  X(Iallgatherv, (const void* data, int count, MpiHandle type, void* all, const int* counts, const int* begins, \
                  MpiHandle all_type, MpiHandle comm, MpiHandle* request))                                      \
  X(Iallreduce,                                                                                                 \
    (const void* data, void* result, int count, MpiHandle type, MpiHandle op, MpiHandle comm, MpiHandle* request))

#define WEIR_MPI_SYMBOLS(X)                \
  X(world, ompi_mpi_comm_world)            \
  X(errors_return, ompi_mpi_errors_return) \
  X(byte, ompi_mpi_byte)                   \
  X(float32, ompi_mpi_float)               \
  X(float64, ompi_mpi_double)              \
  X(int32, ompi_mpi_int32_t)               \
  X(int64, ompi_mpi_int64_t)               \
  X(sum, ompi_mpi_op_sum)                  \
  X(product, ompi_mpi_op_prod)             \
  X(minimum, ompi_mpi_op_min)              \
  X(maximum, ompi_mpi_op_max)

class Mpi {
 public:
  // Loads the library and starts MPI, unless that has happened. FAILED_PRECONDITION with what to do if there is no Open
  // MPI. MPI ends with the process, unless Abandon was called.
  static StatusOr<Mpi*> Start();

  // Runs `work`, which may call MPI, while no other thread does, and returns its result.
  Status Run(const std::function<Status()>& work);
  // OK for a return code of 0; else UNAVAILABLE with MPI's own text.
  Status Check(int code, std::string_view what) const;
  // Makes no more calls, and does not end MPI with the process: other ranks have been lost, and it would wait for them.
  // What it was told to receive stays unfinished, in memory that may no longer be there. mpirun ends the job.
  void Abandon();

#define WEIR_MPI_MEMBER(name, parameters) int(*name) parameters = nullptr;
  WEIR_MPI_FUNCTIONS(WEIR_MPI_MEMBER)
#undef WEIR_MPI_MEMBER
#define WEIR_MPI_MEMBER(name, symbol) MpiHandle name = nullptr;
  WEIR_MPI_SYMBOLS(WEIR_MPI_MEMBER)
#undef WEIR_MPI_MEMBER

 private:
  Status Load();
  Status Begin();
  void ThreadLoop();
  void End();

  bool is_ours_ = false;  // MPI was started here
  bool is_serialized_ = false;
  absl::Mutex calls_;  // held while MPI is called on threads of others
  absl::Mutex mu_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool is_abandoned_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_MPI_LIBRARY_H_

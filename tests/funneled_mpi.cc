// Open MPI as it would be if it let only one thread call it: says so when it is started, and ends the process if
// another thread calls it nevertheless. All other functions are those of the library that this one depends on.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kFunneled = 1;
pid_t thread = 0;

void CheckThread(const char* function) {
  if (gettid() == thread) return;
  std::fprintf(stderr, "%s was called on another thread\n", function);
  std::_Exit(9);
}

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define WEIR_EXPORT extern "C" __attribute__((visibility("default")))

WEIR_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  thread = gettid();
  const int code = Real<int (*)(int*, char***, int, int*)>("MPI_Init_thread")(argc, argv, required, provided);
  *provided = kFunneled;
  return code;
}

WEIR_EXPORT int MPI_Testall(int count, void** requests, int* flag, void* statuses) {
  CheckThread("MPI_Testall");
  return Real<int (*)(int, void**, int*, void*)>("MPI_Testall")(count, requests, flag, statuses);
}

WEIR_EXPORT int MPI_Iprobe(int from, int tag, void* comm, int* flag, void* status) {
  CheckThread("MPI_Iprobe");
  return Real<int (*)(int, int, void*, int*, void*)>("MPI_Iprobe")(from, tag, comm, flag, status);
}

WEIR_EXPORT int MPI_Finalize() {
  CheckThread("MPI_Finalize");
  return Real<int (*)()>("MPI_Finalize")();
}

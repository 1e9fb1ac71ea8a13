#include "weir/collective/mpi_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/synchronization/notification.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

// MPI's levels of threads.
constexpr int kSerialized = 2, kMultiple = 3;

// The first line of what the library says about itself.
std::string VersionOf(void* library) {
  auto version = reinterpret_cast<int (*)(char*, int*)>(dlsym(library, "MPI_Get_library_version"));
  char text[8192] = "";  // the most that any of the implementations writes
  int length = 0;
  if (version == nullptr || version(text, &length) != 0) return "an unknown MPI";
  const std::string_view whole(text);
  return std::string(whole.substr(0, whole.find('\n')));
}

}  // namespace

Status Mpi::Load() {
  void* library = nullptr;
  std::string reason;
  const char* named = std::getenv("WEIR_MPI_LIBRARY");
  for (const char* name : {named, "libmpi.so.40", "libmpi.so"}) {
    if (library != nullptr || name == nullptr) continue;
    // Global, because Open MPI's own plugins look for its symbols.
    library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) reason += Cat(reason.empty() ? "" : "; ", dlerror());
    if (named != nullptr) break;
  }
  if (library == nullptr) {
    return FailedPrecondition("WEIR_TRANSPORT=mpi needs Open MPI's library, which cannot be loaded (", reason,
                              "): install it (Debian: libopenmpi3), or name it in WEIR_MPI_LIBRARY");
  }
  if (dlsym(library, "ompi_mpi_comm_world") == nullptr) {
    return FailedPrecondition("WEIR_TRANSPORT=mpi supports Open MPI, but the library found is ", VersionOf(library),
                              ", whose binary interface is another one: start the program by Open MPI's mpirun, name "
                              "its library in WEIR_MPI_LIBRARY, or leave WEIR_TRANSPORT out");
  }
#define WEIR_MPI_LOAD(name, parameters)                                     \
  name = reinterpret_cast<int(*) parameters>(dlsym(library, "MPI_" #name)); \
  if (name == nullptr) return FailedPrecondition("Open MPI has no MPI_" #name ": it is too old");
  WEIR_MPI_FUNCTIONS(WEIR_MPI_LOAD)
#undef WEIR_MPI_LOAD
#define WEIR_MPI_LOAD(name, symbol) \
  name = dlsym(library, #symbol);   \
  if (name == nullptr) return FailedPrecondition("Open MPI has no " #symbol);
  WEIR_MPI_SYMBOLS(WEIR_MPI_LOAD)
#undef WEIR_MPI_LOAD
  return OkStatus();
}

Status Mpi::Begin() {
  int is_running = 0, level = 0;
  WEIR_RETURN_IF_ERROR(Check(Initialized(&is_running), "MPI_Initialized"));
  if (is_running != 0) {
    WEIR_RETURN_IF_ERROR(Check(Query_thread(&level), "MPI_Query_thread"));
    if (level < kMultiple) {
      return FailedPrecondition("This program has started MPI without MPI_THREAD_MULTIPLE, so weir cannot use it from ",
                                "its own threads: ask for that level in MPI_Init_thread, or let weir start MPI");
    }
  } else {
    WEIR_RETURN_IF_ERROR(Check(Init_thread(nullptr, nullptr, kMultiple, &level), "MPI_Init_thread"));
    is_ours_ = true;
  }
  is_serialized_ = level >= kSerialized;
  return Check(Comm_set_errhandler(world, errors_return), "MPI_Comm_set_errhandler");
}

StatusOr<Mpi*> Mpi::Start() {
  static Mpi* const mpi = new Mpi;  // never destroyed: threads may still use it at the end of the process
  static const Status started = []() -> Status {
    WEIR_RETURN_IF_ERROR(mpi->Load());
    Status begun;
    absl::Notification has_begun;
    mpi->thread_ = std::thread([&] {
      begun = mpi->Begin();
      const bool runs = begun.ok();
      has_begun.Notify();
      if (runs) mpi->ThreadLoop();
    });
    has_begun.WaitForNotification();
    if (!begun.ok()) {
      mpi->thread_.join();
      return begun;
    }
    std::atexit([] { mpi->End(); });
    return OkStatus();
  }();
  if (!started.ok()) return started;
  return mpi;
}

void Mpi::ThreadLoop() {
  for (;;) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mu_);
      auto is_wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return stopping_ || !work_.empty(); };
      mu_.Await(absl::Condition(&is_wanted));
      if (work_.empty()) break;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
  bool ends = is_ours_;
  {
    absl::MutexLock lock(&mu_);
    ends = ends && !is_abandoned_;
  }
  if (ends) Finalize();
}

void Mpi::End() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Mpi::Abandon() {
  absl::MutexLock lock(&mu_);
  is_abandoned_ = true;
}

Status Mpi::Run(const std::function<Status()>& work) {
  {
    absl::MutexLock lock(&mu_);
    if (is_abandoned_) return Unavailable("MPI cannot be used any more in this process: other ranks have been lost");
  }
  if (is_serialized_) {
    absl::MutexLock lock(&calls_);
    return work();
  }
  Status status;
  absl::Notification done;
  {
    absl::MutexLock lock(&mu_);
    if (stopping_) return Cancelled("MPI has ended");
    work_.push_back([&] {
      status = work();
      done.Notify();
    });
  }
  done.WaitForNotification();
  return status;
}

Status Mpi::Check(int code, std::string_view what) const {
  if (code == 0) return OkStatus();
  char text[512] = "";
  int length = 0;
  Error_string(code, text, &length);
  return Unavailable(what, " fails with ", code, ": ", text);
}

}  // namespace weir::collective

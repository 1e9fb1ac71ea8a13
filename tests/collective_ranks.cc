// A program for tests of launchers: a rank of a job that uses every kind of call between processes, checks the results,
// and prints where it is. Arguments: seconds of time-out, then `die RANK`, `sleep RANK`, `fail RANK` (exit 3,
// while the others wait for nothing but a signal), or nothing.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/process_group.h"

namespace weir::collective {
namespace {

Status Check(bool good, std::string_view what) { return good ? OkStatus() : Internal(what, " is wrong"); }

Status Run(ProcessGroup& group) {
  const int n = group.size(), r = group.rank();
  for (const int64_t count : {1, 1000, 100'000, 3'000'000}) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(DType::kFloat, Shape({count})));
    for (int64_t i = 0; i < count; ++i) value.data<float>()[i] = static_cast<float>(i % 100 + r);
    WEIR_RETURN_IF_ERROR(group.AllReduceInPlace(&value, {.op = ReduceOp::kSum}));
    for (int64_t i = 0; i < count; ++i) {
      WEIR_RETURN_IF_ERROR(
          Check(value.data<float>()[i] == static_cast<float>(n * (i % 100) + n * (n - 1) / 2), "a sum"));
    }
  }
  WEIR_ASSIGN_OR_RETURN(Tensor ranks, group.AllGather(Tensor::Vector<int32_t>({r})));
  for (int i = 0; i < n; ++i) WEIR_RETURN_IF_ERROR(Check(ranks.data<int32_t>()[i] == i, "the gathered ranks"));
  WEIR_ASSIGN_OR_RETURN(Tensor last, group.Broadcast(Tensor::Scalar<int32_t>(r), n - 1));
  WEIR_RETURN_IF_ERROR(Check(last.scalar<int32_t>() == n - 1, "the broadcast"));
  std::vector<int32_t> rows(n, r);
  WEIR_ASSIGN_OR_RETURN(Tensor swapped, group.AllToAll(Tensor::Vector<int32_t>(std::span<const int32_t>(rows))));
  for (int i = 0; i < n; ++i) WEIR_RETURN_IF_ERROR(Check(swapped.data<int32_t>()[i] == i, "the exchange"));
  std::printf("rank %d of %d, %d of %d on host %d of %d (%s)\n", r, n, group.local_rank(), group.local_size(),
              group.host(), group.num_hosts(), group.place().launcher.c_str());
  std::fflush(stdout);
  return group.Barrier();
}

int Main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 60;
  auto group = ProcessGroup::Init({.timeout = absl::Seconds(seconds)});
  Status status = group.ok() ? Run(**group) : group.status();
  if (status.ok() && argc > 3) {
    const bool fails = std::strcmp(argv[2], "fail") == 0;
    if (std::atoi(argv[3]) == (*group)->rank()) {
      if (std::strcmp(argv[2], "die") == 0) kill(getpid(), SIGKILL);
      if (fails) _exit(3);
      pause();
    }
    // In a barrier it would see that its peer is gone, and might be the first whose failure the launcher sees.
    if (fails) pause();
    status = (*group)->Barrier();
  }
  if (!status.ok()) std::printf("error: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace weir::collective

int main(int argc, char** argv) { return weir::collective::Main(argc, argv); }

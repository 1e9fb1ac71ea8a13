#include "weir/distributed/host_memory.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace weir {
namespace {

// The machine since it started, the namespace that process ids belong to, and the user.
std::string FindIdentity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat pids;
  if (boot.empty() || stat("/proc/self/ns/pid", &pids) != 0) return "";
  return Cat(boot, ":", static_cast<uint64_t>(pids.st_ino), ":", geteuid());
}

}  // namespace

const std::string& HostIdentity() {
  static const auto* identity = new std::string(FindIdentity());
  return *identity;
}

void AllowPeersToRead() {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // unknown to kernels without Yama, which ask for nothing
#endif
}

HostMemory DescribeMemory(const Tensor& tensor) {
  return {getpid(), reinterpret_cast<uint64_t>(tensor.raw_data()), tensor.dtype(), tensor.shape()};
}

StatusOr<Tensor> ReadHostMemory(const HostMemory& memory) {
  if (!IsPlain(memory.dtype)) return InvalidArgument("Tensors of type ", Name(memory.dtype), " have no plain bytes");
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(memory.dtype, memory.shape));
  char* to = static_cast<char*>(out.raw_data());
  const size_t size = out.num_bytes();
  for (size_t done = 0; done < size;) {
    iovec local{to + done, size - done};
    iovec remote{reinterpret_cast<void*>(memory.address + done), size - done};
    ssize_t count = process_vm_readv(static_cast<pid_t>(memory.process), &local, 1, &remote, 1, 0);
    if (count <= 0) return Unavailable("cannot read the memory of process ", memory.process, ": ", strerror(errno));
    done += static_cast<size_t>(count);
  }
  return out;
}

void HeldTensors::Hold(int64_t step_id, int64_t request_id, Tensor tensor) {
  absl::MutexLock lock(&mu_);
  held_[request_id] = {step_id, std::move(tensor)};
}

Tensor HeldTensors::Take(int64_t request_id) {
  absl::MutexLock lock(&mu_);
  auto found = held_.find(request_id);
  if (found == held_.end()) return Tensor();
  Tensor tensor = std::move(found->second.tensor);
  held_.erase(found);
  return tensor;
}

Tensor HeldTensors::Look(int64_t request_id) {
  absl::MutexLock lock(&mu_);
  auto found = held_.find(request_id);
  return found != held_.end() ? found->second.tensor : Tensor();
}

bool HeldTensors::HasStep(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) { return entry.second.step_id == step_id; });
}

void HeldTensors::ForgetStep(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  absl::erase_if(held_, [step_id](const auto& entry) { return entry.second.step_id == step_id; });
}

}  // namespace weir

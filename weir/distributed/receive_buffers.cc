#include "weir/distributed/receive_buffers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "weir/tensor/memory_charge.h"

namespace weir {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxCapacity = size_t{1} << 46;

// Eight sizes per power of two, so that a tensor whose size varies a little can reuse a buffer.
size_t CapacityFor(size_t bytes) {
  if (bytes > kMaxCapacity) return SIZE_MAX;
  const size_t step = std::max(kPage, std::bit_floor(std::max<size_t>(bytes, 1)) / 8);
  return (bytes + step - 1) / step * step;
}

// Allocates memory with all its pages, which are charged to this process. Its size can no longer change.
StatusOr<void*> MakeMemory(size_t capacity, UniqueFd* file) {
  auto fail = [] { return Unavailable("no shared memory: ", strerror(errno)); };
  if (capacity > kMaxCapacity) return Unavailable("no shared memory of ", capacity, " bytes");
  *file = UniqueFd(memfd_create("weir_receive", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file->valid() || ftruncate(file->get(), static_cast<off_t>(capacity)) != 0) return fail();
  if (fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return fail();
  void* memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file->get(), 0);
  if (memory == MAP_FAILED) return fail();
  return memory;
}

}  // namespace

ReceiveBuffers::Buffer::~Buffer() { munmap(memory_, capacity_); }

size_t ReceiveBuffers::num_idle() const {
  absl::MutexLock lock(&mu_);
  return idle_.size();
}

ReceiveBuffers::Lease ReceiveBuffers::TakeIdle(size_t bytes) {
  absl::MutexLock lock(&mu_);
  auto best = idle_.end();
  for (auto each = idle_.begin(); each != idle_.end(); ++each) {
    if ((*each)->capacity_ < bytes || (*each)->capacity_ / 2 > bytes) continue;
    if (best == idle_.end() || (*each)->capacity_ < (*best)->capacity_) best = each;
  }
  if (best == idle_.end()) return nullptr;
  Buffer* found = best->release();
  idle_.erase(best);
  idle_bytes_ -= found->capacity_;
  return MakeLease(found);
}

StatusOr<ReceiveBuffers::Lease> ReceiveBuffers::MakeNew(size_t bytes, const std::string& socket) {
  std::list<std::unique_ptr<Buffer>> dropped;  // outlives the lock: freeing takes time
  {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(Connect(socket, &dropped));
  }
  HandedBuffer handed;
  handed.bytes = CapacityFor(bytes);
  WEIR_ASSIGN_OR_RETURN(void* memory, MakeMemory(handed.bytes, &handed.memory));
  absl::MutexLock lock(&mu_);
  handed.id = next_id_++;
  std::unique_ptr<Buffer> buffer(new Buffer(num_connections_, handed.id, memory, handed.bytes));
  WEIR_RETURN_IF_ERROR(Hand(std::move(handed), &dropped));
  return MakeLease(buffer.release());
}

void ReceiveBuffers::Return(Lease lease) {
  if (lease != nullptr) GiveBack(std::unique_ptr<Buffer>(lease.release()));
}

StatusOr<Tensor> ReceiveBuffers::ToTensor(Lease lease, DType dtype, const Shape& shape) {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * SizeOf(dtype);
  if (!ChargeCpuMemory(bytes)) {
    Return(std::move(lease));
    return ResourceExhausted("OOM when receiving a tensor with shape", shape.ToString(), " and type ", Name(dtype));
  }
  Buffer* buffer = lease.release();
  return Tensor::Wrap(
      dtype, shape, buffer->memory_,
      [self = shared_from_this(), buffer, bytes] {
        DischargeCpuMemory(bytes);
        self->GiveBack(std::unique_ptr<Buffer>(buffer));
      },
      /*writable=*/true);
}

void ReceiveBuffers::GiveBack(std::unique_ptr<Buffer> buffer) {
  std::list<std::unique_ptr<Buffer>> dropped;
  absl::MutexLock lock(&mu_);
  if (!IsCurrent(*buffer)) {
    dropped.push_back(std::move(buffer));
    return;
  }
  idle_bytes_ += buffer->capacity_;
  idle_.push_front(std::move(buffer));
  while (idle_bytes_ > kIdleReceiveBytes && idle_.size() > 1) {
    dropped.splice(dropped.end(), idle_, std::prev(idle_.end()));
    idle_bytes_ -= dropped.back()->capacity_;
    if (!Hand({.id = dropped.back()->id_}, &dropped).ok()) return;
  }
}

void ReceiveBuffers::Discard(std::unique_ptr<Buffer> buffer) {
  if (buffer == nullptr) return;
  std::list<std::unique_ptr<Buffer>> dropped;
  absl::MutexLock lock(&mu_);
  if (IsCurrent(*buffer)) Hand({.id = buffer->id_}, &dropped).IgnoreError();
  dropped.push_back(std::move(buffer));
}

void ReceiveBuffers::Close() {
  std::list<std::unique_ptr<Buffer>> dropped;
  absl::MutexLock lock(&mu_);
  closed_ = true;
  HangUp(&dropped);
}

void ReceiveBuffers::HangUp(std::list<std::unique_ptr<Buffer>>* dropped) {
  dropped->splice(dropped->end(), idle_);
  idle_bytes_ = 0;
  connection_ = UniqueFd();
  socket_.clear();
}

Status ReceiveBuffers::Connect(const std::string& socket, std::list<std::unique_ptr<Buffer>>* dropped) {
  if (closed_) return Unavailable("the task is shutting down");
  if (socket == socket_) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(UniqueFd connection, ConnectForBuffers(socket));
  WEIR_RETURN_IF_ERROR(CheckSameUser(connection.get()));
  HangUp(dropped);
  connection_ = std::move(connection);
  ++num_connections_;
  socket_ = socket;
  return OkStatus();
}

Status ReceiveBuffers::Hand(HandedBuffer buffer, std::list<std::unique_ptr<Buffer>>* dropped) {
  buffer.key = key_;
  Status sent = SendBuffer(connection_.get(), buffer);
  if (!sent.ok()) HangUp(dropped);
  return sent;
}

}  // namespace weir

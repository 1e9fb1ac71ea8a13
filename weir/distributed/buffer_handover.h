// How a receiver gives a sender on the same machine access to its memory: a Unix domain socket carries file
// descriptors. The kernel tells which user is at the other end.
#ifndef WEIR_DISTRIBUTED_BUFFER_HANDOVER_H_
#define WEIR_DISTRIBUTED_BUFFER_HANDOVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/status.h"

namespace weir {

// Closes a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Tasks that give the same text can hand each other memory: they run on the same machine, in the same network
// namespace and as the same user. Empty if that cannot be known.
const std::string& HostIdentity();

// A secret of 128 random bits that identifies a connection: the receiver sends it with its request for a tensor and
// again with the memory.
inline constexpr size_t kBufferKeyBytes = 16;
std::string MakeBufferKey();

// A buffer of a receiver.
struct HandedBuffer {
  std::string key;
  uint64_t id = 0;     // chosen by the receiver, never 0, never reused
  uint64_t bytes = 0;  // its size
  UniqueFd memory;     // none: the receiver revokes the buffer
};
// Never block. Sending fails with UNAVAILABLE. Receiving returns nothing if no message has arrived, and UNAVAILABLE if
// the other end has closed the connection or sent a malformed message.
Status SendBuffer(int connection, const HandedBuffer& buffer);
StatusOr<std::optional<HandedBuffer>> ReceiveBuffer(int connection);

// A listening socket under a random name in `name`, and a connection to such a name. Never block.
StatusOr<UniqueFd> ListenForBuffers(std::string* name);
StatusOr<UniqueFd> ConnectForBuffers(const std::string& name);
// PERMISSION_DENIED unless the process at the other end of a connection belongs to this process's user.
Status CheckSameUser(int connection);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_BUFFER_HANDOVER_H_

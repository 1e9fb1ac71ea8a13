#include "weir/distributed/buffer_handover.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/escaping.h"

namespace weir {
namespace {

constexpr char kMagic[8] = {'w', 'e', 'i', 'r', 'b', 'u', 'f', '1'};
constexpr int kBacklog = 128;

// A message on the connection. Both ends are on the same machine, so it is sent in its memory layout.
struct BufferMessage {
  char magic[sizeof(kMagic)];
  char key[kBufferKeyBytes];
  uint64_t id;
  uint64_t bytes;
};

Status SystemError(std::string_view what) { return Unavailable(what, ": ", strerror(errno)); }

// Identifies the machine and its last boot, the network namespace that local sockets belong to, and the user.
std::string FindIdentity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network;
  if (boot.empty() || stat("/proc/self/ns/net", &network) != 0) return "";
  return Cat(boot, ":", static_cast<uint64_t>(network.st_ino), ":", geteuid());
}

// An abstract socket address: it has no file, and disappears with the socket.
StatusOr<socklen_t> MakeAddress(const std::string& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof(address->sun_path)) {
    return Unavailable("'", absl::CHexEscape(name), "' is not a socket name");
  }
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

StatusOr<UniqueFd> NewSocket() {
  UniqueFd out(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.valid()) return SystemError("cannot make a local socket");
  return out;
}

// Takes the descriptor that came with a message. Because of alignment there is room for two; if two came, both are
// closed.
UniqueFd TakeDescriptor(msghdr* header) {
  UniqueFd out;
  for (cmsghdr* each = CMSG_FIRSTHDR(header); each != nullptr; each = CMSG_NXTHDR(header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(each) + i * sizeof(fd), sizeof(fd));
      UniqueFd received(fd);
      if (count == 1) out = std::move(received);
    }
  }
  return out;
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

const std::string& HostIdentity() {
  static const auto* identity = new std::string(FindIdentity());
  return *identity;
}

std::string MakeBufferKey() {
  std::string key(kBufferKeyBytes, '\0');
  for (size_t done = 0; done < key.size();) {
    ssize_t count = getrandom(key.data() + done, key.size() - done, 0);
    if (count > 0) done += static_cast<size_t>(count);
  }
  return key;
}

Status SendBuffer(int connection, const HandedBuffer& buffer) {
  BufferMessage message{{}, {}, buffer.id, buffer.bytes};
  std::memcpy(message.magic, kMagic, sizeof(kMagic));
  std::memcpy(message.key, buffer.key.data(), std::min(buffer.key.size(), sizeof(message.key)));
  iovec bytes{&message, sizeof(message)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  if (buffer.memory.valid()) {
    header.msg_control = space;
    header.msg_controllen = sizeof(space);
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = buffer.memory.get();
    std::memcpy(CMSG_DATA(control), &fd, sizeof(fd));
  }
  if (sendmsg(connection, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(message)) return OkStatus();
  return SystemError("cannot hand a buffer over");
}

StatusOr<std::optional<HandedBuffer>> ReceiveBuffer(int connection) {
  BufferMessage message{};
  iovec bytes{&message, sizeof(message)};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof(space);
  const ssize_t count = recvmsg(connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return std::nullopt;
  if (count < 0) return SystemError("cannot receive a buffer");
  HandedBuffer out;
  out.memory = TakeDescriptor(&header);
  if (count == 0) return Unavailable("the connection is closed");
  if (count != sizeof(message) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || message.id == 0 ||
      std::memcmp(message.magic, kMagic, sizeof(kMagic)) != 0) {
    return Unavailable("a message is malformed");
  }
  out.key.assign(message.key, sizeof(message.key));
  out.id = message.id;
  out.bytes = message.bytes;
  return out;
}

StatusOr<UniqueFd> ListenForBuffers(std::string* name) {
  WEIR_ASSIGN_OR_RETURN(UniqueFd out, NewSocket());
  const std::string key = MakeBufferKey();
  *name = Cat("weir-", std::string(absl::BytesToHexString(ToAbsl(key))));
  sockaddr_un address;
  WEIR_ASSIGN_OR_RETURN(socklen_t size, MakeAddress(*name, &address));
  if (bind(out.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(out.get(), kBacklog) != 0) {
    return SystemError("cannot listen on a local socket");
  }
  return out;
}

StatusOr<UniqueFd> ConnectForBuffers(const std::string& name) {
  WEIR_ASSIGN_OR_RETURN(UniqueFd out, NewSocket());
  sockaddr_un address;
  WEIR_ASSIGN_OR_RETURN(socklen_t size, MakeAddress(name, &address));
  if (connect(out.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return SystemError(Cat("cannot connect to the local socket '", std::string(absl::CHexEscape(name)), "'"));
  }
  return out;
}

Status CheckSameUser(int connection) {
  ucred other{};
  socklen_t size = sizeof(other);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) {
    return SystemError("cannot tell whose process is at the other end of a local socket");
  }
  if (other.uid == geteuid()) return OkStatus();
  return PermissionDenied("the process ", other.pid, " at the other end of a local socket belongs to user ", other.uid,
                          ", this one to user ", geteuid());
}

}  // namespace weir

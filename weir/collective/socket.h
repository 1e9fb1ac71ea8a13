// Sockets between the processes of a job: non-blocking TCP over IPv4 or IPv6. Every wait has a deadline.
#ifndef WEIR_COLLECTIVE_SOCKET_H_
#define WEIR_COLLECTIVE_SOCKET_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "weir/base/status.h"

namespace weir::collective {

// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  int file() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  void Close();
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_ = -1;
};

struct Endpoint {
  std::string host;  // a name or an address
  int port = 0;
  std::string ToString() const;
};
// "host:port"; an IPv6 address is written in brackets.
StatusOr<Endpoint> ParseEndpoint(std::string_view text);

// Called during waits; an error ends the wait. May be empty.
using Alarm = std::function<Status()>;

// Listens on all interfaces. Port 0: any free port.
StatusOr<Socket> Listen(int port);
int PortOf(const Socket& socket);
// The numeric address of this end, and of the other.
std::string LocalAddress(const Socket& socket);
std::string RemoteAddress(const Socket& socket);
bool IsLoopback(std::string_view address);

// Retries until the deadline, because the other side may not be listening yet.
StatusOr<Socket> ConnectTo(const Endpoint& to, absl::Time deadline, const Alarm& alarm = {});
// Accepts a pending connection; returns a closed socket if there is none.
StatusOr<Socket> Accept(const Socket& listener);

// DEADLINE_EXCEEDED at the deadline, UNAVAILABLE if the connection is closed.
Status SendBytes(const Socket& socket, std::string_view bytes, absl::Time deadline, const Alarm& alarm = {});
Status ReceiveBytes(const Socket& socket, void* into, size_t bytes, absl::Time deadline, const Alarm& alarm = {});
// A text of at most one megabyte, preceded by its length.
Status SendText(const Socket& socket, std::string_view text, absl::Time deadline);
StatusOr<std::string> ReceiveText(const Socket& socket, absl::Time deadline, const Alarm& alarm = {});

// Both sides prove that they know the secret; `topic` must be the same. The side that connected is the caller.
Status ProveAsCaller(const Socket& socket, std::string_view secret, std::string_view topic, absl::Time deadline,
                     const Alarm& alarm = {});
Status ProveAsListener(const Socket& socket, std::string_view secret, std::string_view topic, absl::Time deadline);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_SOCKET_H_

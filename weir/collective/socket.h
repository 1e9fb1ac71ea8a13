// Sockets between the processes of a job: non-blocking TCP over IPv4 or IPv6, with TLS on request. Every wait has a
// deadline.
#ifndef WEIR_COLLECTIVE_SOCKET_H_
#define WEIR_COLLECTIVE_SOCKET_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "weir/base/status.h"
#include "weir/collective/place.h"

namespace weir::collective {

class TlsSession;

// Called during waits; an error ends the wait. May be empty.
using Alarm = std::function<Status()>;

// What the processes of a job know of each other when they connect.
struct Credentials {
  std::string secret;
  TlsOptions tls;
};

// Owns a file descriptor, and the TLS session on it if there is one.
class Socket {
 public:
  Socket();
  explicit Socket(int file);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int file() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  void Close();
  // REQUIRES: no TLS.
  int Release() { return std::exchange(file_, -1); }

  // From here on all bytes are encrypted. Both sides call it; the one that connected is the caller.
  Status StartTls(const Credentials& credentials, bool is_caller, absl::Time deadline, const Alarm& alarm);
  // As send(2) and recv(2), errno included: neither waits.
  ssize_t Send(const void* data, size_t bytes) const;
  ssize_t Receive(void* into, size_t bytes) const;
  // Whether bytes have come that poll(2) does not report.
  bool has_buffered() const;

 private:
  int file_ = -1;
  std::unique_ptr<TlsSession> tls_;
};

struct Endpoint {
  std::string host;  // a name or an address
  int port = 0;
  std::string ToString() const;
};
// "host:port"; an IPv6 address is written in brackets.
StatusOr<Endpoint> ParseEndpoint(std::string_view text);

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

// Both sides start TLS if the credentials say so, and prove that they know the secret; `topic` must be the same. The
// side that connected is the caller.
Status ProveAsCaller(Socket& socket, const Credentials& credentials, std::string_view topic, absl::Time deadline,
                     const Alarm& alarm = {});
Status ProveAsListener(Socket& socket, const Credentials& credentials, std::string_view topic, absl::Time deadline);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_SOCKET_H_

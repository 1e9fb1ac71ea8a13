#include "weir/collective/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/secret.h"
#include "weir/collective/tls.h"

namespace weir::collective {
namespace {

constexpr absl::Duration kSlice = absl::Milliseconds(20);       // between two calls of the alarm
constexpr absl::Duration kRetryPause = absl::Milliseconds(20);  // between two attempts to connect
constexpr size_t kMostText = 1 << 20;
constexpr size_t kNonceBytes = 16;

void SetOptions(int file) {
  const int on = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // The system's probes detect a host that vanishes silently.
  setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  const int idle = 10, interval = 5, count = 4;
  setsockopt(file, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(file, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(file, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

// Waits for an event, at most for one slice. Also OK if there was none.
Status WaitSlice(int file, short events, absl::Time deadline, const Alarm& alarm) {
  const absl::Time now = absl::Now();
  if (now >= deadline) return DeadlineExceeded("no answer in time");
  pollfd entry{file, events, 0};
  const absl::Duration wait = alarm ? std::min(kSlice, deadline - now) : deadline - now;
  poll(&entry, 1, static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(wait) + 1, 60'000)));
  return alarm ? alarm() : OkStatus();
}

std::string NumericAddress(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  std::string text = host;
  if (text.starts_with("::ffff:")) text.erase(0, 7);
  return text;
}

StatusOr<Socket> ConnectOnce(const addrinfo& address, absl::Time deadline, const Alarm& alarm) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return Unavailable(std::strerror(errno));
  SetOptions(socket.file());
  if (connect(socket.file(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return Unavailable(std::strerror(errno));
  while (true) {
    pollfd entry{socket.file(), POLLOUT, 0};
    if (poll(&entry, 1, 0) > 0) break;
    WEIR_RETURN_IF_ERROR(WaitSlice(socket.file(), POLLOUT, deadline, alarm));
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unavailable(std::strerror(error));
  return socket;
}

std::string_view AsText(const Digest& digest) {
  return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
}

}  // namespace

Socket::Socket() = default;
Socket::Socket(int file) : file_(file) {}
Socket::Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)), tls_(std::move(other.tls_)) {}
Socket::~Socket() { Close(); }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    file_ = std::exchange(other.file_, -1);
    tls_ = std::move(other.tls_);
  }
  return *this;
}

void Socket::Close() {
  tls_ = nullptr;
  if (file_ >= 0) close(file_);
  file_ = -1;
}

Status Socket::StartTls(const Credentials& credentials, bool is_caller, absl::Time deadline, const Alarm& alarm) {
  WEIR_ASSIGN_OR_RETURN(tls_, TlsSession::Make(file_, credentials.tls, credentials.secret, is_caller));
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const short event, tls_->Handshake());
    if (event == 0) return OkStatus();
    WEIR_RETURN_IF_ERROR(WaitSlice(file_, event, deadline, alarm));
  }
}

ssize_t Socket::Send(const void* data, size_t bytes) const {
  return tls_ != nullptr ? tls_->Send(data, bytes) : send(file_, data, bytes, MSG_NOSIGNAL);
}

ssize_t Socket::Receive(void* into, size_t bytes) const {
  return tls_ != nullptr ? tls_->Receive(into, bytes) : recv(file_, into, bytes, 0);
}

bool Socket::has_buffered() const { return tls_ != nullptr && tls_->has_buffered(); }

std::string Endpoint::ToString() const {
  return host.find(':') != host.npos ? Cat("[", host, "]:", port) : Cat(host, ":", port);
}

StatusOr<Endpoint> ParseEndpoint(std::string_view text) {
  Endpoint out;
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (colon == text.npos || host.empty() || !absl::SimpleAtoi(ToAbsl(text.substr(colon + 1)), &out.port) ||
      out.port < 1 || out.port > 65535) {
    return InvalidArgument("'", text, "' is not an address such as host:port");
  }
  out.host = host;
  return out;
}

StatusOr<Socket> Listen(int port) {
  for (const int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) continue;
    const int on = 1, off = 0;
    setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage address = {};
    socklen_t size = 0;
    if (family == AF_INET6) {
      setsockopt(socket.file(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
      auto& six = reinterpret_cast<sockaddr_in6&>(address);
      six.sin6_family = AF_INET6;
      six.sin6_addr = in6addr_any;
      six.sin6_port = htons(static_cast<uint16_t>(port));
      size = sizeof(six);
    } else {
      auto& four = reinterpret_cast<sockaddr_in&>(address);
      four.sin_family = AF_INET;
      four.sin_port = htons(static_cast<uint16_t>(port));
      size = sizeof(four);
    }
    if (bind(socket.file(), reinterpret_cast<sockaddr*>(&address), size) != 0) continue;
    if (listen(socket.file(), 1024) != 0) continue;
    return socket;
  }
  return Unavailable("cannot listen on port ", port, ": ", std::strerror(errno));
}

int PortOf(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket.file(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::string LocalAddress(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket.file(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return NumericAddress(address, size);
}

std::string RemoteAddress(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(socket.file(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return NumericAddress(address, size);
}

bool IsLoopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

StatusOr<Socket> ConnectTo(const Endpoint& to, absl::Time deadline, const Alarm& alarm) {
  Status last;
  while (true) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int outcome = getaddrinfo(to.host.c_str(), Cat(to.port).c_str(), &hints, &found);
    if (outcome != 0) last = Unavailable("the name is unknown: ", gai_strerror(outcome));
    for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
      StatusOr<Socket> socket = ConnectOnce(*each, deadline, alarm);
      if (socket.ok()) {
        freeaddrinfo(found);
        return socket;
      }
      last = socket.status();
    }
    if (found != nullptr) freeaddrinfo(found);
    if (alarm) WEIR_RETURN_IF_ERROR(alarm());
    if (absl::Now() + kRetryPause > deadline) {
      return DeadlineExceeded("cannot connect to ", to.ToString(), ": ", Message(last));
    }
    absl::SleepFor(kRetryPause);
  }
}

StatusOr<Socket> Accept(const Socket& listener) {
  const int file = accept4(listener.file(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (file < 0) {
    if (errno == EMFILE || errno == ENFILE) return ResourceExhausted("too many open connections");
    return Socket();
  }
  SetOptions(file);
  return Socket(file);
}

Status SendBytes(const Socket& socket, std::string_view bytes, absl::Time deadline, const Alarm& alarm) {
  while (!bytes.empty()) {
    const ssize_t sent = socket.Send(bytes.data(), bytes.size());
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      WEIR_RETURN_IF_ERROR(WaitSlice(socket.file(), POLLOUT, deadline, alarm));
    } else if (errno != EINTR) {
      return Unavailable("the connection is lost: ", std::strerror(errno));
    }
  }
  return OkStatus();
}

Status ReceiveBytes(const Socket& socket, void* into, size_t bytes, absl::Time deadline, const Alarm& alarm) {
  char* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = socket.Receive(at, bytes);
    if (got > 0) {
      at += got;
      bytes -= static_cast<size_t>(got);
    } else if (got == 0) {
      return Unavailable("the other side has closed the connection");
    } else if (errno == EAGAIN) {
      WEIR_RETURN_IF_ERROR(WaitSlice(socket.file(), POLLIN, deadline, alarm));
    } else if (errno != EINTR) {
      return Unavailable("the connection is lost: ", std::strerror(errno));
    }
  }
  return OkStatus();
}

Status SendText(const Socket& socket, std::string_view text, absl::Time deadline) {
  const uint32_t length = static_cast<uint32_t>(text.size());
  std::string message(reinterpret_cast<const char*>(&length), sizeof(length));
  return SendBytes(socket, message.append(text), deadline);
}

StatusOr<std::string> ReceiveText(const Socket& socket, absl::Time deadline, const Alarm& alarm) {
  uint32_t length = 0;
  WEIR_RETURN_IF_ERROR(ReceiveBytes(socket, &length, sizeof(length), deadline, alarm));
  if (length > kMostText) return InvalidArgument("a message of ", length, " bytes is too long");
  std::string text(length, '\0');
  WEIR_RETURN_IF_ERROR(ReceiveBytes(socket, text.data(), length, deadline, alarm));
  return text;
}

// The listener sends a nonce. The caller sends its own nonce and a proof that covers both; the listener answers with
// another proof.
Status ProveAsCaller(Socket& socket, const Credentials& credentials, std::string_view topic, absl::Time deadline,
                     const Alarm& alarm) {
  const std::string& secret = credentials.secret;
  if (credentials.tls.is_on) {
    WEIR_RETURN_IF_ERROR(socket.StartTls(credentials, /*is_caller=*/true, deadline, alarm));
  }
  std::string theirs(kNonceBytes, '\0');
  if (Status begun = ReceiveBytes(socket, theirs.data(), theirs.size(), deadline, alarm); absl::IsUnavailable(begun)) {
    return Unavailable(Message(begun), credentials.tls.is_on ? "" : "; does it expect TLS?");
  } else if (!begun.ok()) {
    return begun;
  }
  const std::string own = RandomBytes(kNonceBytes);
  const Digest proof = Proof(secret, Cat("caller", topic, theirs, own));
  WEIR_RETURN_IF_ERROR(SendBytes(socket, Cat(own, AsText(proof)), deadline, alarm));
  Digest answer;
  if (!ReceiveBytes(socket, answer.data(), answer.size(), deadline, alarm).ok() ||
      !SameDigest(answer, Proof(secret, Cat("listener", topic, theirs, own)))) {
    if (absl::Now() >= deadline) return DeadlineExceeded("no answer in time");
    return PermissionDenied("the other side does not share this job's secret");
  }
  return OkStatus();
}

Status ProveAsListener(Socket& socket, const Credentials& credentials, std::string_view topic, absl::Time deadline) {
  const std::string& secret = credentials.secret;
  if (credentials.tls.is_on) {
    WEIR_RETURN_IF_ERROR(socket.StartTls(credentials, /*is_caller=*/false, deadline, {}));
  }
  const std::string own = RandomBytes(kNonceBytes);
  WEIR_RETURN_IF_ERROR(SendBytes(socket, own, deadline));
  std::string theirs(kNonceBytes, '\0');
  Digest proof;
  WEIR_RETURN_IF_ERROR(ReceiveBytes(socket, theirs.data(), theirs.size(), deadline));
  WEIR_RETURN_IF_ERROR(ReceiveBytes(socket, proof.data(), proof.size(), deadline));
  if (!SameDigest(proof, Proof(secret, Cat("caller", topic, own, theirs)))) {
    return PermissionDenied("the other side does not share this job's secret");
  }
  return SendBytes(socket, AsText(Proof(secret, Cat("listener", topic, own, theirs))), deadline);
}

}  // namespace weir::collective

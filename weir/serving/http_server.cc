#include "weir/serving/http_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "weir/base/logging.h"

namespace weir {
namespace {

constexpr int kLookAgainMs = 500;  // for connections whose time is over

const char* Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

}  // namespace

// Belongs to the loop's thread, except while it is busy: then to the thread that calls the handler.
struct HttpServer::Connection {
  int fd = -1;
  std::string in;
  std::string out;
  size_t sent = 0;
  HttpRequest request;
  bool busy = false;
  bool watched = true;     // by epoll; not while it is busy, since a client that hangs up would wake the loop for ever
  bool continued = false;  // the client of this request was told to send its body
  bool at_end = false;     // no bytes come any more
  bool close_after = false;
  absl::Time deadline;
};

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options, Handler handler) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(options.host.c_str(), Cat(options.port).c_str(), &hints, &found) != 0) {
    return Unavailable("no address ", options.host);
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    if (bind(fd, each->ai_addr, each->ai_addrlen) == 0 && listen(fd, 1024) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
      const int port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                         : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
      return std::unique_ptr<HttpServer>(new HttpServer(options, std::move(handler), fd, port));
    }
    error = errno;
    close(fd);
  }
  return Unavailable("cannot listen for HTTP on ", options.host, ":", options.port, ": ", strerror(error));
}

HttpServer::HttpServer(const HttpOptions& options, Handler handler, int listener, int port)
    : options_(options),
      handler_(std::move(handler)),
      parser_(options.max_head_bytes, options.max_body_bytes),
      listener_(listener),
      port_(port),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      pool_(std::make_unique<ThreadPool>("weir_http", options.num_threads)) {
  for (int fd : {listener_, wake_}) {
    epoll_event event{EPOLLIN, {.fd = fd}};
    event.data.ptr = fd == listener_ ? static_cast<void*>(this) : nullptr;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  thread_ = std::thread([this] { Loop(); });
}

HttpServer::~HttpServer() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  pool_.reset();  // handlers that run end
  for (auto& [connection, owned] : connections_) close(connection->fd);
  close(listener_);
  close(wake_);
  close(epoll_);
}

void HttpServer::Loop() {
  pthread_setname_np(pthread_self(), "weir_http_io");
  epoll_event events[64];
  absl::Time look = absl::Now();
  while (true) {
    const int count = epoll_wait(epoll_, events, 64, kLookAgainMs);
    std::vector<Connection*> answered;
    {
      absl::MutexLock lock(&mu_);
      if (ending_) return;
      answered.swap(answered_);
    }
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr == nullptr) {
        eventfd_t value = 0;
        eventfd_read(wake_, &value);
      } else if (events[i].data.ptr == this) {
        Accept();
      } else {
        auto* connection = static_cast<Connection*>(events[i].data.ptr);
        // It may have been closed by an event before this one, or be busy.
        if (!connections_.contains(connection) || connection->busy) continue;
        if (events[i].events & EPOLLOUT) {
          Send(connection);
        } else {
          Receive(connection);
        }
      }
    }
    for (Connection* connection : answered) {
      connection->busy = false;
      Send(connection);
    }
    if (absl::Now() - look > absl::Milliseconds(kLookAgainMs)) {
      look = absl::Now();
      CloseLate();
    }
  }
}

void HttpServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (static_cast<int>(connections_.size()) >= options_.max_connections) {
      close(fd);
      continue;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    auto owned = std::make_unique<Connection>();
    Connection* connection = owned.get();
    connection->fd = fd;
    connection->deadline = absl::Now() + options_.idle_timeout;
    connections_[connection] = std::move(owned);
    epoll_event event{EPOLLIN, {.ptr = connection}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
}

void HttpServer::Watch(Connection* connection, uint32_t events) {
  epoll_event event{events, {.ptr = connection}};
  const bool was_watched = std::exchange(connection->watched, events != 0);
  const int change = events == 0 ? EPOLL_CTL_DEL : was_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (was_watched || connection->watched) epoll_ctl(epoll_, change, connection->fd, &event);
}

void HttpServer::Close(Connection* connection) {
  close(connection->fd);
  connections_.erase(connection);
}

void HttpServer::CloseLate() {
  const absl::Time now = absl::Now();
  std::vector<Connection*> late;
  for (auto& [connection, owned] : connections_) {
    if (!connection->busy && connection->deadline < now) late.push_back(connection);
  }
  for (Connection* connection : late) Close(connection);
}

void HttpServer::Receive(Connection* connection) {
  const bool was_empty = connection->in.empty();
  char bytes[64 << 10];
  while (true) {
    const ssize_t count = recv(connection->fd, bytes, sizeof(bytes), 0);
    if (count > 0) {
      connection->in.append(bytes, static_cast<size_t>(count));
      continue;
    }
    if (count == 0) {
      connection->at_end = true;
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return Close(connection);
    }
    break;
  }
  if (was_empty && !connection->in.empty()) connection->deadline = absl::Now() + options_.request_timeout;
  StartNext(connection);
}

void HttpServer::StartNext(Connection* connection) {
  StatusOr<bool> whole = parser_.Take(&connection->in, &connection->request);
  if (!whole.ok()) {
    HttpResponse response;
    response.status = absl::IsResourceExhausted(whole.status()) ? 413
                      : absl::IsUnimplemented(whole.status())   ? 501
                                                                : 400;
    response.type = "text/plain";
    response.body = Message(whole.status()) + "\n";
    Answer(connection, response, /*keep_alive=*/false);
    return Send(connection);
  }
  if (!*whole) {
    if (connection->at_end) return Close(connection);
    if (!connection->continued && parser_.AwaitsContinue(connection->in)) {
      connection->continued = true;
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      (void)!send(connection->fd, kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
    }
    return Watch(connection, EPOLLIN);
  }
  connection->busy = true;
  Watch(connection, 0);
  pool_->Schedule([this, connection] { Handle(connection); });
}

void HttpServer::Handle(Connection* connection) {
  const HttpResponse response = handler_(connection->request);
  Answer(connection, response, connection->request.keep_alive);
  // Most answers go out right here.
  const ssize_t count = send(connection->fd, connection->out.data(), connection->out.size(), MSG_NOSIGNAL);
  if (count > 0) connection->sent = static_cast<size_t>(count);
  {
    absl::MutexLock lock(&mu_);
    answered_.push_back(connection);
  }
  eventfd_write(wake_, 1);
}

void HttpServer::Answer(Connection* connection, const HttpResponse& response, bool keep_alive) {
  std::string& out = connection->out;
  out = Cat("HTTP/1.1 ", response.status, " ", Reason(response.status), "\r\nContent-Type: ", response.type,
            "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers) out += Cat(name, ": ", value, "\r\n");
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  out += response.body;
  connection->sent = 0;
  connection->close_after = !keep_alive;
  connection->deadline = absl::Now() + options_.request_timeout;
}

void HttpServer::Send(Connection* connection) {
  while (connection->sent < connection->out.size()) {
    const ssize_t count = send(connection->fd, connection->out.data() + connection->sent,
                               connection->out.size() - connection->sent, MSG_NOSIGNAL);
    if (count > 0) {
      connection->sent += static_cast<size_t>(count);
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return Watch(connection, EPOLLOUT);
    } else {
      return Close(connection);
    }
  }
  if (connection->close_after) return Close(connection);
  connection->out.clear();
  connection->out.shrink_to_fit();
  connection->request = HttpRequest();
  connection->continued = false;
  connection->deadline = absl::Now() + (connection->in.empty() ? options_.idle_timeout : options_.request_timeout);
  StartNext(connection);  // what has come meanwhile
}

}  // namespace weir

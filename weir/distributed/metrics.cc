#include "weir/distributed/metrics.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace weir {
namespace {

constexpr int kLookAgainMs = 200;        // how often to check whether to stop
constexpr int kRequestTimeoutMs = 2000;  // for a request that does not arrive
constexpr size_t kMaxRequest = 8192;

}  // namespace

void MetricsText::Add(std::string_view name, std::string_view kind, std::string_view help, double value) {
  text_ += Cat("# HELP weir_", name, " ", help, "\n# TYPE weir_", name, " ", kind, "\nweir_", name, " ", value, "\n");
}

void AppendMetrics(const TaskMetrics& metrics, MetricsText* text) {
  auto count = [&](std::string_view name, std::string_view help, const std::atomic<int64_t>& value, double unit = 1) {
    text->Add(name, "counter", help, static_cast<double>(value.load(std::memory_order_relaxed)) * unit);
  };
  count("steps_total", "steps of this task's sessions", metrics.steps);
  count("step_errors_total", "of these, how many failed", metrics.step_errors);
  count("parts_total", "parts of other tasks' steps that ran here", metrics.parts);
  count("part_errors_total", "of these, how many failed", metrics.part_errors);
  count("tensors_sent_total", "tensors given to other tasks", metrics.tensors_sent);
  count("tensor_bytes_sent_total", "bytes of these", metrics.tensor_bytes_sent);
  count("tensors_fetched_total", "tensors got from other tasks", metrics.tensors_fetched);
  count("tensor_bytes_fetched_total", "bytes of these", metrics.tensor_bytes_fetched);
  count("tensors_shared_total", "of these, tensors that came through shared memory", metrics.tensors_shared);
  count("fetch_wait_seconds_total", "time between asking for them and having them", metrics.fetch_wait_micros, 1e-6);
}

StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& host, int port,
                                                              std::function<std::string()> text) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), Cat(port).c_str(), &hints, &found) != 0) return Unavailable("no address ", host);
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    int fd = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    if (bind(fd, each->ai_addr, each->ai_addrlen) == 0 && listen(fd, 16) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
      int own = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                  : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
      return std::unique_ptr<MetricsServer>(new MetricsServer(fd, own, std::move(text)));
    }
    close(fd);
  }
  return Unavailable("cannot listen for metrics on ", host, ":", port, ": ", strerror(errno));
}

MetricsServer::MetricsServer(int listener, int port, std::function<std::string()> text)
    : listener_(listener), port_(port), text_(std::move(text)), thread_([this] { Serve(); }) {}

MetricsServer::~MetricsServer() {
  stop_ = true;
  thread_.join();
  close(listener_);
}

void MetricsServer::Serve() {
  while (!stop_) {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, kLookAgainMs) <= 0) continue;
    int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Answer(connection);
    close(connection);
  }
}

void MetricsServer::Answer(int connection) {
  // The request is read up to its blank line and ignored: there is only one answer.
  std::string request;
  while (request.size() < kMaxRequest && request.find("\r\n\r\n") == request.npos) {
    pollfd ready{connection, POLLIN, 0};
    if (poll(&ready, 1, kRequestTimeoutMs) <= 0) return;
    char bytes[1024];
    ssize_t count = recv(connection, bytes, sizeof(bytes), 0);
    if (count <= 0) return;
    request.append(bytes, static_cast<size_t>(count));
  }
  const std::string body = text_();
  const std::string answer =
      Cat("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: ", body.size(),
          "\r\nConnection: close\r\n\r\n", body);
  for (size_t sent = 0; sent < answer.size();) {
    ssize_t count = send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

}  // namespace weir

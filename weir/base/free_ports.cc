#include "weir/base/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <random>

namespace weir {
namespace {

constexpr int kFirst = 10'000;
constexpr int kCount = 20'000;

// A port is reserved by a name in the system's list of sockets, which goes with the process that holds it.
bool Reserve(int port) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The name begins with a zero byte: it is no file.
  const int length = std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "weir-port-%d", port);
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;  // and stays open
  close(fd);
  return false;
}

bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // connections that are ending do not count
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return bound;
}

}  // namespace

std::vector<int> FreePorts(int count) {
  std::vector<int> out;
  const int start = static_cast<int>(std::random_device()() % kCount);
  for (int i = 0; i < kCount && static_cast<int>(out.size()) < count; ++i) {
    const int port = kFirst + (start + i) % kCount;
    if (Reserve(port) && IsFree(port)) out.push_back(port);
  }
  return out;
}

}  // namespace weir

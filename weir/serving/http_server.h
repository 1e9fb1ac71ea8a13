// HttpServer: HTTP/1.1 for one handler, with limits on everything that a client sends.
//
// One thread polls all connections and reads their requests; complete requests are passed to a few threads that call
// the handler and write the answer. A slow or silent client therefore occupies a buffer but no thread, and is
// disconnected after a timeout. Connections are kept alive; pipelined requests are answered in order. Bodies may be
// chunked and compressed with gzip.
#ifndef WEIR_SERVING_HTTP_SERVER_H_
#define WEIR_SERVING_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/base/status.h"
#include "weir/base/thread_pool.h"

namespace weir {

struct HttpRequest {
  std::string method;
  std::string path;                            // without the query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // decompressed
  bool keep_alive = true;
  std::string_view Header(const std::string& name) const {
    auto found = headers.find(name);
    return found != headers.end() ? std::string_view(found->second) : std::string_view();
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpOptions {
  std::string host = "0.0.0.0";
  int port = 0;  // 0: any free port
  int num_threads = 4;
  int max_connections = 10'000;
  size_t max_head_bytes = 64 << 10;
  size_t max_body_bytes = INT32_MAX;
  absl::Duration idle_timeout = absl::Seconds(60);  // between requests
  // From the first to the last byte of a request, and for sending an answer.
  absl::Duration request_timeout = absl::Seconds(30);
};

// Parses requests incrementally.
class HttpParser {
 public:
  HttpParser(size_t max_head, size_t max_body) : max_head_(max_head), max_body_(max_body) {}
  // Removes a request from the front of `bytes`. False if more bytes are needed. An error ends the connection; its code
  // determines the answer: INVALID_ARGUMENT 400, RESOURCE_EXHAUSTED 413, UNIMPLEMENTED 501.
  StatusOr<bool> Take(std::string* bytes, HttpRequest* request) const;
  // Whether the header is complete and asks for confirmation before the body is sent (Expect: 100-continue).
  bool AwaitsContinue(std::string_view bytes) const;

 private:
  StatusOr<bool> TakeChunks(std::string_view bytes, size_t* end, std::string* body) const;
  const size_t max_head_;
  const size_t max_body_;
};

// Thread-safe.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // UNAVAILABLE if the address cannot be bound.
  static StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, Handler handler);
  // Waits for running handlers.
  ~HttpServer();
  int port() const { return port_; }

 private:
  struct Connection;
  HttpServer(const HttpOptions& options, Handler handler, int listener, int port);
  void Loop();
  void Accept();
  void Receive(Connection* connection);
  void StartNext(Connection* connection);
  void Handle(Connection* connection);
  void Answer(Connection* connection, const HttpResponse& response, bool keep_alive);
  void Send(Connection* connection);
  void Close(Connection* connection);
  void CloseLate();
  void Watch(Connection* connection, uint32_t events);

  const HttpOptions options_;
  const Handler handler_;
  const HttpParser parser_;
  const int listener_;
  const int port_;
  int epoll_ = -1;
  int wake_ = -1;                                                   // an eventfd: answers are ready, or the server ends
  std::map<Connection*, std::unique_ptr<Connection>> connections_;  // used by the polling thread only
  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Connection*> answered_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ThreadPool> pool_;
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_SERVING_HTTP_SERVER_H_

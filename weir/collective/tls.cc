#include "weir/collective/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/secret.h"

namespace weir::collective {
namespace {

constexpr char kKeyTopic[] = "weir tls 1";
constexpr char kIdentity[] = "weir";
// The one whose hash OpenSSL uses with keys that are not bound to a session.
constexpr char kCipherOfKeys[] = "TLS_AES_128_GCM_SHA256";

// OpenSSL's own access to sockets would raise SIGPIPE in the program when the other side is gone.
int FileOf(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int WriteToSocket(BIO* bio, const char* data, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(FileOf(bio), data, static_cast<size_t>(bytes), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int ReadFromSocket(BIO* bio, char* into, int bytes) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = recv(FileOf(bio), into, static_cast<size_t>(bytes), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long ControlSocket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    BIO_meth_set_write(method, WriteToSocket);
    BIO_meth_set_read(method, ReadFromSocket);
    BIO_meth_set_ctrl(method, ControlSocket);
    return method;
  }();
  return kMethod;
}

std::string LastError() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error of OpenSSL";
}

struct ContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, ContextDeleter>;

Status UseCertificates(SSL_CTX* context, const TlsOptions& options) {
  const auto refuse = [](std::string_view what, const std::string& file) {
    return InvalidArgument("The ", what, " for TLS cannot be read from '", file, "': ", LastError());
  };
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str()) != 1) {
    return refuse("certificate", options.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return refuse("private key", options.key);
  }
  if (SSL_CTX_load_verify_locations(context, options.ca.c_str(), nullptr) != 1) return refuse("CA", options.ca);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return OkStatus();
}

}  // namespace

void TlsSession::Deleter::operator()(SSL* ssl) const { SSL_free(ssl); }

TlsSession::TlsSession(std::unique_ptr<SSL, Deleter> ssl, const std::string& secret, bool is_caller)
    : ssl_(std::move(ssl)), secret_(secret), is_caller_(is_caller) {}

TlsSession::~TlsSession() = default;

unsigned TlsSession::GiveKey(SSL* ssl, unsigned char* key, unsigned max_bytes) {
  const auto* session = static_cast<const TlsSession*>(SSL_get_app_data(ssl));
  const Digest digest = Proof(session->secret_, kKeyTopic);
  if (max_bytes < digest.size()) return 0;
  std::copy(digest.begin(), digest.end(), key);
  return static_cast<unsigned>(digest.size());
}

StatusOr<std::unique_ptr<TlsSession>> TlsSession::Make(int file, const TlsOptions& options, const std::string& secret,
                                                       bool is_caller) {
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return ResourceExhausted("OpenSSL cannot start TLS: ", LastError());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_num_tickets(context.get(), 0);
  if (!options.certificate.empty()) {
    WEIR_RETURN_IF_ERROR(UseCertificates(context.get(), options));
  } else {
    SSL_CTX_set_ciphersuites(context.get(), kCipherOfKeys);
    SSL_CTX_set_psk_client_callback(context.get(),
                                    [](SSL* ssl, const char*, char* identity, unsigned max_identity, unsigned char* key,
                                       unsigned max_key) -> unsigned {
                                      if (max_identity < sizeof(kIdentity)) return 0;
                                      std::memcpy(identity, kIdentity, sizeof(kIdentity));
                                      return GiveKey(ssl, key, max_key);
                                    });
    SSL_CTX_set_psk_server_callback(
        context.get(), [](SSL* ssl, const char* identity, unsigned char* key, unsigned max_key) -> unsigned {
          return std::strcmp(identity, kIdentity) == 0 ? GiveKey(ssl, key, max_key) : 0;
        });
  }
  std::unique_ptr<SSL, Deleter> ssl(SSL_new(context.get()));
  BIO* const bio = ssl != nullptr ? BIO_new(SocketMethod()) : nullptr;
  if (bio == nullptr) return ResourceExhausted("OpenSSL cannot start TLS: ", LastError());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(file)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  SSL* const raw = ssl.get();
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(ssl), secret, is_caller));
  SSL_set_app_data(raw, session.get());
  return session;
}

StatusOr<short> TlsSession::Handshake() {
  ERR_clear_error();
  const int result = is_caller_ ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get());
  if (result == 1) return short{0};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return short{POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return short{POLLOUT};
    case SSL_ERROR_SSL:
      if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) break;
      return PermissionDenied("the other side does not take part in TLS with this job's secret or certificates: ",
                              LastError());
    default:
      break;
  }
  return Unavailable("the other side has closed the connection before TLS began");
}

ssize_t TlsSession::Explain(int result, bool receives) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      break;
    case SSL_ERROR_SYSCALL:
      if (errno == 0 || errno == EAGAIN) errno = ECONNRESET;
      return -1;
    default:
      if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) break;
      errno = EPROTO;  // somebody has changed what was sent
      return -1;
  }
  if (receives) return 0;
  errno = EPIPE;
  return -1;
}

ssize_t TlsSession::Send(const void* data, size_t bytes) {
  ERR_clear_error();
  size_t sent = 0;
  const int result = SSL_write_ex(ssl_.get(), data, bytes, &sent);
  return result == 1 ? static_cast<ssize_t>(sent) : Explain(result, /*receives=*/false);
}

ssize_t TlsSession::Receive(void* into, size_t bytes) {
  ERR_clear_error();
  size_t got = 0;
  const int result = SSL_read_ex(ssl_.get(), into, bytes, &got);
  return result == 1 ? static_cast<ssize_t>(got) : Explain(result, /*receives=*/true);
}

bool TlsSession::has_buffered() const { return SSL_pending(ssl_.get()) > 0; }

}  // namespace weir::collective

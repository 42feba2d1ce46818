#ifndef SEGANET_BENCH_COMMON_TLS_H_
#define SEGANET_BENCH_COMMON_TLS_H_

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

// A plain TLS 1.3 client session over a blocking socket. Programs that use it link -lssl -lcrypto.
namespace bench::tls {

// Creates the context for all sessions of a process. Returns nullptr if it cannot read the file of
// certificate authorities.
inline SSL_CTX* Context(const std::string& ca_file) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // A session ticket has no application data: SSL_read must return instead of blocking for the next
  // record.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  // Frees record buffers while a session is idle; there may be a thousand sessions.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) == 1) return context;
  SSL_CTX_free(context);
  return nullptr;
}

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { Close(); }

  // Connects and blocks until the handshake is complete. The broker's certificate must be for
  // `host`, an IPv4 address.
  bool Connect(SSL_CTX* context, const std::string& host, uint16_t port) {
    Close();
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ssl_ = SSL_new(context);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str());
    SSL_set_fd(ssl_, fd_);
    ERR_clear_error();
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        SSL_connect(ssl_) == 1) {
      return true;
    }
    Close();
    return false;
  }

  // Writes all data in as few TLS records (16 KiB each) as possible. Returns false if the session
  // is lost.
  bool Write(std::string_view data) {
    ERR_clear_error();
    return SSL_write(ssl_, data.data(), static_cast<int>(data.size())) ==
           static_cast<int>(data.size());
  }

  // Returns the bytes read; 0 = none for now (a ticket); -1 = the session is lost. Blocks only if
  // the socket has no data.
  int Read(char* buffer, size_t size) {
    ERR_clear_error();
    int got = SSL_read(ssl_, buffer, static_cast<int>(size));
    if (got > 0) return got;
    return SSL_get_error(ssl_, got) == SSL_ERROR_WANT_READ ? 0 : -1;
  }

  // True if Read() has decrypted bytes without reading the socket.
  bool pending() const { return ssl_ != nullptr && SSL_pending(ssl_) > 0; }
  bool open() const { return ssl_ != nullptr; }
  int fd() const { return fd_; }  // -1 = closed

  void Close() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    if (fd_ >= 0) close(fd_);
    ssl_ = nullptr;
    fd_ = -1;
  }

 private:
  SSL* ssl_ = nullptr;
  int fd_ = -1;
};

}  // namespace bench::tls

#endif  // SEGANET_BENCH_COMMON_TLS_H_

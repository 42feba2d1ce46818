// A DTLS client over memory: OpenSSL itself.
#ifndef SEGANET_TEST_SUPPORT_DTLS_CLIENT_H_
#define SEGANET_TEST_SUPPORT_DTLS_CLIENT_H_

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "core/dtls/datagram_bio.h"
#include "core/tls/openssl.h"
#include "test/support/tls_certificates.h"

namespace seganet::tls_test {

struct DtlsWish {
  std::string identity = {};  // with a key: PSK
  std::string key = {};
  const Identity* own = nullptr;  // its certificate
  std::string ciphers = {};
  std::string ca = {};  // PEM; empty = the server's certificate is not checked
  bool tickets = true;
  SSL_SESSION* session = nullptr;  // to be resumed
};

class DtlsClient final : private DatagramPipe {
 public:
  explicit DtlsClient(const DtlsWish& wish)
      : wish_(wish), context_(SSL_CTX_new(DTLS_client_method())), method_(MakeDatagramBioMethod()) {
    SSL_CTX_set_min_proto_version(context_, DTLS1_2_VERSION);
    SSL_CTX_set_security_level(context_, 0);
    if (!wish.ciphers.empty()) SSL_CTX_set_cipher_list(context_, wish.ciphers.c_str());
    if (!wish.identity.empty()) SSL_CTX_set_psk_client_callback(context_, GiveKey);
    if (!wish.tickets) SSL_CTX_set_options(context_, SSL_OP_NO_TICKET);
    if (wish.own != nullptr) Use(*wish.own);
    ssl_ = SSL_new(context_);
    SSL_set_app_data(ssl_, this);
    BIO* const bio = MakeDatagramBio(method_, this);
    SSL_set_bio(ssl_, bio, bio);
    if (wish.session != nullptr) SSL_set_session(ssl_, wish.session);
    SSL_set_connect_state(ssl_);
  }
  ~DtlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    BIO_meth_free(method_);
    ERR_clear_error();
  }
  DtlsClient(const DtlsClient&) = delete;
  DtlsClient& operator=(const DtlsClient&) = delete;

  void Start() {
    ERR_clear_error();
    SSL_do_handshake(ssl_);
  }

  void Receive(std::string_view datagram) {
    arrived = {reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()};
    ERR_clear_error();
    if (!open() && SSL_do_handshake(ssl_) != 1) {
      failed = failed || SSL_get_error(ssl_, -1) != SSL_ERROR_WANT_READ;
      return;
    }
    char into[4096];
    for (size_t size = 0; SSL_read_ex(ssl_, into, sizeof into, &size) == 1;) {
      received.append(into, size);
    }
  }

  void Write(std::string_view message) {
    SSL_write(ssl_, message.data(), static_cast<int>(message.size()));
  }
  void Close() { SSL_shutdown(ssl_); }
  bool open() const { return SSL_is_init_finished(ssl_) == 1; }
  bool resumed() const { return SSL_session_reused(ssl_) == 1; }
  bool closed_by_server() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }
  std::string cipher() const { return SSL_get_cipher_name(ssl_); }
  // The caller frees it.
  SSL_SESSION* session() const { return SSL_get1_session(ssl_); }

  std::deque<std::string> sent;  // datagrams for the network
  std::string received;
  bool failed = false;

 private:
  void SendDatagram(std::string_view datagram) override { sent.emplace_back(datagram); }

  void Use(const Identity& own) {
    const OpensslPtr<BIO> cert(BIO_new_mem_buf(own.cert().data(), -1));
    const OpensslPtr<X509> x509(PEM_read_bio_X509(cert.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(context_, x509.get());
    const OpensslPtr<BIO> key(BIO_new_mem_buf(own.key().data(), -1));
    const OpensslPtr<EVP_PKEY> secret(
        PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(context_, secret.get());
  }

  static unsigned GiveKey(SSL* ssl, const char*, char* identity, unsigned, unsigned char* key,
                          unsigned) {
    const DtlsWish& wish = static_cast<DtlsClient*>(SSL_get_app_data(ssl))->wish_;
    std::memcpy(identity, wish.identity.c_str(), wish.identity.size() + 1);
    std::memcpy(key, wish.key.data(), wish.key.size());
    return static_cast<unsigned>(wish.key.size());
  }

  const DtlsWish wish_;
  SSL_CTX* const context_;
  BIO_METHOD* const method_;
  SSL* ssl_ = nullptr;
};

}  // namespace seganet::tls_test

#endif  // SEGANET_TEST_SUPPORT_DTLS_CLIENT_H_

#ifndef SEGANET_TEST_SUPPORT_TLS_SERVER_H_
#define SEGANET_TEST_SUPPORT_TLS_SERVER_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/uplink/tls_client.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/tls_certificates.h"

namespace seganet::tls_test {

struct Manners {
  int min_version = TLS1_2_VERSION;
  int max_version = TLS1_3_VERSION;
  std::string between = {};    // PEM: certificates sent after the own one
  std::string client_ca = {};  // PEM; not empty = the client must have a certificate of it
  std::string alpn = {};       // the only protocol spoken; empty = none is required
  std::string ciphers = {};    // of TLS 1.2
  std::string groups = {};     // for the exchange of keys
};

// A broker's end of a TLS connection: OpenSSL itself, over memory.
class Server {
 public:
  explicit Server(const Identity& own, Manners manners = {})
      : manners_(std::move(manners)), context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_set_min_proto_version(context_, manners_.min_version);
    SSL_CTX_set_max_proto_version(context_, manners_.max_version);
    if (!manners_.ciphers.empty()) SSL_CTX_set_cipher_list(context_, manners_.ciphers.c_str());
    if (!manners_.groups.empty()) SSL_CTX_set1_groups_list(context_, manners_.groups.c_str());
    SSL_CTX_set_alpn_select_cb(context_, manners_.alpn.empty() ? nullptr : ChooseAlpn, this);
    Each(own.cert(), [this](X509* x509) { SSL_CTX_use_certificate(context_, x509); });
    Each(manners_.between, [this](X509* x509) { SSL_CTX_add1_chain_cert(context_, x509); });
    const OpensslPtr<BIO> key(BIO_new_mem_buf(own.key().data(), -1));
    const OpensslPtr<EVP_PKEY> secret(
        PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(context_, secret.get());
    if (!manners_.client_ca.empty()) {
      SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      Each(manners_.client_ca,
           [this](X509* x509) { X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), x509); });
    }
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_);
  }
  ~Server() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ERR_clear_error();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes bytes from the network, and reads their content.
  void Receive(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    ERR_clear_error();
    if (!SSL_is_init_finished(ssl_) && SSL_do_handshake(ssl_) != 1) return;
    char into[16384];
    for (size_t size = 0; SSL_read_ex(ssl_, into, sizeof into, &size) == 1;) {
      received.append(into, size);
    }
  }

  void Write(std::string_view plain) {
    SSL_write(ssl_, plain.data(), static_cast<int>(plain.size()));
  }
  void UpdateKeys() {
    SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ssl_);
  }
  void SendTicket() {
    SSL_new_session_ticket(ssl_);
    SSL_do_handshake(ssl_);
  }
  void AskToRenegotiate() {
    SSL_renegotiate(ssl_);
    SSL_do_handshake(ssl_);
  }
  void Close() { SSL_shutdown(ssl_); }

  // Returns the bytes for the network.
  std::string Take() {
    BIO* const out = SSL_get_wbio(ssl_);
    std::string bytes(BIO_ctrl_pending(out), '\0');
    BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

  bool open() const { return SSL_is_init_finished(ssl_) == 1; }
  bool closed_by_client() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }
  std::string server_name() const {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "" : name;
  }
  bool client_has_certificate() const { return SSL_get0_peer_certificate(ssl_) != nullptr; }
  std::string cipher() const { return SSL_get_cipher_name(ssl_); }

  std::string received;

 private:
  template <typename Use>
  static void Each(const std::string& pem, Use use) {
    const OpensslPtr<BIO> reader(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    while (
        const OpensslPtr<X509> x509{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
      use(x509.get());
    }
    ERR_clear_error();
  }

  static int ChooseAlpn(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size,
                        const unsigned char* offered, unsigned offered_size, void* self) {
    const std::string& mine = static_cast<Server*>(self)->manners_.alpn;
    for (unsigned at = 0; at < offered_size; at += 1u + offered[at]) {
      if (mine != std::string(reinterpret_cast<const char*>(offered) + at + 1, offered[at])) {
        continue;
      }
      *chosen = offered + at + 1;
      *size = offered[at];
      return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  const Manners manners_;
  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
};

using mqtt_test::Span;

inline std::string Take(TlsClient* client) {
  std::string bytes(client->pending());
  client->Sent(bytes.size());
  return bytes;
}

inline std::string ReadAll(TlsClient* client) {
  std::string all;
  uint8_t into[1000];
  while (const size_t size = client->Read(into)) {
    all.append(reinterpret_cast<char*>(into), size);
  }
  return all;
}

// Carries bytes both ways, in pieces, until neither side has more. Returns the client's input.
inline std::string Carry(TlsClient* client, Server* server, size_t piece = 1 << 20) {
  std::string read;
  for (;;) {
    const std::string up = Take(client);
    for (size_t at = 0; at < up.size(); at += piece) server->Receive(up.substr(at, piece));
    const std::string down = server->Take();
    for (size_t at = 0; at < down.size(); at += piece) {
      client->Receive(Span(std::string_view(down).substr(at, piece)));
      read += ReadAll(client);
    }
    if (up.empty() && down.empty()) return read;
  }
}

}  // namespace seganet::tls_test

#endif  // SEGANET_TEST_SUPPORT_TLS_SERVER_H_

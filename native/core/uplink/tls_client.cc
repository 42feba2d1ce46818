#include "core/uplink/tls_client.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

namespace seganet {

TlsClient::TlsClient(std::shared_ptr<TlsContext> context) : context_(std::move(context)) {
  SEGANET_REQUIRE(context_ != nullptr);
}

TlsClient::~TlsClient() { SSL_free(ssl_); }

void TlsClient::Start() {
  if (ssl_ != nullptr) return;
  ERR_clear_error();
  ssl_ = SSL_new(context_->raw_);
  OpensslPtr<BIO> in(BIO_new(BIO_s_mem()));
  OpensslPtr<BIO> out(BIO_new(BIO_s_mem()));
  if (ssl_ == nullptr || in == nullptr || out == nullptr) return Fail();
  in_ = in.release();
  out_ = out.release();
  SSL_set_bio(ssl_, in_, out_);
  SSL_set_connect_state(ssl_);
  const std::string& name = context_->server_name_;
  if (!name.empty() && SSL_set_tlsext_host_name(ssl_, name.c_str()) != 1) return Fail();
  Handshake();
}

void TlsClient::Receive(std::span<const uint8_t> bytes) {
  if (in_ == nullptr || state_ == State::kEnded || state_ == State::kFailed) return;
  if (bytes.empty()) return;
  size_t taken = 0;
  ERR_clear_error();
  if (BIO_write_ex(in_, bytes.data(), bytes.size(), &taken) != 1 || taken != bytes.size()) {
    return Fail();
  }
  if (state_ == State::kHandshake) Handshake();
}

void TlsClient::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) return CheckResult(result);
  state_ = State::kOpen;
  opened_ = true;
}

size_t TlsClient::Read(std::span<uint8_t> into) {
  size_t total = 0;
  while (state_ == State::kOpen && total < into.size()) {
    ERR_clear_error();
    size_t bytes = 0;  // of one record
    const int result = SSL_read_ex(ssl_, into.data() + total, into.size() - total, &bytes);
    total += bytes;
    if (result != 1) {
      CheckResult(result);
      break;
    }
  }
  return total;
}

void TlsClient::Write(std::string_view plain) {
  if (state_ != State::kOpen || closed_ || plain.empty()) return;
  ERR_clear_error();
  size_t written = 0;
  // A memory BIO always has room, so the call writes everything or fails.
  if (SSL_write_ex(ssl_, plain.data(), plain.size(), &written) != 1) Fail();
}

std::string_view TlsClient::pending() const {
  if (out_ == nullptr) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out_, &bytes);
  return {bytes, static_cast<size_t>(size)};
}

void TlsClient::Sent(size_t bytes) {
  SEGANET_REQUIRE(bytes <= pending().size());
  if (bytes == 0) return;
  // Copying the bytes is cheaper than BIO_reset, which clears the buffer at its largest size so
  // far.
  char scratch[16384];
  size_t gone = 0;
  for (; bytes > 0; bytes -= gone) {
    if (BIO_read_ex(out_, scratch, std::min(bytes, sizeof scratch), &gone) != 1) return;
  }
}

void TlsClient::Close() {
  if (closed_ || !opened_ || state_ == State::kFailed) return;
  closed_ = true;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

void TlsClient::CheckResult(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::kEnded;
      return;
    default:
      Fail();
  }
}

void TlsClient::Fail() {
  state_ = State::kFailed;
  const long verified = ssl_ == nullptr ? X509_V_OK : SSL_get_verify_result(ssl_);
  failure_ = verified == X509_V_OK ? TakeConnectionFailure() : CertificateFailure(verified);
}

std::string TlsClient::PeerCertificate() const {
  X509* const certificate = opened_ ? SSL_get0_peer_certificate(ssl_) : nullptr;
  uint8_t* der = nullptr;
  const int size = certificate == nullptr ? 0 : i2d_X509(certificate, &der);
  if (size <= 0) return {};
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

std::string TlsClient::protocol() const { return opened_ ? SSL_get_version(ssl_) : ""; }

std::string TlsClient::alpn() const {
  const uint8_t* name = nullptr;
  unsigned size = 0;
  if (opened_) SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL

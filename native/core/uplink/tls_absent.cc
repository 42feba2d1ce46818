// Implementation without OpenSSL 3 headers: no context can be made, and therefore no client.
#include "core/tls/openssl.h"

#ifndef SEGANET_OPENSSL

#include <utility>

#include "core/uplink/tls_client.h"

namespace seganet {

bool TlsContext::Available() { return false; }

bool TlsContext::Make(const TlsOptions& /*options*/, std::shared_ptr<TlsContext>* /*out*/,
                      TlsFailure* why) {
  *why = {"ERR_NO_CRYPTO", "This Node has no OpenSSL 3"};
  return false;
}

TlsContext::TlsContext(ssl_ctx_st* raw, std::string server_name)
    : raw_(raw), server_name_(std::move(server_name)) {}
TlsContext::~TlsContext() = default;

TlsClient::TlsClient(std::shared_ptr<TlsContext> context) : context_(std::move(context)) {}
TlsClient::~TlsClient() = default;
void TlsClient::Start() { Fail(); }
void TlsClient::Receive(std::span<const uint8_t> /*bytes*/) {}
size_t TlsClient::Read(std::span<uint8_t> /*into*/) { return 0; }
void TlsClient::Write(std::string_view /*plain*/) {}
std::string_view TlsClient::pending() const { return {}; }
void TlsClient::Sent(size_t /*bytes*/) {}
void TlsClient::Close() {}
void TlsClient::Fail() {
  state_ = State::kFailed;
  failure_ = {"ERR_NO_CRYPTO", "This Node has no OpenSSL 3"};
}
std::string TlsClient::PeerCertificate() const { return {}; }
std::string TlsClient::protocol() const { return {}; }
std::string TlsClient::alpn() const { return {}; }

}  // namespace seganet

#endif  // SEGANET_OPENSSL

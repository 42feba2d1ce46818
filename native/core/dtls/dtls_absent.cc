// Implementation without OpenSSL 3 headers: no context can be made, and therefore no connection.
#include "core/tls/openssl.h"

#ifndef SEGANET_OPENSSL

#include <utility>

#include "core/dtls/dtls_connection.h"

namespace seganet {

bool DtlsContext::Available() { return false; }

bool DtlsContext::Make(const DtlsOptions& /*options*/, std::shared_ptr<const DtlsContext>* /*out*/,
                       TlsFailure* why) {
  *why = {"ERR_NO_CRYPTO", "This Node has no OpenSSL 3 with DTLS"};
  return false;
}

DtlsContext::~DtlsContext() = default;
std::string_view DtlsContext::KeyOf(std::string_view /*identity*/) const { return {}; }

DtlsConnection::DtlsConnection(std::shared_ptr<const DtlsContext> context, DatagramPipe* pipe)
    : context_(std::move(context)), pipe_(pipe) {}
DtlsConnection::~DtlsConnection() = default;
void DtlsConnection::Start(std::span<const uint8_t> /*hello*/) { state_ = State::kFailed; }
void DtlsConnection::Receive(std::span<const uint8_t> /*datagram*/) {}
size_t DtlsConnection::Read(std::span<uint8_t> /*into*/) { return 0; }
bool DtlsConnection::Write(std::string_view /*plain*/) { return false; }
int64_t DtlsConnection::WaitUs() const { return -1; }
void DtlsConnection::Retransmit() {}
void DtlsConnection::Close() {}
DtlsProof DtlsConnection::Proof() const { return {}; }
bool DtlsConnection::resumed() const { return false; }
void DtlsConnection::FreeBuffers() {}
void DtlsConnection::NeedBuffers() {}

}  // namespace seganet

#endif  // SEGANET_OPENSSL

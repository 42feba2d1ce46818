// Certificates, keys and protocol settings of TLS connections to a broker.
#ifndef SEGANET_CORE_UPLINK_TLS_CONTEXT_H_
#define SEGANET_CORE_UPLINK_TLS_CONTEXT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/tls/tls_failure.h"

struct ssl_ctx_st;

namespace seganet {

struct TlsOptions {
  // PEM. Empty = none: without `ca` no broker is trusted; without `cert` and `key` the gateway
  // sends no certificate.
  std::string ca;    // any number of certificates
  std::string cert;  // the gateway's own, then the intermediate ones
  std::string key;
  std::string passphrase;  // of `key`, if that is encrypted

  int min_version = 0x0303;  // 0x0303 = TLS 1.2, 0x0304 = TLS 1.3
  // For TLS 1.2, in OpenSSL's format, like Node's tls.DEFAULT_CIPHERS. Empty = kTlsCiphers.
  std::string ciphers;
  std::string server_name;        // SNI (RFC 6066 3); empty = none, as for an IP address
  std::vector<std::string> alpn;  // RFC 7301; empty = none

  bool operator==(const TlsOptions&) const = default;
};

// Node's default.
inline constexpr char kTlsCiphers[] =
    "ECDHE+AESGCM:HIGH:!aNULL:!eNULL:!EXPORT:!DES:!RC4:!MD5:!PSK:!SRP:!CAMELLIA";

// Thread safety: immutable after construction.
class TlsContext {
 public:
  // False if this Node has no OpenSSL 3, or if the addon was built without its headers. Then Make
  // fails.
  static bool Available();

  // Parses certificates and keys. On failure, `*why` has what tls.createSecureContext would throw.
  // As there, certificates in `ca` are used up to the first unreadable one. A `ca` without any
  // certificate is an error, because nothing could be verified.
  static bool Make(const TlsOptions& options, std::shared_ptr<TlsContext>* out, TlsFailure* why);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsClient;

  TlsContext(ssl_ctx_st* raw, std::string server_name);

  ssl_ctx_st* const raw_;
  const std::string server_name_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_CONTEXT_H_

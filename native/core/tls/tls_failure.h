// Reasons for failures of TLS connections and their files, with the codes of Node's TLSSocket and
// tls.createSecureContext, which nodes/lib/uplink/session/reason-codes.js explains to users.
#ifndef SEGANET_CORE_TLS_TLS_FAILURE_H_
#define SEGANET_CORE_TLS_TLS_FAILURE_H_

#include <string>

namespace seganet {

struct TlsFailure {
  std::string code;  // empty = none
  std::string message;
};

// These functions clear this thread's queue of OpenSSL errors. The first two return its first
// error.

// Returns the failure of a connection: ERR_SSL_WRONG_VERSION_NUMBER,
// ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION ...; EPROTO if OpenSSL gives no reason.
TlsFailure TakeConnectionFailure();

// Returns the failure of certificates and keys: ERR_OSSL_PEM_NO_START_LINE, ERR_OSSL_BAD_DECRYPT
// ...
TlsFailure TakeFileFailure();

// Returns the failure of a chain that was not verified: the name X509_V_ERR_... without that prefix
// (CERT_HAS_EXPIRED ...); UNSPECIFIED if Node has no name for it.
TlsFailure CertificateFailure(long verify_error);

}  // namespace seganet

#endif  // SEGANET_CORE_TLS_TLS_FAILURE_H_

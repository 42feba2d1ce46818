// Why a TLS connection or its files are no good, in the words of Node's TLSSocket and
// tls.createSecureContext: nodes/lib/uplink/session/reason-codes.js explains by these codes.
#ifndef SEGANET_CORE_UPLINK_TLS_FAILURE_H_
#define SEGANET_CORE_UPLINK_TLS_FAILURE_H_

#include <string>

namespace seganet {

struct TlsFailure {
  std::string code;  // empty = none
  std::string message;
};

// These read what OpenSSL's queue of this thread says first, and empty it.

// Of a connection: ERR_SSL_WRONG_VERSION_NUMBER, ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION ...; EPROTO
// when OpenSSL says nothing.
TlsFailure TakeConnectionFailure();

// Of certificates and keys: ERR_OSSL_PEM_NO_START_LINE, ERR_OSSL_BAD_DECRYPT ...
TlsFailure TakeFileFailure();

// Of a chain that was not verified, X509_V_ERR_... without that prefix: CERT_HAS_EXPIRED ...;
// UNSPECIFIED for those that Node has no name for.
TlsFailure CertificateFailure(long verify_error);

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TLS_FAILURE_H_

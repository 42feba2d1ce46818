// Loads PEM files into an SSL_CTX. Failures stay in the thread's queue of OpenSSL errors.
#ifndef SEGANET_CORE_TLS_PEM_FILES_H_
#define SEGANET_CORE_TLS_PEM_FILES_H_

#include <cstddef>
#include <string>

struct ssl_ctx_st;

namespace seganet {

// Maximum size of each PEM file. Node's default list of authorities has about 0.2 MiB.
inline constexpr size_t kMaxPemBytes = 4 << 20;

// Each function returns false on failure. REQUIRES: pem.size() <= kMaxPemBytes.

// Adds trusted authorities, up to the first unreadable certificate, as Node does. False if there is
// none. `names`: also sends their names to clients in the request for a certificate.
bool UseAuthorities(ssl_ctx_st* context, const std::string& pem, bool names);

// Uses the first certificate as the own one, and sends the others after it.
bool UseCertificate(ssl_ctx_st* context, const std::string& pem);

// Uses a private key, which may be encrypted with `passphrase`. False also if it does not belong to
// the certificate.
bool UseKey(ssl_ctx_st* context, const std::string& pem, const std::string& passphrase);

}  // namespace seganet

#endif  // SEGANET_CORE_TLS_PEM_FILES_H_

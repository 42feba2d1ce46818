#include "core/uplink/tls_context.h"

#include <cstdint>
#include <utility>

#include "core/tls/openssl.h"
#include "core/tls/pem_files.h"

#ifdef SEGANET_OPENSSL

namespace seganet {
namespace {

int CountFault(int good, X509_STORE_CTX* store) {
  if (good == 0) ++*static_cast<int*>(X509_STORE_CTX_get_ex_data(store, 0));
  return 1;
}

// Verifies the chain and continues after an error, because Node reports the last one
// (UNABLE_TO_VERIFY_LEAF_SIGNATURE comes after UNABLE_TO_GET_ISSUER_CERT_LOCALLY). Any error ends
// the handshake with an alert.
int Verify(X509_STORE_CTX* store, void* /*given*/) {
  int faults = 0;
  // Index 0 is reserved for applications.
  if (X509_STORE_CTX_set_ex_data(store, 0, &faults) != 1) return 0;
  X509_STORE_CTX_set_verify_cb(store, CountFault);
  const int verified = X509_verify_cert(store);
  X509_STORE_CTX_set_ex_data(store, 0, nullptr);
  return verified == 1 && faults == 0 && X509_STORE_CTX_get_error(store) == X509_V_OK ? 1 : 0;
}

bool UseRules(SSL_CTX* context, const TlsOptions& options) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, Verify, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  const std::string& ciphers = options.ciphers;
  return SSL_CTX_set_min_proto_version(context, options.min_version) == 1 &&
         SSL_CTX_set_max_proto_version(context, 0) == 1 &&
         SSL_CTX_set_cipher_list(context, ciphers.empty() ? kTlsCiphers : ciphers.c_str()) == 1;
}

// Encodes the names for ALPN: one length byte before each name. Returns false if a name is empty or
// longer than 255 bytes.
bool AlpnWire(const std::vector<std::string>& names, std::string* connection) {
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255) return false;
    connection->push_back(static_cast<char>(name.size()));
    connection->append(name);
  }
  return true;
}

TlsFailure OutOfRange(std::string message) { return {"ERR_OUT_OF_RANGE", std::move(message)}; }

}  // namespace

bool TlsContext::Available() {
#ifdef SEGANET_ADDON
#define SEGANET_OPENSSL_ABSENT(name) \
  if (name == nullptr) return false;
  SEGANET_OPENSSL_FUNCTIONS(SEGANET_OPENSSL_ABSENT)
#undef SEGANET_OPENSSL_ABSENT
#endif
  return OpenSSL_version_num() >> 28 == OPENSSL_VERSION_MAJOR;
}

bool TlsContext::Make(const TlsOptions& options, std::shared_ptr<TlsContext>* out,
                      TlsFailure* why) {
  if (!Available()) {
    *why = {"ERR_NO_CRYPTO", "This Node has no OpenSSL 3"};
    return false;
  }
  for (const std::string* pem : {&options.ca, &options.cert, &options.key}) {
    if (pem->size() <= kMaxPemBytes) continue;
    *why = OutOfRange("A PEM file of more than 4 MiB");
    return false;
  }
  std::string alpn;
  if (!AlpnWire(options.alpn, &alpn)) {
    *why = OutOfRange("An ALPN protocol has 1 to 255 bytes");
    return false;
  }
  ERR_clear_error();
  SSL_CTX* const raw = SSL_CTX_new(TLS_client_method());
  // The context owns `raw` from here on.
  const std::shared_ptr<TlsContext> made(new TlsContext(raw, options.server_name));
  const bool good =
      raw != nullptr && UseRules(raw, options) &&
      (options.ca.empty() || UseAuthorities(raw, options.ca, false)) &&
      (options.cert.empty() || UseCertificate(raw, options.cert)) &&
      (options.key.empty() || UseKey(raw, options.key, options.passphrase)) &&
      // Unlike the functions above, this one returns 0 on success.
      (alpn.empty() || SSL_CTX_set_alpn_protos(raw, reinterpret_cast<const uint8_t*>(alpn.data()),
                                               static_cast<unsigned>(alpn.size())) == 0);
  if (!good) {
    *why = TakeFileFailure();
    return false;
  }
  ERR_clear_error();
  *out = made;
  return true;
}

TlsContext::TlsContext(ssl_ctx_st* raw, std::string server_name)
    : raw_(raw), server_name_(std::move(server_name)) {}

TlsContext::~TlsContext() { SSL_CTX_free(raw_); }

}  // namespace seganet

#endif  // SEGANET_OPENSSL

#include "core/dtls/dtls_context.h"

#include <cstring>

#include "core/dtls/certificate_name.h"
#include "core/dtls/datagram_bio.h"
#include "core/record/part.h"
#include "core/tls/openssl.h"
#include "core/tls/pem_files.h"

#ifdef SEGANET_OPENSSL

namespace seganet {
namespace {

// Forward secrecy first. Small devices often have only the CCM suites, which RFC 7252 9.1.3
// requires.
constexpr char kKeySuites[] =
    "ECDHE-PSK-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384:"
    "PSK-CHACHA20-POLY1305:PSK-AES128-CCM:PSK-AES128-CCM8";
constexpr char kCertificateSuites[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    "ECDHE-ECDSA-AES128-CCM:ECDHE-ECDSA-AES128-CCM8";
constexpr uint32_t kPskCcm8 = 0x0300C0A8;    // TLS_PSK_WITH_AES_128_CCM_8
constexpr uint32_t kEcdsaCcm8 = 0x0300C0AE;  // TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8
constexpr size_t kMaxChainBytes = 16384;     // of a device's certificates

using SecurityRules = int (*)(const SSL*, const SSL_CTX*, int, int, int, void*, void*);

// OpenSSL counts CCM_8 as 64 bits, after the length of its tag, and disables it at the default
// security level. RFC 7252 requires it. All other rules of the level, those of `rules`, apply.
int Secure(const SSL* ssl, const SSL_CTX* context, int operation, int bits, int nid, void* other,
           void* rules) {
  const bool is_suite = operation == SSL_SECOP_CIPHER_SUPPORTED ||
                        operation == SSL_SECOP_CIPHER_SHARED || operation == SSL_SECOP_CIPHER_CHECK;
  if (is_suite && other != nullptr) {
    const uint32_t id = SSL_CIPHER_get_id(static_cast<const SSL_CIPHER*>(other));
    if (id == kPskCcm8 || id == kEcdsaCcm8) return 1;
  }
  return (*static_cast<const SecurityRules*>(rules))(ssl, context, operation, bits, nid, other,
                                                     nullptr);
}

unsigned FindKey(SSL* ssl, const char* identity, unsigned char* to, unsigned size) {
  const auto* const context =
      static_cast<const DtlsContext*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0));
  if (identity == nullptr) return 0;
  const std::string_view key = context->KeyOf(identity);
  if (key.empty() || key.size() > size) return 0;  // 0: alert unknown_psk_identity
  std::memcpy(to, key.data(), key.size());
  return static_cast<unsigned>(key.size());
}

// DtlsServer has checked the cookie.
int AcceptCookie(SSL*, const unsigned char*, unsigned) { return 1; }
int NoCookie(SSL*, unsigned char*, unsigned*) { return 0; }

TlsFailure OutOfRange(std::string message) { return {"ERR_OUT_OF_RANGE", std::move(message)}; }

}  // namespace

bool DtlsContext::Available() {
#ifdef SEGANET_ADDON
#define SEGANET_OPENSSL_ABSENT(name) \
  if (name == nullptr) return false;
  SEGANET_OPENSSL_FUNCTIONS(SEGANET_OPENSSL_ABSENT)
  SEGANET_DTLS_FUNCTIONS(SEGANET_OPENSSL_ABSENT)
#undef SEGANET_OPENSSL_ABSENT
#endif
  return OpenSSL_version_num() >> 28 == OPENSSL_VERSION_MAJOR;
}

bool DtlsContext::Make(const DtlsOptions& options, std::shared_ptr<const DtlsContext>* out,
                       TlsFailure* why) {
  if (!Available()) {
    *why = {"ERR_NO_CRYPTO", "This Node has no OpenSSL 3 with DTLS"};
    return false;
  }
  for (const std::string* pem : {&options.ca, &options.cert, &options.key}) {
    if (pem->size() <= kMaxPemBytes) continue;
    *why = OutOfRange("A PEM file of more than 4 MiB");
    return false;
  }
  for (const auto& [identity, key] : options.keys) {
    if (!identity.empty() && identity.size() <= kMaxIdentityBytes && !key.empty() &&
        key.size() <= kMaxKeyBytes && identity.find('\0') == std::string::npos) {
      continue;
    }
    *why = OutOfRange("An identity has 1 to 128 bytes, and its key 1 to 64");
    return false;
  }
  if (options.part_from == PartFrom::kFixed && !ValidPart(options.part)) {
    *why = OutOfRange("A part has 1 to 64 bytes without ':'");
    return false;
  }
  ERR_clear_error();
  const std::shared_ptr<DtlsContext> made(new DtlsContext(options));
  if (!made->UseRules() || !made->UseFiles(options)) {
    *why = TakeFileFailure();
    return false;
  }
  ERR_clear_error();
  *out = made;
  return true;
}

DtlsContext::DtlsContext(const DtlsOptions& options)
    : raw_(SSL_CTX_new(DTLS_server_method())),
      method_(MakeDatagramBioMethod()),
      keys_(options.keys.begin(), options.keys.end()),
      key_login_(options.key_login),
      device_certificate_(options.device_certificate),
      id_from_san_(options.id_from_san),
      part_from_(options.part_from),
      part_(options.part),
      session_lifetime_s_(options.session_lifetime_s) {}

DtlsContext::~DtlsContext() {
  SSL_CTX_free(raw_);
  BIO_meth_free(method_);
}

bool DtlsContext::UseRules() {
  if (raw_ == nullptr || method_ == nullptr) return false;
  SSL_CTX_set_ex_data(raw_, 0, this);
  SSL_CTX_set_options(raw_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                SSL_OP_COOKIE_EXCHANGE | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_cookie_generate_cb(raw_, NoCookie);
  SSL_CTX_set_cookie_verify_cb(raw_, AcceptCookie);
  default_security_ = SSL_CTX_get_security_callback(raw_);
  SSL_CTX_set_security_callback(raw_, Secure);
  SSL_CTX_set0_security_ex_data(raw_, &default_security_);
  SSL_CTX_set_max_cert_list(raw_, kMaxChainBytes);
  SSL_CTX_set_session_cache_mode(raw_, SSL_SESS_CACHE_SERVER);
  SSL_CTX_sess_set_cache_size(raw_, kMaxResumable);
  SSL_CTX_set_timeout(raw_, session_lifetime_s_);
  static constexpr uint8_t kIdContext[] = "seganet";
  if (key_login_) SSL_CTX_set_psk_server_callback(raw_, FindKey);
  std::string suites;
  if (key_login_) suites.append(kKeySuites).append(":");
  suites.append(kCertificateSuites);
  return SSL_CTX_set_session_id_context(raw_, kIdContext, sizeof kIdContext - 1) == 1 &&
         SSL_CTX_set_min_proto_version(raw_, DTLS1_2_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(raw_, DTLS1_2_VERSION) == 1 &&
         SSL_CTX_set_max_send_fragment(raw_, kDtlsMaxPlainBytes) == 1 &&
         SSL_CTX_set_cipher_list(raw_, suites.c_str()) == 1;
}

bool DtlsContext::UseFiles(const DtlsOptions& options) {
  if (device_certificate_ != DeviceCertificate::kNo) {
    const bool required = device_certificate_ == DeviceCertificate::kRequired;
    SSL_CTX_set_verify(raw_, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
    if (!UseAuthorities(raw_, options.ca, true)) return false;
  }
  return (options.cert.empty() || UseCertificate(raw_, options.cert)) &&
         (options.key.empty() || UseKey(raw_, options.key, options.passphrase));
}

std::string_view DtlsContext::KeyOf(std::string_view identity) const {
  const auto found = keys_.find(identity);
  return found == keys_.end() ? std::string_view() : found->second;
}

DtlsProof DtlsContext::ProofOf(ssl_st* ssl) const {
  const bool required = device_certificate_ == DeviceCertificate::kRequired;
  const int exchange = SSL_CIPHER_get_kx_nid(SSL_get_current_cipher(ssl));
  // A handshake with a key has no certificates, so a key cannot replace a required one.
  if (exchange == NID_kx_psk || exchange == NID_kx_ecdhe_psk) {
    const char* const identity = SSL_get_psk_identity(ssl);
    if (required || identity == nullptr) return {"", "no certificate"};
    // The session that is resumed may be older than the rules for ids.
    if (!IsDeviceName(identity)) return {"", "no identity"};
    return InPart(identity, nullptr);
  }
  X509* const certificate =
      device_certificate_ == DeviceCertificate::kNo ? nullptr : SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) {
    if (required) return {"", "no certificate"};
    return key_login_ ? DtlsProof{"", "no key"} : DtlsProof{};
  }
  if (SSL_get_verify_result(ssl) != X509_V_OK) return {"", "certificate"};
  // A certificate may expire while its session can be resumed.
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) return {"", "expired"};
  std::string device =
      id_from_san_ ? AlternativeDeviceName(certificate) : CommonDeviceName(certificate);
  if (device.empty()) return {"", "no name in the certificate"};
  return InPart(device, certificate);
}

// Returns the proof of a device with its part. `certificate`: null = it proved a key.
DtlsProof DtlsContext::InPart(std::string_view device, x509_st* certificate) const {
  std::string part;
  switch (part_from_) {
    case PartFrom::kNone:
      return {std::string(device), nullptr};
    case PartFrom::kFixed:
      part = part_;
      break;
    case PartFrom::kIdentity: {
      const size_t slash = device.find('/');
      if (certificate != nullptr || slash == std::string_view::npos) return {"", "no part"};
      part = device.substr(0, slash);
      device.remove_prefix(slash + 1);
      break;
    }
    case PartFrom::kOrganization:
      if (certificate != nullptr) part = OrganizationName(certificate);
      break;
  }
  std::string id = IdInPart(part, device);
  if (!ValidPart(part) || device.empty() || !IsDeviceName(id)) return {"", "no part"};
  return {std::move(id), nullptr};
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL

#include "core/tls/tls_failure.h"

#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

namespace seganet {
namespace {

// Converts "no start line" to "NO_START_LINE", which is close to the macro's name.
std::string UpperCase(const char* reason) {
  std::string name = reason == nullptr ? "UNKNOWN" : reason;
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

// Returns the prefix of codes from libraries that read files. For libraries newer than Node's list
// (decoders, providers), the code has no library name: ERR_OSSL_UNSUPPORTED.
const char* FilePrefix(unsigned long error) {
  switch (ERR_GET_LIB(error)) {
    case ERR_LIB_SSL:
      return "ERR_SSL_";
    case ERR_LIB_PEM:
      return "ERR_OSSL_PEM_";
    case ERR_LIB_X509:
      return "ERR_OSSL_X509_";
    case ERR_LIB_ASN1:
      return "ERR_OSSL_ASN1_";
    case ERR_LIB_EVP:
      return "ERR_OSSL_EVP_";
    case ERR_LIB_RSA:
      return "ERR_OSSL_RSA_";
    case ERR_LIB_DSA:
      return "ERR_OSSL_DSA_";
    case ERR_LIB_EC:
      return "ERR_OSSL_EC_";
    case ERR_LIB_BN:
      return "ERR_OSSL_BN_";
    case ERR_LIB_BIO:
      return "ERR_OSSL_BIO_";
    case ERR_LIB_BUF:
      return "ERR_OSSL_BUF_";
    case ERR_LIB_CRYPTO:
      return "ERR_OSSL_CRYPTO_";
    case ERR_LIB_PKCS12:
      return "ERR_OSSL_PKCS12_";
    default:
      return "ERR_OSSL_";
  }
}

TlsFailure Take(const char* prefix, unsigned long error) {
  ERR_clear_error();
  if (error == 0) return {"EPROTO", "OpenSSL gives no reason"};
  char message[256];
  ERR_error_string_n(error, message, sizeof message);
  return {prefix + UpperCase(ERR_reason_error_string(error)), message};
}

const char* VerifyName(long error) {
#define SEGANET_NAME(name) \
  case X509_V_ERR_##name:  \
    return #name;
  switch (error) {
    SEGANET_NAME(UNABLE_TO_GET_ISSUER_CERT)
    SEGANET_NAME(UNABLE_TO_GET_CRL)
    SEGANET_NAME(UNABLE_TO_DECRYPT_CERT_SIGNATURE)
    SEGANET_NAME(UNABLE_TO_DECRYPT_CRL_SIGNATURE)
    SEGANET_NAME(UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY)
    SEGANET_NAME(CERT_SIGNATURE_FAILURE)
    SEGANET_NAME(CRL_SIGNATURE_FAILURE)
    SEGANET_NAME(CERT_NOT_YET_VALID)
    SEGANET_NAME(CERT_HAS_EXPIRED)
    SEGANET_NAME(CRL_NOT_YET_VALID)
    SEGANET_NAME(CRL_HAS_EXPIRED)
    SEGANET_NAME(ERROR_IN_CERT_NOT_BEFORE_FIELD)
    SEGANET_NAME(ERROR_IN_CERT_NOT_AFTER_FIELD)
    SEGANET_NAME(ERROR_IN_CRL_LAST_UPDATE_FIELD)
    SEGANET_NAME(ERROR_IN_CRL_NEXT_UPDATE_FIELD)
    SEGANET_NAME(OUT_OF_MEM)
    SEGANET_NAME(DEPTH_ZERO_SELF_SIGNED_CERT)
    SEGANET_NAME(SELF_SIGNED_CERT_IN_CHAIN)
    SEGANET_NAME(UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
    SEGANET_NAME(UNABLE_TO_VERIFY_LEAF_SIGNATURE)
    SEGANET_NAME(CERT_CHAIN_TOO_LONG)
    SEGANET_NAME(CERT_REVOKED)
    SEGANET_NAME(INVALID_CA)
    SEGANET_NAME(PATH_LENGTH_EXCEEDED)
    SEGANET_NAME(INVALID_PURPOSE)
    SEGANET_NAME(CERT_UNTRUSTED)
    SEGANET_NAME(CERT_REJECTED)
    SEGANET_NAME(HOSTNAME_MISMATCH)
    default:
      return "UNSPECIFIED";
  }
#undef SEGANET_NAME
}

}  // namespace

TlsFailure TakeConnectionFailure() { return Take("ERR_SSL_", ERR_peek_error()); }

TlsFailure TakeFileFailure() {
  const unsigned long error = ERR_peek_error();
  return Take(FilePrefix(error), error);
}

TlsFailure CertificateFailure(long verify_error) {
  ERR_clear_error();
  return {VerifyName(verify_error), X509_verify_cert_error_string(verify_error)};
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL

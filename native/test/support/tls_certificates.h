#ifndef SEGANET_TEST_SUPPORT_TLS_CERTIFICATES_H_
#define SEGANET_TEST_SUPPORT_TLS_CERTIFICATES_H_

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>
#include <vector>

#include "core/tls/openssl.h"

namespace seganet::tls_test {

inline std::string Pem(BIO* written) {
  const OpensslPtr<BIO> bio(written);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// The content of a certificate.
struct Wish {
  std::string name = "broker.example";
  long from_s = -3600;  // from now
  long to_s = 86400;
  bool authority = false;
  std::string usage = {};  // extendedKeyUsage; empty = any
  std::vector<std::string> organizations = {};
};

// A key (EC P-256) and its certificate.
class Identity {
 public:
  // Self-signed.
  static Identity Own(const Wish& wish) { return Identity(wish, nullptr); }
  static Identity Authority(const std::string& name = "An authority") {
    Wish wish;
    wish.name = name;
    wish.authority = true;
    return Own(wish);
  }
  Identity Issue(const Wish& wish = {}) const { return Identity(wish, this); }

  const std::string& cert() const { return cert_; }
  const std::string& key() const { return key_; }

  std::string EncryptedKey(const std::string& passphrase) const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(out, secret_.get(), EVP_aes_128_cbc(), passphrase.data(),
                                  static_cast<int>(passphrase.size()), nullptr, nullptr);
    return Pem(out);
  }

  // Encrypted as OpenSSL did it before PKCS #8.
  std::string OldEncryptedKey(const std::string& passphrase) const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey_traditional(out, secret_.get(), EVP_aes_128_cbc(),
                                         reinterpret_cast<const unsigned char*>(passphrase.data()),
                                         static_cast<int>(passphrase.size()), nullptr, nullptr);
    return Pem(out);
  }

  std::string Der() const {
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate_.get(), &der);
    std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    return bytes;
  }

 private:
  Identity(const Wish& wish, const Identity* issuer)
      : secret_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    X509* const x509 = certificate_.get();
    static long serial = 0;
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x509), wish.from_s);
    X509_gmtime_adj(X509_getm_notAfter(x509), wish.to_s);
    X509_set_pubkey(x509, secret_.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wish.name.data()),
                               static_cast<int>(wish.name.size()), -1, 0);
    for (const std::string& name : wish.organizations) {
      X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "O", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0);
    }
    const Identity& by = issuer == nullptr ? *this : *issuer;
    X509_set_issuer_name(x509, X509_get_subject_name(by.certificate_.get()));
    Extend(NID_basic_constraints, wish.authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!wish.usage.empty()) Extend(NID_ext_key_usage, wish.usage.c_str());
    X509_sign(x509, by.secret_.get(), EVP_sha256());
    BIO* cert = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(cert, x509);
    cert_ = Pem(cert);
    BIO* key = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(key, secret_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    key_ = Pem(key);
  }

  void Extend(int kind, const char* value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  OpensslPtr<EVP_PKEY> secret_;
  OpensslPtr<X509> certificate_;
  std::string cert_;
  std::string key_;
};

}  // namespace seganet::tls_test

#endif  // SEGANET_TEST_SUPPORT_TLS_CERTIFICATES_H_

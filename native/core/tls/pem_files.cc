#include "core/tls/pem_files.h"

#include <cstring>

#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

namespace seganet {
namespace {

int Passphrase(char* to, int size, int /*writing*/, void* given) {
  const auto& passphrase = *static_cast<const std::string*>(given);
  if (passphrase.size() > static_cast<size_t>(size)) return -1;
  memcpy(to, passphrase.data(), passphrase.size());
  return static_cast<int>(passphrase.size());
}

// Without this callback, OpenSSL would prompt on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

OpensslPtr<BIO> Reader(const std::string& pem) {
  return OpensslPtr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// After a failed read: true if the reason is the end of the PEM data.
bool AtEndOfPem() {
  const unsigned long error = ERR_peek_last_error();
  if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    return false;
  }
  ERR_clear_error();
  return true;
}

}  // namespace

bool UseAuthorities(SSL_CTX* context, const std::string& pem, bool names) {
  const OpensslPtr<BIO> reader = Reader(pem);
  size_t count = 0;
  while (const OpensslPtr<X509> certificate{
      PEM_read_bio_X509_AUX(reader.get(), nullptr, NoPassphrase, nullptr)}) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) != 1) return false;
    if (names && SSL_CTX_add_client_CA(context, certificate.get()) != 1) return false;
    ++count;
  }
  if (count > 0) ERR_clear_error();
  return count > 0;
}

bool UseCertificate(SSL_CTX* context, const std::string& pem) {
  const OpensslPtr<BIO> reader = Reader(pem);
  const OpensslPtr<X509> leaf(PEM_read_bio_X509_AUX(reader.get(), nullptr, NoPassphrase, nullptr));
  if (leaf == nullptr || SSL_CTX_use_certificate(context, leaf.get()) != 1) return false;
  while (X509* between = PEM_read_bio_X509(reader.get(), nullptr, NoPassphrase, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, between) != 1) {
      X509_free(between);
      return false;
    }
  }
  return AtEndOfPem();
}

bool UseKey(SSL_CTX* context, const std::string& pem, const std::string& passphrase) {
  const OpensslPtr<BIO> reader = Reader(pem);
  const OpensslPtr<EVP_PKEY> key(PEM_read_bio_PrivateKey(reader.get(), nullptr, Passphrase,
                                                         const_cast<std::string*>(&passphrase)));
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL

// Access to OpenSSL 3. The core's tests link the system's library. The addon links none: Node's
// executable contains OpenSSL and exports its functions, and Node's headers declare them. A Node
// built with --without-ssl has none. Because the addon's symbols are resolved when it is loaded
// (-z now), each function is a weak symbol there, which may be null; TlsContext::Available() checks
// that.
//
// Use only functions of OpenSSL 3.0: the addon is built with the headers of one Node version and
// runs in the executables of others.
#ifndef SEGANET_CORE_TLS_OPENSSL_H_
#define SEGANET_CORE_TLS_OPENSSL_H_

// SEGANET_NO_OPENSSL: builds as if there were no headers.
#if __has_include(<openssl/opensslv.h>) && !defined(SEGANET_NO_OPENSSL)
#include <openssl/opensslv.h>
#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR == 3
#define SEGANET_OPENSSL 1
#endif
#endif

#ifdef SEGANET_OPENSSL
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>

// All functions that core/tls and core/uplink call, including those behind OpenSSL's macros.
// test/unit/native/native-openssl.test.js checks that the list is complete.
#define SEGANET_OPENSSL_FUNCTIONS(X)  \
  X(BIO_ctrl)                         \
  X(BIO_free)                         \
  X(BIO_new)                          \
  X(BIO_new_mem_buf)                  \
  X(BIO_read_ex)                      \
  X(BIO_s_mem)                        \
  X(BIO_write_ex)                     \
  X(CRYPTO_free)                      \
  X(ERR_clear_error)                  \
  X(ERR_error_string_n)               \
  X(ERR_peek_error)                   \
  X(ERR_peek_last_error)              \
  X(ERR_reason_error_string)          \
  X(EVP_PKEY_free)                    \
  X(OpenSSL_version_num)              \
  X(PEM_read_bio_PrivateKey)          \
  X(PEM_read_bio_X509)                \
  X(PEM_read_bio_X509_AUX)            \
  X(SSL_CTX_add_client_CA)            \
  X(SSL_CTX_ctrl)                     \
  X(SSL_CTX_free)                     \
  X(SSL_CTX_get_cert_store)           \
  X(SSL_CTX_new)                      \
  X(SSL_CTX_set_alpn_protos)          \
  X(SSL_CTX_set_cert_verify_callback) \
  X(SSL_CTX_set_cipher_list)          \
  X(SSL_CTX_set_options)              \
  X(SSL_CTX_set_verify)               \
  X(SSL_CTX_use_PrivateKey)           \
  X(SSL_CTX_use_certificate)          \
  X(SSL_ctrl)                         \
  X(SSL_do_handshake)                 \
  X(SSL_free)                         \
  X(SSL_get0_alpn_selected)           \
  X(SSL_get0_peer_certificate)        \
  X(SSL_get_error)                    \
  X(SSL_get_verify_result)            \
  X(SSL_get_version)                  \
  X(SSL_new)                          \
  X(SSL_read_ex)                      \
  X(SSL_set_bio)                      \
  X(SSL_set_connect_state)            \
  X(SSL_shutdown)                     \
  X(SSL_write_ex)                     \
  X(TLS_client_method)                \
  X(X509_STORE_CTX_get_error)         \
  X(X509_STORE_CTX_get_ex_data)       \
  X(X509_STORE_CTX_set_ex_data)       \
  X(X509_STORE_CTX_set_verify_cb)     \
  X(X509_STORE_add_cert)              \
  X(X509_free)                        \
  X(X509_verify_cert)                 \
  X(X509_verify_cert_error_string)    \
  X(i2d_X509)

// Those that core/dtls calls in addition. A Node whose OpenSSL was built without DTLS lacks some.
#define SEGANET_DTLS_FUNCTIONS(X)    \
  X(ASN1_STRING_get0_data)           \
  X(ASN1_STRING_length)              \
  X(ASN1_STRING_to_UTF8)             \
  X(BIO_ADDR_free)                   \
  X(BIO_ADDR_new)                    \
  X(BIO_clear_flags)                 \
  X(BIO_get_data)                    \
  X(BIO_meth_free)                   \
  X(BIO_meth_new)                    \
  X(BIO_meth_set_ctrl)               \
  X(BIO_meth_set_read)               \
  X(BIO_meth_set_write)              \
  X(BIO_set_data)                    \
  X(BIO_set_flags)                   \
  X(BIO_set_init)                    \
  X(DTLS_server_method)              \
  X(DTLSv1_listen)                   \
  X(GENERAL_NAME_get0_value)         \
  X(GENERAL_NAMES_free)              \
  X(OPENSSL_sk_num)                  \
  X(OPENSSL_sk_value)                \
  X(SSL_CIPHER_get_id)               \
  X(SSL_CIPHER_get_kx_nid)           \
  X(SSL_CTX_get_ex_data)             \
  X(SSL_CTX_get_security_callback)   \
  X(SSL_CTX_set0_security_ex_data)   \
  X(SSL_CTX_set_cookie_generate_cb)  \
  X(SSL_CTX_set_cookie_verify_cb)    \
  X(SSL_CTX_set_ex_data)             \
  X(SSL_CTX_set_psk_server_callback) \
  X(SSL_CTX_set_security_callback)   \
  X(SSL_CTX_set_session_id_context)  \
  X(SSL_CTX_set_timeout)             \
  X(SSL_alloc_buffers)               \
  X(SSL_free_buffers)                \
  X(SSL_get_SSL_CTX)                 \
  X(SSL_get_current_cipher)          \
  X(SSL_get_psk_identity)            \
  X(SSL_session_reused)              \
  X(SSL_set_shutdown)                \
  X(SSL_set_accept_state)            \
  X(X509_NAME_ENTRY_get_data)        \
  X(X509_NAME_get_entry)             \
  X(X509_NAME_get_index_by_NID)      \
  X(X509_cmp_current_time)           \
  X(X509_get0_notAfter)              \
  X(X509_get_ext_d2i)                \
  X(X509_get_subject_name)

#ifdef SEGANET_ADDON
#define SEGANET_OPENSSL_WEAK(name) extern "C" decltype(name) name __attribute__((weak));
SEGANET_OPENSSL_FUNCTIONS(SEGANET_OPENSSL_WEAK)
SEGANET_DTLS_FUNCTIONS(SEGANET_OPENSSL_WEAK)
#undef SEGANET_OPENSSL_WEAK
#endif

namespace seganet {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

}  // namespace seganet
#endif  // SEGANET_OPENSSL

#endif  // SEGANET_CORE_TLS_OPENSSL_H_

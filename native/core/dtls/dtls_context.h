// Certificates, keys and rules of a DTLS listener.
#ifndef SEGANET_CORE_DTLS_DTLS_CONTEXT_H_
#define SEGANET_CORE_DTLS_DTLS_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/keyed_hash.h"
#include "core/tls/tls_failure.h"

struct bio_method_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace seganet {

enum class DeviceCertificate : uint8_t { kNo, kWanted, kRequired };

// The source of the part of a proven device id (record/part.h). A device without it is refused.
enum class PartFrom : uint8_t {
  kNone,          // the id stays as it is
  kFixed,         // DtlsOptions::part
  kIdentity,      // what precedes the first '/' of a key's identity; the id is the rest
  kOrganization,  // the only organization name of the certificate's subject
};

struct DtlsOptions {
  // PEM; empty = none.
  std::string cert;  // the gateway's own, then the intermediate ones
  std::string key;
  std::string passphrase;  // of `key`
  std::string ca;          // signs the devices' certificates
  // Pre-shared keys by identity. An identity has no U+0000.
  std::vector<std::pair<std::string, std::string>> keys;
  // True: a device proves its id by a key of `keys`, or by a certificate if these are wanted.
  bool key_login = false;
  DeviceCertificate device_certificate = DeviceCertificate::kNo;
  // The id of a device is the first DNS, URI or e-mail name of its certificate; false: its common
  // name.
  bool id_from_san = false;
  PartFrom part_from = PartFrom::kNone;
  std::string part;  // kFixed
  // How long a session can be resumed, s.
  uint32_t session_lifetime_s = 86400;
};

// What a completed handshake says about the device.
struct DtlsProof {
  std::string device;             // the id that it proved; empty = none
  const char* refusal = nullptr;  // why the connection must end; null = it may go on
};

// Sessions are resumed by ticket, or by id for a client without tickets. A resumed session has the
// identity that its full handshake proved. A new context accepts no sessions of an earlier one, so
// a replaced file of keys or certificates takes effect at the next handshake.
//
// Thread safety: immutable after construction; OpenSSL locks the list of resumable sessions.
class DtlsContext {
 public:
  static constexpr size_t kMaxKeyBytes = 64;
  static constexpr size_t kMaxIdentityBytes = 128;
  // Limit of sessions that are resumed by id; the oldest is forgotten.
  static constexpr long kMaxResumable = 4096;

  // False if this Node's OpenSSL has no DTLS, or if the addon was built without its headers.
  static bool Available();

  // Parses certificates and keys. On failure, `*why` is as in TlsContext::Make.
  static bool Make(const DtlsOptions& options, std::shared_ptr<const DtlsContext>* out,
                   TlsFailure* why);

  ~DtlsContext();
  DtlsContext(const DtlsContext&) = delete;
  DtlsContext& operator=(const DtlsContext&) = delete;

  // Returns the key of an identity; empty = unknown.
  std::string_view KeyOf(std::string_view identity) const;

 private:
  friend class DtlsConnection;

  explicit DtlsContext(const DtlsOptions& options);
  bool UseRules();
  bool UseFiles(const DtlsOptions& options);
  DtlsProof ProofOf(ssl_st* ssl) const;
  DtlsProof InPart(std::string_view device, x509_st* certificate) const;

  using Security = int (*)(const ssl_st*, const ssl_ctx_st*, int, int, int, void*, void*);

  ssl_ctx_st* raw_ = nullptr;
  Security default_security_ = nullptr;  // OpenSSL's rules
  bio_method_st* method_ = nullptr;
  std::unordered_map<std::string, std::string, KeyedStringHash, std::equal_to<>> keys_;
  const bool key_login_;
  const DeviceCertificate device_certificate_;
  const bool id_from_san_;
  const PartFrom part_from_;
  const std::string part_;
  const uint32_t session_lifetime_s_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_DTLS_CONTEXT_H_

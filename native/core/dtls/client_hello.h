// The part of a DTLS 1.2 handshake that needs no state: ClientHello in, HelloVerifyRequest out.
#ifndef SEGANET_CORE_DTLS_CLIENT_HELLO_H_
#define SEGANET_CORE_DTLS_CLIENT_HELLO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace seganet {

// Header of a DTLS record (RFC 6347 4.1).
inline constexpr size_t kDtlsRecordHeaderBytes = 13;

// Returns the epoch of the first record of a datagram; 0 = the handshake in plain text. Nothing if
// the datagram does not begin with the header of a DTLS 1.0 or 1.2 record.
std::optional<uint16_t> DtlsEpoch(std::span<const uint8_t> datagram);

// Returns the part of a datagram before its encrypted record number `allowed` + 1, and subtracts
// the others from `*allowed`. A malformed rest is not removed.
std::span<const uint8_t> LimitEncrypted(std::span<const uint8_t> datagram, size_t* allowed);

// A ClientHello (RFC 5246 7.4.1.2, RFC 6347 4.2.1). Views into the datagram.
struct ClientHello {
  std::string_view record_sequence;  // 6 bytes
  std::string_view version_random_id;
  std::string_view random;  // 32 bytes
  std::string_view cookie;  // empty in the first one of a client
  std::string_view suites_compression;
};

// Returns the ClientHello of a datagram that consists of it alone. Nothing for any other datagram,
// and for a ClientHello in fragments: a server without state cannot reassemble it (RFC 6347 4.2.4).
std::optional<ClientHello> ReadClientHello(std::span<const uint8_t> datagram);

// Makes and checks the cookies that prove a client's address (RFC 6347 4.2.1) without a memory of
// clients. A cookie is valid for the address and the parameters that it was made for, for 60 to
// 120 s.
//
// Thread safety: immutable after construction. Copies with the same secret accept each other's
// cookies.
class HelloCookies {
 public:
  using Secret = std::array<uint64_t, 4>;
  static constexpr size_t kBytes = 16;

  explicit HelloCookies(const Secret& secret) : secret_(secret) {}

  // Returns the HelloVerifyRequest for a ClientHello, which has fewer bytes than any ClientHello.
  std::string Challenge(std::string_view address, const ClientHello& hello, int64_t now_us) const;

  bool IsValid(std::string_view address, const ClientHello& hello, int64_t now_us) const;

 private:
  std::array<char, kBytes> Make(std::string_view address, const ClientHello& hello,
                                int64_t period) const;

  const Secret secret_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_CLIENT_HELLO_H_

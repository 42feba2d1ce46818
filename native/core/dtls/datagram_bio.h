// OpenSSL's network for a DTLS connection: datagrams in memory.
#ifndef SEGANET_CORE_DTLS_DATAGRAM_BIO_H_
#define SEGANET_CORE_DTLS_DATAGRAM_BIO_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

struct bio_method_st;
struct bio_st;

namespace seganet {

// Bytes of UDP payload that fit into the smallest MTU of IPv6, 1280. If two retransmissions of a
// handshake get no answer, its messages are split to the second size, which fits into 576 bytes.
inline constexpr long kDtlsMtuBytes = 1232;
inline constexpr long kDtlsFallbackMtuBytes = 548;
// Longest plain text of a record that this server sends. A CoAP message has at most 1152 bytes.
inline constexpr long kDtlsMaxPlainBytes = 1200;

// The datagrams of one connection.
class DatagramPipe {
 public:
  virtual void SendDatagram(std::string_view datagram) = 0;

  // The datagram that OpenSSL reads next; empty = none.
  std::span<const uint8_t> arrived;

 protected:
  ~DatagramPipe() = default;
};

// The caller frees it with BIO_meth_free, after all BIOs of it.
bio_method_st* MakeDatagramBioMethod();

// Returns null on failure. REQUIRES: `pipe` outlives the BIO.
bio_st* MakeDatagramBio(const bio_method_st* method, DatagramPipe* pipe);

}  // namespace seganet

#endif  // SEGANET_CORE_DTLS_DATAGRAM_BIO_H_

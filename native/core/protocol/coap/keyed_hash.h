#ifndef SEGANET_CORE_PROTOCOL_COAP_KEYED_HASH_H_
#define SEGANET_CORE_PROTOCOL_COAP_KEYED_HASH_H_

#include <cstdint>
#include <string_view>

namespace seganet::coap {

// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). Who does not know
// the key can neither foretell a value nor find two inputs with the same one.
uint64_t KeyedHash(uint64_t key0, uint64_t key1, std::string_view bytes);

// Numbers that nobody can foretell from those before, of one secret.
class SecretNumbers {
 public:
  explicit SecretNumbers(uint64_t secret) : secret_(secret) {}
  uint64_t Next();
  uint64_t HashOf(std::string_view bytes) const { return KeyedHash(secret_, 1, bytes); }

 private:
  const uint64_t secret_;
  uint64_t count_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_KEYED_HASH_H_

// Keyed hashing, for tables with untrusted keys and for numbers that peers must not predict.
#ifndef SEGANET_CORE_BASE_KEYED_HASH_H_
#define SEGANET_CORE_BASE_KEYED_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seganet {

// Returns SipHash-2-4 of `bytes` (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
// Without the key, an attacker can neither predict a value nor find two inputs with the same value.
uint64_t KeyedHash(uint64_t key0, uint64_t key1, std::string_view bytes);

// Hash function for a table with untrusted keys. Each object draws a random key, so that an
// attacker cannot choose table keys that collide.
//
// Thread safety: immutable after construction.
class KeyedStringHash {
 public:
  using is_transparent = void;
  KeyedStringHash();
  size_t operator()(std::string_view key) const { return KeyedHash(key0_, key1_, key); }

 private:
  uint64_t key0_;
  uint64_t key1_;
};

// Derives a sequence of numbers from a secret. Earlier numbers do not reveal later ones.
//
// Thread safety: none.
class SecretNumbers {
 public:
  explicit SecretNumbers(uint64_t secret) : secret_(secret) {}
  // Returns a sequence with a random secret.
  static SecretNumbers Random();
  // Returns the next number of the sequence.
  uint64_t Next();
  // Returns a hash of two strings that also depends on where the first one ends.
  uint64_t HashOf(std::string_view first, std::string_view second) const {
    return KeyedHash(secret_, KeyedHash(secret_, 1, first), second);
  }

 private:
  const uint64_t secret_;
  uint64_t count_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_KEYED_HASH_H_

#ifndef SEGANET_CORE_BASE_KEYED_HASH_H_
#define SEGANET_CORE_BASE_KEYED_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace seganet {

// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). Who does not know
// the key can neither foretell a value nor find two inputs with the same one.
uint64_t KeyedHash(uint64_t key0, uint64_t key1, std::string_view bytes);

// The hash of a table whose keys others choose: its key is drawn at random for each table, so that
// nobody can find keys that meet in one bucket.
class KeyedStringHash {
 public:
  using is_transparent = void;
  KeyedStringHash();
  size_t operator()(std::string_view key) const { return KeyedHash(key0_, key1_, key); }

 private:
  uint64_t key0_;
  uint64_t key1_;
};

// Numbers that nobody can foretell from those before, of one secret.
class SecretNumbers {
 public:
  explicit SecretNumbers(uint64_t secret) : secret_(secret) {}
  uint64_t Next();
  // Of two texts, which may not trade bytes.
  uint64_t HashOf(std::string_view first, std::string_view second) const {
    return KeyedHash(secret_, KeyedHash(secret_, 1, first), second);
  }

 private:
  const uint64_t secret_;
  uint64_t count_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_KEYED_HASH_H_

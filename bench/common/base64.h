#ifndef SEGANET_BENCH_COMMON_BASE64_H_
#define SEGANET_BENCH_COMMON_BASE64_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

// Decodes base64 (RFC 4648, 4) into `out`. Returns false if the text is not whole groups of four
// with its padding.
inline bool DecodeBase64(std::string_view text, std::string* out) {
  static constexpr std::array<int8_t, 256> kValues = [] {
    std::array<int8_t, 256> values{};
    values.fill(-1);
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < kAlphabet.size(); ++i) {
      values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
    }
    return values;
  }();
  out->clear();
  if (text.size() % 4 != 0) return false;
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int8_t value = kValues[static_cast<uint8_t>(c)];
    if (value < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out->push_back(static_cast<char>(bits >> count));
  }
  return true;
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_BASE64_H_

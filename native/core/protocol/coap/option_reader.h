// Reads the options of a CoAP message one by one.
#ifndef SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_
#define SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace seganet::coap {

// Walks the options of one message (RFC 7252 3.1), starting at the byte after its token.
class OptionReader {
 public:
  enum class Step : uint8_t {
    kOption,
    kEnd,        // no bytes are left
    kPayload,    // the marker was read; payload() is what follows, possibly nothing
    kShort,      // the bytes end inside an option
    kMalformed,  // a reserved length, or a number over 65,535
  };

  explicit OptionReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // Reads the next option.
  Step Next();

  // The option of the last Next() that returned kOption.
  uint16_t number() const { return static_cast<uint16_t>(number_); }
  std::string_view value() const { return value_; }

  // Bytes read so far. After kShort: the end of the last whole option.
  size_t position() const { return at_; }
  std::span<const uint8_t> payload() const { return bytes_.subspan(at_); }

 private:
  // Reads the one or two bytes that follow a nibble of 13 or 14. False when they are missing.
  bool Extend(uint32_t* nibble);

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint32_t number_ = 0;
  std::string_view value_;
};

// Inline, because they run several times per message.
inline bool OptionReader::Extend(uint32_t* nibble) {
  if (*nibble == 13) {
    if (at_ >= bytes_.size()) return false;
    *nibble = 13u + bytes_[at_++];
  } else if (*nibble == 14) {
    if (bytes_.size() - at_ < 2) return false;
    *nibble = 269u + (uint32_t{bytes_[at_]} << 8 | bytes_[at_ + 1]);
    at_ += 2;
  }
  return true;
}

inline OptionReader::Step OptionReader::Next() {
  if (at_ >= bytes_.size()) return Step::kEnd;
  const size_t start = at_;
  const uint8_t first = bytes_[at_++];
  if (first == 0xFF) return Step::kPayload;
  uint32_t delta = first >> 4;
  uint32_t size = first & 0x0F;
  if (delta == 15 || size == 15) return Step::kMalformed;
  const bool whole =
      (delta < 13 || Extend(&delta)) && (size < 13 || Extend(&size)) && bytes_.size() - at_ >= size;
  if (!whole) {
    at_ = start;  // position() is the end of the last whole option
    return Step::kShort;
  }
  number_ += delta;
  if (number_ > 0xFFFF) return Step::kMalformed;
  value_ = {reinterpret_cast<const char*>(bytes_.data()) + at_, size};
  at_ += size;
  return Step::kOption;
}

// Decodes an unsigned integer of 0 to 4 bytes (RFC 7252 3.2).
// REQUIRES: value.size() <= 4.
uint32_t UintOf(std::string_view value);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_

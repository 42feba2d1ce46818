#ifndef SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_
#define SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace seganet::coap {

// Walks the options of one message (RFC 7252 3.1), from the byte after its token on.
class OptionReader {
 public:
  enum class Step : uint8_t {
    kOption,
    kEnd,        // no bytes are left
    kPayload,    // the marker is behind: payload() is not empty unless the bytes end here
    kShort,      // the bytes end within an option
    kMalformed,  // a reserved length, or a number over 65,535
  };

  explicit OptionReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  Step Next();

  // Of the last kOption.
  uint16_t number() const { return static_cast<uint16_t>(number_); }
  std::string_view value() const { return value_; }

  size_t position() const { return at_; }
  std::span<const uint8_t> payload() const { return bytes_.subspan(at_); }

 private:
  // The 13 and 14 of a nibble stand for one or two bytes more.
  bool Extend(uint32_t* nibble);

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint32_t number_ = 0;
  std::string_view value_;
};

// An unsigned integer of 0 to 4 bytes (RFC 7252 3.2). REQUIRES: value.size() <= 4.
uint32_t UintOf(std::string_view value);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_OPTION_READER_H_

#include "core/protocol/coap/option_reader.h"

namespace seganet::coap {

bool OptionReader::Extend(uint32_t* nibble) {
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

OptionReader::Step OptionReader::Next() {
  if (at_ >= bytes_.size()) return Step::kEnd;
  const size_t start = at_;
  const uint8_t first = bytes_[at_++];
  if (first == 0xFF) return Step::kPayload;
  uint32_t delta = first >> 4;
  uint32_t size = first & 0x0F;
  if (delta == 15 || size == 15) return Step::kMalformed;
  if (!Extend(&delta) || !Extend(&size) || bytes_.size() - at_ < size) {
    at_ = start;  // so that position() is where whole options end
    return Step::kShort;
  }
  number_ += delta;
  if (number_ > 0xFFFF) return Step::kMalformed;
  value_ = {reinterpret_cast<const char*>(bytes_.data()) + at_, size};
  at_ += size;
  return Step::kOption;
}

uint32_t UintOf(std::string_view value) {
  uint32_t number = 0;
  for (const char c : value) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

}  // namespace seganet::coap

// Reads the fields of an MQTT packet. Clauses are those of 3.1.1; "5:" marks MQTT 5.0.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_READER_H_
#define SEGANET_CORE_PROTOCOL_MQTT_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace seganet::mqtt {

// A cursor over one packet's body. Each function takes one field. It returns false, and takes
// nothing, when the bytes end before the field does.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool U8(uint8_t* value) {
    if (bytes_.empty()) return false;
    *value = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return true;
  }

  bool U16(uint16_t* value) {  // big-endian, 1.5.2
    if (bytes_.size() < 2) return false;
    *value = static_cast<uint16_t>(bytes_[0] << 8 | bytes_[1]);
    bytes_ = bytes_.subspan(2);
    return true;
  }

  bool U32(uint32_t* value) {
    if (bytes_.size() < 4) return false;
    *value = uint32_t{bytes_[0]} << 24 | uint32_t{bytes_[1]} << 16 | uint32_t{bytes_[2]} << 8 |
             bytes_[3];
    bytes_ = bytes_.subspan(4);
    return true;
  }

  // 5: 1.5.5, a variable byte integer; also false if it is longer than needed [MQTT-1.5.5-1].
  bool Variable(uint32_t* value) {
    uint32_t sum = 0;
    for (size_t i = 0; i < 4 && i < bytes_.size(); ++i) {
      sum |= uint32_t{bytes_[i] & 0x7FU} << (7 * i);
      if ((bytes_[i] & 0x80) != 0) continue;
      if (i > 0 && bytes_[i] == 0) return false;
      *value = sum;
      bytes_ = bytes_.subspan(i + 1);
      return true;
    }
    return false;
  }

  // Takes `size` bytes.
  bool Take(size_t size, std::span<const uint8_t>* value) {
    if (bytes_.size() < size) return false;
    *value = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return true;
  }

  // A field with a 16-bit length prefix.
  bool Binary(std::span<const uint8_t>* value) {
    if (bytes_.size() < 2) return false;
    const size_t size = static_cast<size_t>(bytes_[0]) << 8 | bytes_[1];
    if (bytes_.size() - 2 < size) return false;
    *value = bytes_.subspan(2, size);
    bytes_ = bytes_.subspan(2 + size);
    return true;
  }

  // The same as characters, which are not validated.
  bool Text(std::string_view* value) {
    std::span<const uint8_t> bytes;
    if (!Binary(&bytes)) return false;
    *value = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return true;
  }

  bool empty() const { return bytes_.empty(); }
  std::span<const uint8_t> rest() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_READER_H_

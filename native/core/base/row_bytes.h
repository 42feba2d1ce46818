// Writes and reads rows of little-endian numbers and texts, for what is kept over a restart.
#ifndef SEGANET_CORE_BASE_ROW_BYTES_H_
#define SEGANET_CORE_BASE_ROW_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seganet {

// Appends a whole number.
template <typename Int>
void AppendNumber(std::string* to, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i) {
    to->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
}

// Appends a text after its length. REQUIRES: text.size() < 65,536.
inline void AppendText(std::string* to, std::string_view text) {
  AppendNumber(to, static_cast<uint16_t>(text.size()));
  to->append(text);
}

// Reads such a row. After the first failure, all reads fail.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : left_(bytes) {}

  template <typename Int>
  Int Number() {
    if (left_.size() < sizeof(Int)) return Fail(), Int{};
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(Int); ++i) {
      value |= uint64_t{static_cast<uint8_t>(left_[i])} << (8 * i);
    }
    left_.remove_prefix(sizeof(Int));
    return static_cast<Int>(value);
  }
  std::string_view Text() {
    const size_t size = Number<uint16_t>();
    if (left_.size() < size) return Fail(), std::string_view();
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }
  void Fail() {
    ok_ = false;
    left_ = {};
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_ROW_BYTES_H_

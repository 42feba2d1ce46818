#ifndef SEGANET_BENCH_RELAY_RECORDS_H_
#define SEGANET_BENCH_RELAY_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bench {

// Counts the TLS records of a byte stream, however it is split.
//
// [RFC 8446 5.1] A header has five bytes: type, version, length of the body. [RFC 8446 5.2] All
// encrypted records have the type application_data, so the last handshake messages count as data,
// too: a few per connection.
class RecordCounter {
 public:
  void Add(std::string_view bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty() && !broken_) {
      if (body_left_ == 0) {
        header_[header_size_++] = static_cast<uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        if (header_size_ == kHeader) Begin();
        continue;
      }
      const size_t part = std::min(body_left_, bytes.size());
      bytes.remove_prefix(part);
      body_left_ -= part;
      if (body_left_ == 0) End();
    }
  }

  uint64_t bytes() const { return bytes_; }      // of the stream, including headers
  uint64_t records() const { return records_; }  // complete records of every type
  uint64_t data() const { return data_; }        // complete records with application data
  bool broken() const { return broken_; }        // not TLS; bytes still count

 private:
  static constexpr size_t kHeader = 5;
  static constexpr size_t kMaxLength = (1 << 14) + 2048;  // [RFC 5246 6.2.3]; TLS 1.3: + 256
  static constexpr uint8_t kFirstType = 20;               // change_cipher_spec
  static constexpr uint8_t kApplicationData = 23;
  static constexpr uint8_t kLastType = 24;  // heartbeat

  void Begin() {
    header_size_ = 0;
    body_left_ = size_t{header_[3]} << 8 | header_[4];
    broken_ = header_[0] < kFirstType || header_[0] > kLastType || header_[1] != 3 ||
              body_left_ > kMaxLength;
    if (body_left_ == 0 && !broken_) End();
  }

  void End() {
    ++records_;
    if (header_[0] == kApplicationData) ++data_;
  }

  uint8_t header_[kHeader] = {};
  size_t header_size_ = 0;
  size_t body_left_ = 0;
  uint64_t bytes_ = 0;
  uint64_t records_ = 0;
  uint64_t data_ = 0;
  bool broken_ = false;
};

}  // namespace bench

#endif  // SEGANET_BENCH_RELAY_RECORDS_H_

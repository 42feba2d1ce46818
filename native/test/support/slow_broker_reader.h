// The expected input of BrokerReader, by the specification: packet by packet, with all bytes at
// hand.
#ifndef SEGANET_TEST_SUPPORT_SLOW_BROKER_READER_H_
#define SEGANET_TEST_SUPPORT_SLOW_BROKER_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace seganet::test {

struct BrokerReading {
  std::vector<std::pair<int, int>> acks;  // identifier, reason code
  std::string others;
  std::string held;  // of a packet that is not whole

  bool operator==(const BrokerReading&) const = default;
};

inline BrokerReading ReadSlowly(std::span<const uint8_t> all) {
  BrokerReading reading;
  const auto text = [](std::span<const uint8_t> bytes) {
    return std::string(bytes.begin(), bytes.end());
  };
  while (!all.empty()) {
    size_t length = 0, header = 1, factor = 1;
    bool more = true;
    for (; more && header < 5 && header < all.size(); factor *= 128) {
      length += (all[header] % 128) * factor;
      more = all[header++] >= 128;
    }
    if (more && header == 5) {
      reading.others += text(all);
      break;
    }
    const size_t size = header + length;
    const bool is_puback = all[0] / 16 == 4 && length >= 2 && size <= 65'536;
    if (more || (is_puback && size > all.size())) {
      reading.held = text(all);
      break;
    }
    const auto packet = all.first(std::min(size, all.size()));
    const auto body = packet.subspan(header);
    if (is_puback) {
      reading.acks.emplace_back(body[0] * 256 + body[1], length > 2 ? body[2] : 0);
    } else {
      reading.others += text(packet);
    }
    all = all.subspan(packet.size());
  }
  return reading;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_SLOW_BROKER_READER_H_

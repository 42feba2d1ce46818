#ifndef SEGANET_BENCH_COAPGEN_NOTICES_H_
#define SEGANET_BENCH_COAPGEN_NOTICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../common/histogram.h"

namespace bench {

// What the notifications of all observations of a process say (RFC 7641): their latency, which
// posts were skipped because a later one replaced them, and the last post of each device.
struct Notices {
  uint64_t received = 0;
  uint64_t skipped = 0;     // posts between two notifications
  uint64_t backward = 0;    // a post that is older than the one before, or the same again
  uint64_t unreadable = 0;  // without a record
  uint64_t failed = 0;      // an error, which ends the observation (RFC 7641, 4.2)
  Histogram latency_us;     // from the time at which the device intended to post
};

// The observations of one connection.
//
// Thread safety: none; one thread owns all connections.
class Observations {
 public:
  // Records of devices with a number of at least `below` are those of a warm-up and do not count.
  Observations(uint32_t below, Notices* notices) : below_(below), notices_(*notices) {}

  // A notification. `body`: options and payload.
  void Take(uint8_t code, std::string_view body, int64_t now_us);
  // Sequence number of the last post by device.
  const std::unordered_map<uint32_t, uint32_t>& last() const { return last_; }

 private:
  const uint32_t below_;
  Notices& notices_;
  std::unordered_map<uint32_t, uint32_t> last_;
};

// The last post of each device that has reached every connection which observes it.
class Reached {
 public:
  void Add(const Observations& observations);
  // Returns [[device, connections, lowest last sequence number],...].
  std::string Json() const;

 private:
  struct Lowest {
    uint32_t connections = 0;
    uint32_t seq = UINT32_MAX;
  };
  std::map<uint32_t, Lowest> lowest_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_NOTICES_H_

// How long a batch waits for more records to save bytes.
//
// A message has `head` bytes besides its records: headers of MQTT, TLS and TCP/IP, in both
// directions. A batch of n records has head / n of them for each record of c bytes. From
// n* = head / (s c) on, more records could not save more than the share s of a record's bytes.
// A batch waits
//
//   min(patience - reserve, n* / rate)
//
// kThrifty    s = 1 %: in practice until the patience ends, or m is reached
// kBalanced   the same on a link that costs by the byte; on any other one s = 5 %, and no wait at
//             rates whose heads are less than kFreeBytesPerS
// kFast       no wait
//
// `reserve` is the time that delivery takes, from the sealed batch to its acknowledgment, and at
// least an eighth of the patience, because a link may become slower while a batch waits.
#ifndef SEGANET_CORE_QUEUE_THRIFT_H_
#define SEGANET_CORE_QUEUE_THRIFT_H_

#include <cstdint>

namespace seganet {

enum class Thrift : uint8_t { kFast, kBalanced, kThrifty };

// Before anything was measured: a message of MQTT 5 over TLS, and a compressed record.
inline constexpr uint32_t kFirstHeadBytes = 220;
inline constexpr uint32_t kFirstRecordBytes = 60;
// On a link that does not cost by the byte, heads of less than 4 KiB/s are not worth a delay.
inline constexpr int64_t kFreeBytesPerS = 4096;

// What a link is like for the batches of a class.
struct LinkCost {
  bool is_metered = false;                    // costs by the byte
  uint32_t head_bytes = kFirstHeadBytes;      // of a message, besides its records
  uint32_t record_bytes = kFirstRecordBytes;  // of a record in a message, as sent
  int64_t reserve_us = kUnknownReserve;       // kUnknownReserve = nothing was delivered yet

  static constexpr int64_t kUnknownReserve = -1;
};

// Returns how long a batch may wait after its first record arrived, µs. `per_s`: records per second
// that the batch gets.
int64_t WaitUs(Thrift thrift, int64_t patience_us, const LinkCost& link, int64_t per_s);

// Estimates how long delivery takes at most: the smoothed time and four deviations, as for TCP's
// retransmission timer [RFC 6298]. A deviation grows at once and shrinks slowly.
class DeliveryTime {
 public:
  void Add(int64_t us);
  // Returns the estimate, LinkCost::kUnknownReserve before the first Add.
  int64_t AtMostUs() const;

 private:
  int64_t mean_us_ = LinkCost::kUnknownReserve;
  int64_t deviation_us_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_THRIFT_H_

#ifndef SEGANET_BENCH_LOADGEN_DEVICE_H_
#define SEGANET_BENCH_LOADGEN_DEVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "../common/record.h"
#include "counters.h"
#include "flights.h"
#include "options.h"
#include "rate.h"
#include "schedule.h"

namespace bench {

// The state that all devices share.
struct Fleet {
  const LoadOptions& options;
  const Rate& rate;
  LoadCounters& counters;
  std::vector<char> scratch;  // buffer for one write of a device
};

// One simulated device with its own TCP connection and MQTT session. It never drops a message: one
// that cannot be sent on time waits, keeps its intended time, and counts as late.
//
// Thread safety: none; one thread owns all devices.
class Device {
 public:
  Device(uint32_t number, Fleet& fleet);

  // Starts a connection. Returns false on failure: try again later.
  bool Connect(int epoll);
  // Handles epoll events. Returns false if the connection is lost: call Connect() after a while.
  bool OnEvents(uint32_t events);
  // Adds a due message. Returns true if none was due before.
  bool AddDue() { return due_++ == issued_; }
  // Sends due messages that fit into the window, in one write. Returns false if the connection is
  // lost.
  bool Pump();
  // Sends a PINGREQ if nothing was written for most of the keep-alive interval. Returns false if
  // the connection is lost.
  bool Ping(int64_t now_us);
  void SetStart(int64_t start_us) { start_us_ = start_us; }
  // Sends DISCONNECT and closes.
  void Finish();

  bool up() const { return state_ == State::kUp; }
  bool settled() const { return issued_ == due_ && flights_.size() == 0; }
  uint64_t unsent() const { return due_ - issued_; }
  // Returns {"device":0,"kind":0,"issued":200,"longestUs":950,"unacked":[[4,4]]} for each kind.
  // longestUs: the longest time from the intended time of a message to its acknowledgement.
  std::string StreamsJson() const;

 private:
  enum class State { kDown, kConnecting, kAwaitingConnack, kUp };

  bool Fail();
  bool Read();
  // Handles the packets in `in`. Returns the bytes used, or -1 on a protocol error.
  ssize_t OnBytes(std::string_view in);
  bool OnConnack();
  void Acknowledge(uint16_t packet_id, int64_t now_us);
  bool Write(std::string_view bytes);
  bool FlushRest();
  char* WriteNext(char* out, int64_t now_us);
  char* WritePublish(char* out, const Flight& flight, uint16_t packet_id, bool dup) const;
  uint8_t NextKind() const;
  size_t NextBytes() const;

  const uint32_t number_;
  Fleet& fleet_;
  State state_ = State::kDown;
  int fd_ = -1;
  std::string in_;    // the start of a packet
  std::string rest_;  // bytes that the kernel has not accepted yet
  Flights flights_;
  Arrivals arrivals_;  // intended time of the next message
  int64_t start_us_ = 0;
  int64_t written_us_ = 0;  // time of the last write
  uint64_t due_ = 0;
  uint64_t issued_ = 0;
  uint32_t seq_[kKinds] = {};
  int64_t longest_us_[kKinds] = {};
};

// Room for the longest PUBLISH without its payload: fixed header, topic, packet identifier.
inline constexpr size_t kMaxHead = 5 + 2 + 12 + 64 + 2;
// Most bytes that a device writes at once, without the last message.
inline constexpr size_t kMaxWrite = 1 << 16;

inline size_t ScratchBytes(const LoadOptions& options) {
  return kMaxWrite + kMaxHead + std::max(options.payload_max, kMaxFields);
}

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_DEVICE_H_

#ifndef SEGANET_BENCH_LOADGEN_DEVICE_H_
#define SEGANET_BENCH_LOADGEN_DEVICE_H_

#include <netinet/in.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../common/histogram.h"
#include "../common/record.h"

namespace bench {

struct LoadOptions {
  sockaddr_in gateway{};
  uint32_t devices = 1000;
  uint32_t first_device = 0;  // their numbers start here: a second generator is another fleet
  double rate = 10;           // messages a second and device
  double seconds = 20;        // of sending
  double drain_seconds = 30;  // at most, after that, for the last acknowledgements
  size_t payload_bytes = 200;
  uint32_t alarm_every = 20;     // one message in so many is an alarm; 0 = none
  std::string topic_kind = "t";  // last level of the topic of what is no alarm
  size_t inflight = 64;          // unacknowledged messages a device, at most
  int64_t late_us = 10000;       // a send this much after its intended time counts as late
  int64_t lead_us = 300000;      // from the last connection to the first message
  int64_t skip_us = 0;           // acknowledgement latency is not counted before
  bool clean = true;             // a new session at each connection; false: the broker keeps it
  uint16_t keepalive_s = 60;
};

struct LoadCounters {
  uint64_t sent = 0;
  uint64_t acked = 0;
  uint64_t resent = 0;
  uint64_t late = 0;
  uint64_t connection_losses = 0;
  uint64_t acks_out_of_order = 0;
  uint64_t acks_unknown = 0;
  uint64_t protocol_errors = 0;
  Histogram ack_us;        // intended to acknowledged
  Histogram puback_us[2];  // by kind: first written to acknowledged
  Histogram send_lag_us;   // intended to written, whatever the reason
};

// One simulated device: its own TCP connection and MQTT session. Messages are never dropped: one
// that cannot be sent on time waits, keeps its intended time, and is counted as late.
//
// Thread safety: none; one thread owns all devices.
class Device {
 public:
  Device(uint32_t number, const LoadOptions& options, LoadCounters& counters);

  // Starts a connection. False: try again later.
  bool Connect(int epoll);
  // Epoll said so. False: the connection is gone; call Connect() after a while.
  bool OnEvents(uint32_t events);
  // The device has one more message to send, at slot `due() * devices + number` of the schedule.
  void AddDue() { ++due_; }
  // Sends what is due and has room. False: the connection is gone.
  bool Pump();
  void SetStart(int64_t start_us) { start_us_ = start_us; }
  // Says DISCONNECT and closes.
  void Finish();

  bool up() const { return state_ == State::kUp; }
  bool settled() const { return issued_ == due_ && flights_.empty(); }
  uint64_t unsent() const { return due_ - issued_; }
  // {"device":0,"kind":0,"issued":200,"unacked":[[4,4]]} for both kinds.
  std::string StreamsJson() const;

 private:
  enum class State { kDown, kConnecting, kAwaitingConnack, kUp };
  struct Flight {
    Record record;
    int64_t sent_us;  // when it was written first
    uint16_t packet_id;
    bool acked;
  };

  bool Fail();
  bool Read();
  bool Flush();
  void Acknowledge(uint16_t packet_id);
  void AppendPublish(const Flight& flight, bool dup);
  int64_t IntendedUs(uint64_t index) const;

  const uint32_t number_;
  const LoadOptions& options_;
  LoadCounters& counters_;
  const std::string id_;
  State state_ = State::kDown;
  int fd_ = -1;
  int epoll_ = -1;
  bool wants_write_ = false;
  std::string in_;
  std::string out_;  // bytes that the kernel did not take yet
  std::deque<Flight> flights_;
  int64_t start_us_ = 0;
  uint64_t due_ = 0;
  uint64_t issued_ = 0;
  uint32_t seq_[2] = {0, 0};
  uint16_t packet_id_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_LOADGEN_DEVICE_H_

#ifndef SEGANET_BENCH_COAPGEN_DEVICE_H_
#define SEGANET_BENCH_COAPGEN_DEVICE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../common/coap.h"
#include "../loadgen/schedule.h"
#include "settings.h"

namespace bench {

// One device: a TCP connection or a UDP socket of its own, and the requests that it waits for. Over
// UDP they are confirmable (RFC 7252, 4.2): sent again after 2 to 3 s, then 4 to 6 s …, four times.
//
// Thread safety: none; one thread owns all devices.
class CoapDevice {
 public:
  CoapDevice(uint32_t number, const CoapFleet& fleet);
  ~CoapDevice();
  CoapDevice(const CoapDevice&) = delete;
  CoapDevice& operator=(const CoapDevice&) = delete;

  bool Connect(int epoll);
  // When sending begins, and when a closed loop ends.
  void SetTimes(int64_t start_us, int64_t end_us) {
    start_us_ = start_us;
    end_us_ = end_us;
  }
  // One more is due. True when none was.
  bool AddDue() { return due_++ == seq_; }
  // Posts what is due, in closed mode what has room. False: the connection is gone.
  bool Pump();
  // Epoll said so. False: the connection is gone.
  bool OnEvents(uint32_t events);
  // Sends again what waits for too long.
  void Retransmit(int64_t now_us);

  bool settled() const { return flights_.empty() && (fleet_.settings.closed || due_ == seq_); }
  uint64_t unsent() const { return fleet_.settings.closed ? 0 : due_ - seq_; }
  // {"device":0,"kind":0,"issued":20,"unacked":[[4,4]]}: what has no good answer.
  std::string StreamJson() const;

 private:
  // Its number among the devices of all generators.
  uint32_t record_device() const { return fleet_.settings.first + number_; }

  struct Flight {
    int64_t intended_us;
    int64_t sent_us;
    int64_t again_us;  // UDP: when it goes again
    uint32_t timeout_us;
    uint16_t id;
    uint8_t retransmissions;
    bool acked;  // UDP: the server has it, the answer comes by itself
    bool done;
  };

  void Post(int64_t intended_us, int64_t now_us);
  // The whole message into out_.
  void AppendRequest(uint32_t seq, const Flight& flight);
  bool Flush();
  bool Read();
  bool OnStream(std::string_view in, int64_t now_us);
  void OnDatagram(std::string_view in, int64_t now_us);
  void OnAnswer(std::string_view token, uint8_t code, size_t bytes, int64_t now_us);
  // The flight with this message identifier; its index, flights_.size() when there is none.
  size_t FindId(uint16_t id) const;
  void Done(size_t index, bool good);

  const uint32_t number_;
  const CoapFleet fleet_;
  int fd_ = -1;
  std::string options_;         // Uri-Path, and the marker of the payload
  std::string in_;              // the start of a message
  std::string out_;             // what is to be written
  std::deque<Flight> flights_;  // the last one has sequence number seq_ - 1
  std::vector<uint32_t> failed_;
  Arrivals arrivals_;  // of the request to be posted next
  int64_t start_us_ = kNever;
  int64_t end_us_ = kNever;
  int64_t next_again_us_ = kNever;
  uint64_t random_;
  uint64_t due_ = 0;
  uint32_t seq_ = 0;
  uint16_t id_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_DEVICE_H_

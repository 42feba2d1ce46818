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

// One device: its own TCP connection or UDP socket, and its requests in flight. Over UDP they are
// confirmable (RFC 7252, 4.2): retransmitted after 2 to 3 s, then 4 to 6 s and so on, four times.
//
// Thread safety: none; one thread owns all devices.
class CoapDevice {
 public:
  CoapDevice(uint32_t number, const CoapFleet& fleet);
  ~CoapDevice();
  CoapDevice(const CoapDevice&) = delete;
  CoapDevice& operator=(const CoapDevice&) = delete;

  bool Connect(int epoll);
  // Sets when sending begins, and when a closed loop ends.
  void SetTimes(int64_t start_us, int64_t end_us) {
    start_us_ = start_us;
    end_us_ = end_us;
  }
  // Adds a due request. Returns true if none was due before.
  bool AddDue() { return due_++ == seq_; }
  // Posts due requests, or in closed mode fills the window. Returns false if the connection is
  // lost.
  bool Pump();
  // Handles epoll events. Returns false if the connection is lost.
  bool OnEvents(uint32_t events);
  // Retransmits requests whose time-out has expired.
  void Retransmit(int64_t now_us);

  bool settled() const { return flights_.empty() && (fleet_.settings.closed || due_ == seq_); }
  uint64_t unsent() const { return fleet_.settings.closed ? 0 : due_ - seq_; }
  // Returns {"device":0,"kind":0,"issued":20,"unacked":[[4,4]]}; unacked: without a 2.xx answer.
  std::string StreamJson() const;

 private:
  // The device's number among those of all generators.
  uint32_t record_device() const { return fleet_.settings.first + number_; }

  struct Flight {
    int64_t intended_us;
    int64_t sent_us;
    int64_t again_us;  // UDP: time of the next retransmission
    uint32_t timeout_us;
    uint16_t id;
    uint8_t retransmissions;
    bool acked;  // UDP: the server has the request and will send a separate response
    bool done;
  };

  void Post(int64_t intended_us, int64_t now_us);
  // Appends the whole message to out_.
  void AppendRequest(uint32_t seq, const Flight& flight);
  bool Flush();
  bool Read();
  bool OnStream(std::string_view in, int64_t now_us);
  void OnDatagram(std::string_view in, int64_t now_us);
  void OnAnswer(std::string_view token, uint8_t code, size_t bytes, int64_t now_us);
  // Returns the index of the flight with this message identifier, flights_.size() if there is none.
  size_t FindId(uint16_t id) const;
  void Done(size_t index, bool good);

  const uint32_t number_;
  const CoapFleet fleet_;
  int fd_ = -1;
  std::string options_;         // Uri-Path, and the marker of the payload
  std::string in_;              // the start of a message
  std::string out_;             // bytes to write
  std::deque<Flight> flights_;  // the last one has sequence number seq_ - 1
  std::vector<uint32_t> failed_;
  Arrivals arrivals_;  // intended time of the next request
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

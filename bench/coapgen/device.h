#ifndef SEGANET_BENCH_COAPGEN_DEVICE_H_
#define SEGANET_BENCH_COAPGEN_DEVICE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../common/coap.h"
#include "../loadgen/schedule.h"
#include "connection.h"
#include "settings.h"

namespace bench {

// One device: its requests on a connection. Over UDP they are confirmable (RFC 7252, 4.2):
// retransmitted after 2 to 3 s, then 4 to 6 s and so on, four times.
//
// Thread safety: none; one thread owns all devices.
class CoapDevice {
 public:
  CoapDevice(uint32_t number, Connection* connection, const CoapFleet& fleet);
  CoapDevice(const CoapDevice&) = delete;
  CoapDevice& operator=(const CoapDevice&) = delete;

  // Sets when sending begins, and when a closed loop ends.
  void SetTimes(int64_t start_us, int64_t end_us) {
    start_us_ = start_us;
    end_us_ = end_us;
  }
  // Adds due requests. Returns true if none was due before.
  bool AddDue(uint64_t count = 1) {
    const bool first = due_ == seq_;
    due_ += count;
    return first;
  }
  // Appends due requests to the connection's bytes while it has room, or in closed mode fills the
  // window.
  void Pump();
  // There is room, for which the device waited.
  void Resume() {
    waits_ = false;
    Pump();
  }
  // An answer. `seq`: the lower bits of the request's sequence number.
  void OnAnswer(uint16_t seq, uint8_t code, size_t bytes, int64_t now_us);
  // UDP: an empty acknowledgement or a reset.
  void OnEmpty(const coap::Datagram& message);
  // Retransmits requests whose time-out has expired.
  void Retransmit(int64_t now_us);

  Connection& connection() { return connection_; }
  bool settled() const { return flights_.empty() && (closed() || due_ == seq_); }
  uint64_t unsent() const { return closed() ? 0 : due_ - seq_; }
  // Returns {"device":0,"kind":0,"issued":20,"unacked":[[4,4]]}; unacked: without a 2.xx answer.
  std::string StreamJson() const;

 private:
  bool closed() const { return fleet_.settings.mode == Mode::kClosed; }
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

  std::string SegmentOf(const std::string& segment) const;
  void Post(int64_t intended_us, int64_t now_us);
  // Appends the whole message to the connection's bytes.
  void AppendRequest(uint32_t seq, const Flight& flight);
  // Returns options and payload.
  std::string RequestBody(uint32_t seq, const Flight& flight) const;
  void WaitForRoom();
  size_t FindId(uint16_t id) const;
  void Done(size_t index, bool good);

  const uint32_t number_;
  const CoapFleet fleet_;
  Connection& connection_;
  const uint16_t index_;        // on the connection
  std::string options_;         // and the marker of the payload
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
  bool waits_ = false;  // in the connection's list
};

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_DEVICE_H_

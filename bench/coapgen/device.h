#ifndef SEGANET_BENCH_COAPGEN_DEVICE_H_
#define SEGANET_BENCH_COAPGEN_DEVICE_H_

#include <netinet/in.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "../common/coap.h"
#include "../common/histogram.h"

namespace bench {

struct Settings {
  sockaddr_in server{};
  uint32_t devices = 0;
  uint32_t first = 0;  // number of the first one
  double rate = 0;     // requests a second, of all devices together
  double seconds = 0;
  double drain_seconds = 0;
  size_t request_bytes = 0;
  size_t window = 0;  // unanswered requests of a device, at most; what is due beyond waits
  bool udp = false;
  bool closed = false;  // each device keeps `window` requests unanswered, whatever the rate
  uint8_t method = coap::kPost;
  std::string path;  // {device} is the device's id
};

struct Totals {
  uint64_t sent = 0;
  uint64_t answered = 0;
  uint64_t refused = 0;     // an answer that is no 2.xx
  uint64_t unknown = 0;     // an answer to nothing
  uint64_t sent_again = 0;  // over UDP: no answer in ACK_TIMEOUT
  uint64_t lost_connections = 0;
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  int64_t end_us = 0;     // of sending
  Histogram answer_us;    // intended to answered
  Histogram round_us;     // written to answered
  Histogram send_lag_us;  // intended to written
};

// A device: a socket of its own, and what it waits for. False from any call: its connection is
// lost.
class Device {
 public:
  Device(uint32_t number, const Settings& settings, Totals& totals);
  ~Device();

  bool Connect(int epoll);
  void AddDue(int64_t intended_us) { due_.push_back(intended_us); }
  // Posts what is due, or in the closed mode what the window has room for.
  bool Pump();
  bool OnEvents(uint32_t events);
  // Over UDP: sends again what was not answered in time (RFC 7252 4.2).
  bool OnTime(int64_t now_us);

  bool settled() const { return due_.empty() && flights_.empty(); }
  uint64_t unsent() const { return due_.size(); }
  uint32_t issued() const { return seq_; }
  // Sequence numbers without an answer.
  std::string Unanswered() const;

 private:
  struct Flight {
    uint32_t seq;
    int64_t intended_us;
    int64_t sent_us;
    int64_t written_us;     // the last time
    std::string datagram;   // over UDP
    bool is_taken = false;  // its empty acknowledgement came: the answer will be separate
  };

  void Post(int64_t intended_us);
  bool ReceiveStream();
  bool ReceiveDatagrams();
  void OnDatagram(std::string_view datagram);
  void Answered(std::string_view token, uint8_t code, size_t bytes);
  bool Flush();

  const uint32_t number_;
  const Settings& settings_;
  Totals& totals_;
  int fd_ = -1;
  int epoll_ = -1;
  bool waits_ = false;
  uint32_t seq_ = 0;
  std::string in_, out_, body_, path_;
  std::deque<int64_t> due_;
  std::deque<Flight> flights_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_DEVICE_H_

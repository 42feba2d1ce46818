#ifndef SEGANET_BENCH_COAPGEN_CONNECTION_H_
#define SEGANET_BENCH_COAPGEN_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "../common/coap.h"
#include "notices.h"
#include "settings.h"

namespace bench {

class CoapDevice;

// A TCP connection or UDP socket, and the devices that use it. Over TCP it first sends the messages
// of Settings::hellos, each after a 2.xx answer to the one before. Answers Pings (RFC 8323, 5.4),
// and requests with a small map, as a device that others read. Messages with a token of two bytes
// are notifications: a hello was a GET that observes with this token.
//
// Thread safety: none; one thread owns all connections.
class Connection {
 public:
  Connection(uint32_t number, const CoapFleet& fleet)
      : number_(number),
        fleet_(fleet),
        observations_(fleet.settings.notices_below, &fleet.totals.notices) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Adds a device. Returns its index, which is in the tokens of its requests.
  uint16_t Attach(CoapDevice* device);

  // Connects, and sends the first of the hellos.
  bool Open(int epoll);
  // True once the hellos are answered, if any.
  bool ready() const { return ready_; }
  // Code of the answer that ended the hellos, 0 = none did.
  uint8_t refused() const { return refused_; }
  // Bodies of the answers to the hellos.
  const std::vector<std::string>& answers() const { return answers_; }
  const Observations& observations() const { return observations_; }

  // Handles epoll events. Returns false if the connection is lost.
  bool OnEvents(uint32_t events);
  // Writes what the kernel takes. Returns false if the connection is lost.
  bool Flush();

  // Bytes to write; Flush() must follow.
  std::string& out() { return out_; }
  bool has_room() const { return open_ < fleet_.settings.window; }
  void RequestOpened() { ++open_; }
  void RequestClosed() { --open_; }
  // The device has due requests and waits for room.
  void Wait(CoapDevice* device) { waiting_.push_back(device); }

 private:
  bool Read();
  bool OnStream(std::string_view in, int64_t now_us);
  bool OnMessage(const coap::Message& message, int64_t now_us);
  void AnswerRequest(std::string_view token);
  bool OnHelloAnswer(const coap::Message& message, int64_t now_us);
  bool SendHello();
  void OnDatagram(std::string_view in, int64_t now_us);
  void OnAnswer(std::string_view token, uint8_t code, size_t bytes, int64_t now_us);
  // Lets waiting devices send while there is room.
  void Resume();

  const uint32_t number_;
  const CoapFleet fleet_;
  Observations observations_;
  int fd_ = -1;
  bool ready_ = false;
  uint8_t refused_ = 0;
  int64_t opened_us_ = 0;
  std::vector<std::string> answers_;
  std::string in_;  // the start of a message
  std::string out_;
  size_t open_ = 0;  // unanswered requests
  std::vector<CoapDevice*> devices_;
  std::deque<CoapDevice*> waiting_;  // each at most once
};

}  // namespace bench

#endif  // SEGANET_BENCH_COAPGEN_CONNECTION_H_

#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_SERVER_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/peer.h"
#include "core/protocol/coap/route.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

class DatagramHandler : public Handler {
 public:
  // To be sent now, or dropped as the network may.
  virtual void Send(const Peer& peer, std::string_view datagram) = 0;
};

struct DatagramCounters {
  uint64_t datagrams = 0;
  uint64_t malformed = 0;   // no CoAP message: reset if confirmable, else ignored
  uint64_t multicast = 0;   // ignored (RFC 7252 8)
  uint64_t duplicates = 0;  // recognised and not handed over again
  uint64_t refused = 0;     // answered 4.xx or 5.xx
  uint64_t silenced = 0;    // errors over max_errors_per_s
  uint64_t echoes = 0;      // asked to prove their address (RFC 9175)
  uint64_t retransmitted = 0;
  uint64_t lost_peers = 0;  // nothing came back for MAX_RETRANSMIT retransmissions
};

class DatagramImpl;

// The server's end of CoAP over UDP (RFC 7252, 7641, 7959, 9175) for all devices of one worker:
// datagrams in, events and datagrams out. No socket, no clock, no thread. See docs/coap.md for the
// resources.
//
// Times are of one monotonic clock, us, and never go back.
//
// Thread safety: none; owned by one worker.
class DatagramServer {
 public:
  using CommandStart = coap::CommandStart;

  // Message ids of our own are ≡ worker (mod workers), so that Route finds the way back. `seed` is
  // secret and random: of message ids, hashes and Echo values.
  // REQUIRES: handler outlives the server; worker < workers <= 1024.
  DatagramServer(DatagramHandler* handler, const Settings& settings, const Limits& limits,
                 uint32_t worker, uint32_t workers, uint64_t seed);
  ~DatagramServer();
  DatagramServer(const DatagramServer&) = delete;
  DatagramServer& operator=(const DatagramServer&) = delete;

  // Reads a datagram and says which worker's server it is for. The route ends with the next call.
  Route Read(std::span<const uint8_t> datagram);

  // Handles the datagram that was read last, whose bytes are still there. multicast: it was sent to
  // a group, and is ignored.
  void OnRead(const Peer& peer, int64_t now_us, bool multicast = false);

  void OnDatagram(const Peer& peer, std::span<const uint8_t> datagram, int64_t now_us,
                  bool multicast = false) {
    Read(datagram);
    OnRead(peer, now_us, multicast);
  }

  // One of the acknowledgements that OnRecord announced. A slot that is not known has no effect.
  void Acknowledge(uint64_t slot, int64_t now_us);

  // The record in `slot` is gone and was never safe: 5.03 instead of its 2.04. No effect when it is
  // answered.
  void Withhold(uint64_t slot, uint32_t retry_s, int64_t now_us);

  // Notifies the observers of the device. topic is /{command_path}/{device}/rest without its first
  // '/', or any other, which only observers of /{command_path}/{device} get.
  CommandStart Command(uint64_t id, std::string_view device, std::string_view topic,
                       std::string_view payload, int64_t now_us);

  // When OnTime() has to be called at the latest; INT64_MAX = no need.
  int64_t NextDeadline() const;
  void OnTime(int64_t now_us);

  // Somebody observes a command resource of the device.
  bool Listens(std::string_view device) const;

  size_t unacknowledged() const;
  const DatagramCounters& counters() const;
  size_t memory_bytes() const;

 private:
  std::unique_ptr<DatagramImpl> impl_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_SERVER_H_

// The server's end of CoAP over UDP.
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

// Receives the events and datagrams of a DatagramServer. The owner implements it.
class DatagramHandler : public Handler {
 public:
  // Sends the datagram now. The owner may drop it, as the network may.
  virtual void Send(const Peer& peer, std::string_view datagram) = 0;
};

// Events since the server was made.
struct DatagramCounters {
  uint64_t datagrams = 0;
  uint64_t malformed = 0;   // not a CoAP message: reset if confirmable, else ignored
  uint64_t multicast = 0;   // ignored (RFC 7252 8)
  uint64_t duplicates = 0;  // recognized, and not delivered again
  uint64_t refused = 0;     // answered 4.xx or 5.xx
  uint64_t silenced = 0;    // errors not sent because of max_errors_per_s
  uint64_t echoes = 0;      // peers asked to prove their address (RFC 9175)
  uint64_t retransmitted = 0;
  uint64_t lost_peers = 0;  // peers silent after MAX_RETRANSMIT retransmissions
};

class DatagramImpl;

// The server's end of CoAP over UDP (RFC 7252, 7641, 7959, 9175) for all devices of one worker:
// datagrams in, events and datagrams out. It has no socket, no clock and no thread.
// docs/use/coap.md describes the resources.
//
// Each now_us is the time of the same monotonic clock, us, and is never less than in an earlier
// call.
//
// Thread safety: none; owned by one worker.
class DatagramServer {
 public:
  using CommandStart = coap::CommandStart;

  // The server's message ids are ≡ worker (mod workers), so that a Route leads their answers back
  // to it. `seed` is secret and random; message ids, hashes and Echo values derive from it.
  // REQUIRES: handler outlives the server; worker < workers <= 1024.
  DatagramServer(DatagramHandler* handler, const Settings& settings, const Limits& limits,
                 uint32_t worker, uint32_t workers, uint64_t seed);
  ~DatagramServer();
  DatagramServer(const DatagramServer&) = delete;
  DatagramServer& operator=(const DatagramServer&) = delete;

  // Reads a datagram and returns which worker's server must handle it. The route is valid until the
  // next call. `part`: of the device that a request names, if
  // Settings::parted; empty = Settings::part.
  Route Read(std::span<const uint8_t> datagram, std::string_view part = {});

  // Handles the datagram of the last Read(). multicast: the datagram was sent to a group and is
  // ignored.
  // REQUIRES: Read() was called, and the bytes given to it are still valid.
  void OnRead(const Peer& peer, int64_t now_us, bool multicast = false);

  // Read() and OnRead() in one call.
  void OnDatagram(const Peer& peer, std::span<const uint8_t> datagram, int64_t now_us,
                  bool multicast = false) {
    Read(datagram);
    OnRead(peer, now_us, multicast);
  }

  // Counts one of the acknowledgements that OnRecord announced (Answer::copies); the last one sends
  // 2.04. `handle` is Incoming::handle. No effect for an unknown handle.
  void Acknowledge(uint64_t handle, int64_t now_us);

  // Sends 5.03 with a Max-Age of retry_s seconds instead of 2.04: the record is lost and was never
  // safe. No effect when the record is answered.
  void Withhold(uint64_t handle, uint32_t retry_s, int64_t now_us);

  // Notifies the observers of the device. A `topic` of the form {command_path}/{device}/rest also
  // reaches the observers of that path; any other topic reaches only the observers of
  // /{command_path}/{device}.
  CommandStart Command(uint64_t id, std::string_view device, std::string_view topic,
                       std::string_view payload, int64_t now_us);

  // Ends what belongs to a peer that can no longer be reached: its registrations, and the
  // commands that only it could take (kCommandLost). `device`: the only one that it registered for;
  // empty = any.
  void Forget(const Peer& peer, std::string_view device);
  // Removes the device's observers whose peers `keep` does not accept.
  void Retain(std::string_view device, bool (*keep)(const Peer& peer));

  // The latest time for the next OnTime(), us; INT64_MAX = not needed.
  int64_t NextDeadline() const;
  void OnTime(int64_t now_us);

  // True if a command resource of the device has an observer.
  bool Listens(std::string_view device) const;

  // Records that are not safe yet.
  size_t unacknowledged() const;
  const DatagramCounters& counters() const;
  size_t memory_bytes() const;

 private:
  std::unique_ptr<DatagramImpl> impl_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_SERVER_H_

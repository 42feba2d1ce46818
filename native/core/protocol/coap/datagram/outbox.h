#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/datagram/datagram_server.h"

namespace seganet::coap {

// A CON of our own.
struct Outgoing {
  std::string bytes;
  uint16_t id = 0;
  // Of what goes to an observer: whose it is. Another answer has no device.
  std::string device;
  std::string token;
  std::optional<uint64_t> command;
  bool in_blocks = false;  // the observer has to ask for the rest of the command
};

// Confirmable messages on their way, each sent again until it is acknowledged (RFC 7252 4.2). One
// far end has one on its way (NSTART = 1, RFC 7252 4.7); the others wait.
//
// Thread safety: none; owned by one server.
class Outbox {
 public:
  using Lost = std::pair<Peer, Outgoing>;

  // REQUIRES: handler, secret and counters outlive this.
  Outbox(DatagramHandler* handler, const Limits& limits, SecretNumbers* secret,
         DatagramCounters* counters);

  // Sends it, or lets it wait. False: too much waits for this far end.
  bool Push(const Peer& peer, Outgoing message, int64_t now_us);

  // An acknowledgement or reset came: the message that it belongs to, if it is on its way.
  std::optional<Outgoing> Take(const Peer& peer, uint16_t id, int64_t now_us);

  // Sends again what is due. What waited for a far end that is silent is lost and appended.
  void OnTime(int64_t now_us, std::vector<Lost>* lost);
  int64_t deadline_us() const;

  size_t memory_bytes() const { return bytes_; }

 private:
  struct Queue {
    std::deque<Outgoing> messages;  // the first is on its way
    int sent_again = 0;
    int64_t timeout_us = 0;
    int64_t deadline_us = 0;
  };
  using Queues = std::unordered_map<Peer, Queue, PeerHash>;
  static size_t BytesOf(const Outgoing& message);

  void SendFirst(Queues::iterator queue, int64_t now_us);
  void Remove(Queues::iterator queue);

  DatagramHandler* const handler_;
  const size_t max_queued_;
  SecretNumbers* const secret_;
  DatagramCounters* const counters_;
  Queues queues_;  // none is empty
  // A queue's node stays where it is, so its address orders those with the same deadline.
  std::set<std::pair<int64_t, const Queues::value_type*>> timers_;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_

// Sends confirmable messages over UDP until they are acknowledged.
#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/datagram/datagram_server.h"

namespace seganet::coap {

// A CON that this server sends.
struct Outgoing {
  std::string bytes;
  uint16_t id = 0;
  std::string device;  // of the observer that it goes to; '' for other responses
  std::string token;
  std::optional<uint64_t> command;  // id of the command that it carries
  bool in_blocks = false;           // the observer must request the rest of the command
};

// Queues of confirmable messages, one for each peer. A message is retransmitted until it is
// acknowledged (RFC 7252 4.2). A peer has one message in flight (NSTART = 1, RFC 7252 4.7); its
// other messages wait. Responses that are not for an observer go to any address, also to a forged
// one, so the outbox holds no more than Limits::max_unacknowledged of them. The other messages are
// bounded by the number of observers.
//
// Thread safety: none; owned by one server.
class Outbox {
 public:
  using Lost = std::pair<Peer, Outgoing>;

  // REQUIRES: handler, secret and counters outlive this.
  Outbox(DatagramHandler* handler, const Limits& limits, SecretNumbers* secret,
         DatagramCounters* counters);

  // Sends the message, or queues it. False when the queue of this peer is full, or there are too
  // many responses.
  bool Push(const Peer& peer, Outgoing message, int64_t now_us);

  // Removes and returns the message in flight that an acknowledgement or reset with this id belongs
  // to, if there is one. Sends the next message of the peer.
  std::optional<Outgoing> Take(const Peer& peer, uint16_t id, int64_t now_us);

  // Removes and returns the messages of a peer.
  std::vector<Outgoing> Drop(const Peer& peer);

  // True if a response to this registration (Outgoing::command is not set) is not acknowledged yet.
  bool HasResponse(const Peer& peer, std::string_view device, std::string_view token) const;
  struct Dropped {
    std::vector<Outgoing> messages;
    std::optional<uint16_t> sent_id;  // of the one that was in flight
  };
  // Removes and returns the messages of an observer if HasResponse(); else no effect. Sends the
  // next message of the peer.
  Dropped DropResponse(const Peer& peer, std::string_view device, std::string_view token,
                       int64_t now_us);

  // Retransmits what is due. When a peer stays silent after MAX_RETRANSMIT, appends all its
  // messages to `lost`.
  void OnTime(int64_t now_us, std::vector<Lost>* lost);
  // The next time at which OnTime() has work, us; INT64_MAX = never.
  int64_t deadline_us() const;

  size_t memory_bytes() const { return bytes_; }

 private:
  struct Queue {
    std::deque<Outgoing> messages;  // the first is in flight
    int sent_again = 0;             // its retransmissions
    int64_t timeout_us = 0;
    int64_t deadline_us = 0;
  };
  using Queues = std::unordered_map<Peer, Queue, PeerHash>;
  // The nodes of a queue and of its timer, and the first block of its deque.
  static constexpr size_t kQueueBytes = sizeof(Queues::value_type) + 768;
  static size_t BytesOf(const Outgoing& message);

  // A message leaves the outbox: its bytes no longer count.
  void CountOut(const Outgoing& message);
  void SendFirst(Queues::iterator queue, int64_t now_us);
  void Remove(Queues::iterator queue);

  DatagramHandler* const handler_;
  const size_t max_queued_;
  const size_t max_responses_;
  SecretNumbers* const secret_;
  DatagramCounters* const counters_;
  Queues queues_;  // no empty queue
  // The address of a queue's node is stable, and orders queues with the same deadline.
  std::set<std::pair<int64_t, const Queues::value_type*>> timers_;
  size_t responses_ = 0;  // messages without a device
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_OUTBOX_H_

// The implementation of DatagramServer; only its source files include this header.
#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_IMPL_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/commands.h"
#include "core/protocol/coap/datagram/datagram_server.h"
#include "core/protocol/coap/datagram/exchanges.h"
#include "core/protocol/coap/datagram/far_ends.h"
#include "core/protocol/coap/datagram/outbox.h"
#include "core/protocol/coap/handle_table.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/observers.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/route.h"
#include "core/protocol/coap/token.h"
#include "core/protocol/coap/uploads.h"

namespace seganet::coap {

// Split over three files. datagram_server.cc: datagrams and time; datagram_requests.cc: responses
// and records; datagram_commands.cc: discovery, commands and observers. The public functions are
// documented at DatagramServer.
class DatagramImpl {
 public:
  DatagramImpl(DatagramHandler* handler, const Settings& settings, const Limits& limits,
               uint32_t worker, uint32_t workers, uint64_t seed);

  Route Read(std::span<const uint8_t> datagram, std::string_view part) {
    ReadArrival(datagram, settings_, part.empty() ? std::string_view(settings_.part) : part,
                &read_);
    return RouteOf(read_);
  }
  void OnRead(const Peer& peer, int64_t now_us);
  void Acknowledge(uint64_t handle, int64_t now_us);
  void Withhold(uint64_t handle, uint32_t retry_s, int64_t now_us);
  CommandStart Start(uint64_t id, std::string_view device, std::string_view topic,
                     std::string_view payload, int64_t now_us);
  void Forget(const Peer& peer, std::string_view device);
  void Retain(std::string_view device, bool (*keep)(const Peer& peer));
  int64_t NextDeadline() const;
  void OnTime(int64_t now_us);
  bool Listens(std::string_view device) const { return !observers_.Of(device).empty(); }

  size_t unacknowledged() const { return pending_.size(); }
  size_t memory_bytes() const;

  DatagramCounters counters;

 private:
  // The recipient of a response.
  struct Asker {
    Peer peer;
    Type type = Type::kConfirmable;
    uint16_t id = 0;
    Token token;
    size_t request_bytes = 0;
    uint64_t exchange = 0;  // 0 = each duplicate is processed again
    uint8_t no_response = 0;
  };
  // A record that is not safe yet.
  struct Pending {
    Asker asker;
    std::optional<Block> block1;
    uint32_t missing = 0;       // acknowledgements still to come
    bool acknowledged = false;  // an empty ACK was sent: the response will be separate
  };
  struct Due {
    int64_t at_us;
    uint64_t handle;
  };

  void OnMessage(const Peer& peer, int64_t now_us);
  void OnRequest(const Peer& peer, int64_t now_us);
  void Refuse(const Peer& peer, int64_t now_us);
  // Sets the exchange. False for a duplicate, which this function answers.
  bool IsNew(const Message& message, Asker* asker, int64_t now_us);

  void OnRecords(const Asker& asker, const Message& message, int64_t now_us);
  // True if `payload` is a whole record. If not, this function answers the request.
  bool TakeBlock(const Asker& asker, const Message& message, std::string_view* payload,
                 int64_t now_us);
  void HandOver(const Asker& asker, std::string_view payload, int64_t now_us);
  void Finish(const Pending& pending, int64_t now_us);
  void AnswerLate(const Pending& pending, const Reply& reply, int64_t now_us);
  void DropDone();

  // Returns the largest datagram that may be sent to the peer now, bytes.
  size_t RoomFor(const Asker& asker);
  bool HasRoomFor(size_t bytes, const Asker& asker);
  // True if an error may be sent to the peer now (Limits::max_errors_per_s); counts it.
  bool MayFail(const Peer& peer, int64_t now_us);
  void Respond(const Asker& asker, const Reply& reply, int64_t now_us);
  void SendReply(const Asker& asker, const Reply& reply);
  void AskForEcho(const Asker& asker);
  // Sends a CON with the asker's token. False if the outbox is full (Outbox::Push).
  bool SendSeparate(const Asker& asker, const Reply& reply, std::string_view device,
                    int64_t now_us);
  void SendEmpty(const Asker& asker);

  void OnDiscovery(const Asker& asker, int64_t now_us);
  void OnCommands(const Asker& asker, int64_t now_us);
  bool Register(const Asker& asker, int64_t now_us);
  void Deregister(std::string_view device, const Peer& peer, std::string_view token);
  // Takes the response to an unproved registration, and the commands behind it, from the outbox.
  // REQUIRES: the observer was removed.
  void Withdraw(std::string_view device, const Peer& peer, std::string_view token, int64_t now_us);
  void Represent(const Asker& asker, int64_t now_us);
  void RespondBody(const Asker& asker, Reply reply, std::string_view body, int64_t now_us,
                   bool* last);
  // False if the notification does not fit. *queued: it is in flight or waits in the outbox.
  bool Notify(const Observer& observer, Command* command, bool* queued, int64_t now_us);
  void OnTaken(const Peer& peer, const Outgoing& message, int64_t now_us);
  void OnFailed(const Peer& peer, const Outgoing& message, uint8_t result);
  void End(Command* command, uint8_t result);
  uint32_t NextObserve() { return observe_ = (observe_ + 1) & 0xFFFFFF; }

  DatagramHandler* const handler_;
  const Settings settings_;
  const Limits limits_;
  SecretNumbers secret_;
  FarEnds far_ends_;
  Exchanges exchanges_;
  Uploads uploads_;
  Outbox outbox_;
  Observers observers_;
  Commands commands_;

  HandleTable<Pending> pending_;
  // Pending records by deadline: when an empty ACK is due, and, after that, when the device stops
  // waiting and the record is forgotten.
  std::deque<Due> separate_due_;
  std::deque<Due> forget_due_;
  uint64_t in_hand_ = 0;  // handle of the record in Handler::OnRecord(), 0 = none
  uint32_t early_ = 0;    // its acknowledgements inside of that call
  uint32_t observe_ = 1;  // the last sequence number (RFC 7641 3.4)

  Arrival read_;  // the datagram in progress
  const Message& message_ = read_.message;
  const Request& request_ = read_.request;
  std::string whole_;  // the body that its blocks completed
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_IMPL_H_

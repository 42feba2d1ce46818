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

// datagram_server.cc: datagrams, time; datagram_requests.cc: answers and records;
// datagram_commands.cc: discovery, commands and observers.
class DatagramImpl {
 public:
  DatagramImpl(DatagramHandler* handler, const Settings& settings, const Limits& limits,
               uint32_t worker, uint32_t workers, uint64_t seed);

  Route Read(std::span<const uint8_t> datagram) {
    ReadArrival(datagram, settings_, &read_);
    return RouteOf(read_);
  }
  void OnRead(const Peer& peer, int64_t now_us);
  void Acknowledge(uint64_t slot, int64_t now_us);
  void Withhold(uint64_t slot, uint32_t retry_s, int64_t now_us);
  CommandStart Start(uint64_t id, std::string_view device, std::string_view topic,
                     std::string_view payload, int64_t now_us);
  int64_t NextDeadline() const;
  void OnTime(int64_t now_us);
  bool Listens(std::string_view device) const { return !observers_.Of(device).empty(); }

  size_t unacknowledged() const { return pending_.size(); }
  size_t memory_bytes() const;

  DatagramCounters counters;

 private:
  // Whom an answer goes to.
  struct Asker {
    Peer peer;
    Type type = Type::kConfirmable;
    uint16_t id = 0;
    Token token;
    size_t request_bytes = 0;
    uint64_t exchange = 0;  // 0 = the request is answered anew each time
    uint8_t no_response = 0;
  };
  // A record that is not safe yet.
  struct Pending {
    Asker asker;
    std::optional<Block> block1;
    uint32_t missing = 0;       // acknowledgements
    bool acknowledged = false;  // an empty ACK left: the answer will be separate
  };
  struct Due {
    int64_t at_us;
    uint64_t slot;
  };

  void OnMessage(const Peer& peer, int64_t now_us);
  void OnRequest(const Peer& peer, int64_t now_us);
  void Refuse(const Peer& peer, int64_t now_us);
  // Sets the exchange; false for a duplicate, which is answered here.
  bool IsNew(const Message& message, Asker* asker, int64_t now_us);

  void OnRecords(const Asker& asker, const Message& message, int64_t now_us);
  // Whether `payload` is a whole record; if not, the request is answered.
  bool TakeBlock(const Asker& asker, const Message& message, std::string_view* payload,
                 int64_t now_us);
  void HandOver(const Asker& asker, std::string_view payload, int64_t now_us);
  void Finish(const Pending& pending, int64_t now_us);
  void AnswerLate(const Pending& pending, const Reply& reply, int64_t now_us);
  void DropDone();

  // Most bytes of a datagram to this far end now.
  size_t RoomFor(const Asker& asker);
  bool HasRoomFor(size_t bytes, const Asker& asker);
  bool MayFail(const Peer& peer, int64_t now_us);
  void Respond(const Asker& asker, const Reply& reply, int64_t now_us);
  void SendReply(const Asker& asker, const Reply& reply);
  void AskForEcho(const Asker& asker);
  // A CON of our own, with the asker's token.
  bool SendSeparate(const Asker& asker, const Reply& reply, std::string_view device,
                    int64_t now_us);
  void SendEmpty(const Asker& asker);

  void OnDiscovery(const Asker& asker, int64_t now_us);
  void OnCommands(const Asker& asker, int64_t now_us);
  bool Register(const Asker& asker, int64_t now_us);
  void Deregister(std::string_view device, const Peer& peer, std::string_view token);
  void Represent(const Asker& asker, int64_t now_us);
  void RespondBody(const Asker& asker, Reply reply, std::string_view body, int64_t now_us,
                   bool* last);
  // False: it does not fit. *queued: it is on its way or waits.
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
  // HandleTable in their order: when an empty ACK is due; and of those that waited for so long,
  // when the device does not wait any more.
  std::deque<Due> separate_due_;
  std::deque<Due> forget_due_;
  uint64_t in_hand_ = 0;  // the slot of the record that is being handed over
  uint32_t early_ = 0;    // its acknowledgements that came at once
  uint32_t observe_ = 1;  // the last sequence number (RFC 7641 3.4)

  Arrival read_;  // the datagram that is handled
  const Message& message_ = read_.message;
  const Request& request_ = read_.request;
  std::string whole_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_DATAGRAM_IMPL_H_

#include <algorithm>
#include <utility>

#include "core/protocol/coap/datagram_impl.h"
#include "core/protocol/coap/replies.h"

namespace seganet::coap {

void DatagramImpl::OnRequest(const Peer& peer, const Message& message, size_t bytes,
                             int64_t now_us) {
  Asker asker{peer, message.type, message.id, std::string(message.token), bytes, 0, 0};
  // RFC 7252 4.5: what is idempotent may be answered anew, so GET needs no memory.
  if (message.code != kGet && !IsNew(message, &asker, now_us)) return;
  Refusal refusal = ParseRequest(message, settings_, &request_);
  asker.no_response = request_.no_response;
  if (request_.echo.size() == sizeof(uint64_t)) {
    FarEnd& end = far_ends_.Touch(peer);
    uint64_t echo = 0;
    for (const char c : request_.echo) echo = echo << 8 | static_cast<uint8_t>(c);
    if (end.echo != 0 && echo == end.echo) end.proved = true;
  }
  if (refusal.code == kEmpty) refusal = CheckMethod(message.code, request_);
  if (refusal.code != kEmpty) return Respond(asker, ReplyTo(refusal), now_us);
  if (bytes > settings_.max_message_bytes) {
    Reply reply = ReplyTo(Uploads::Step::kTooLarge, {}, settings_.max_body_bytes);
    reply.block1 = Block{};  // RFC 7959 2.9.3: come again, with blocks of this size
    return Respond(asker, reply, now_us);
  }
  switch (request_.resource) {
    case Resource::kRecords:
      return OnRecords(asker, message, now_us);
    case Resource::kCommands:
      return OnCommands(asker, now_us);
    case Resource::kDiscovery:
      return OnDiscovery(asker, now_us);
    case Resource::kNone:
      break;
  }
}

bool DatagramImpl::IsNew(const Message& message, Asker* asker, int64_t now_us) {
  std::string text(asker->peer.text());
  text.push_back(static_cast<char>(message.id >> 8));
  text.push_back(static_cast<char>(message.id & 0xFF));
  asker->exchange = secret_.HashOf(text) | 1;  // 0 is none
  const std::string* answer = exchanges_.Find(asker->exchange, now_us);
  if (answer == nullptr) {
    exchanges_.Add(asker->exchange, now_us);
    return true;
  }
  ++counters.duplicates;
  // Without an answer yet the first one's is on its way. RFC 7252 4.5: a NON is ignored. What only
  // has the id of a longer request may not call for its answer.
  const bool is_due = message.type == Type::kConfirmable && !answer->empty();
  if (is_due && answer->size() <= RoomFor(*asker)) handler_->Send(asker->peer, *answer);
  return false;
}

void DatagramImpl::OnRecords(const Asker& asker, const Message& message, int64_t now_us) {
  std::string_view payload = message.payload;
  if (request_.block1 && !TakeBlock(asker, message, &payload, now_us)) return;
  HandOver(asker, payload, now_us);
}

bool DatagramImpl::TakeBlock(const Asker& asker, const Message& message, std::string_view* payload,
                             int64_t now_us) {
  const Block& block = *request_.block1;
  Uploads::Step step = Uploads::Step::kTooLarge;
  if (request_.size1.value_or(0) <= settings_.max_body_bytes) {
    // The length keeps far end and options apart.
    std::string key(asker.peer.text());
    key.push_back(static_cast<char>(asker.peer.size));
    key += BodyKey(message);
    step = uploads_.Add(key, request_.device, block, message.payload, false, now_us, &whole_);
  }
  if (step == Uploads::Step::kWhole) {
    *payload = whole_;
    return true;
  }
  Respond(asker, ReplyTo(step, block, settings_.max_body_bytes), now_us);
  return false;
}

void DatagramImpl::HandOver(const Asker& asker, std::string_view payload, int64_t now_us) {
  const bool waits = asker.type == Type::kConfirmable || (asker.no_response & 2) == 0;
  Incoming record;
  record.device = request_.device;
  record.topic = request_.topic;
  record.payload = payload;
  record.record_class = request_.record_class;
  record.confirmable = asker.type == Type::kConfirmable;
  record.slot = waits ? ++last_slot_ : 0;
  in_hand_ = record.slot;
  early_ = 0;
  Answer answer{Verdict::kFull, 0, 1};
  if (pending_.size() < limits_.max_unacknowledged) answer = handler_->OnRecord(record);
  in_hand_ = 0;
  if (answer.verdict != Verdict::kTaken) {
    Respond(asker, ReplyTo(answer), now_us);
  } else if (waits) {
    Pending pending{asker, request_.block1, 0, false};
    if (answer.copies <= early_) {
      Finish(pending, now_us);
    } else {
      pending.missing = answer.copies - early_;
      pending_.emplace(record.slot, std::move(pending));
      separate_due_.push_back({now_us + kSeparateAfterUs, record.slot});
      forget_due_.push_back({now_us + kExchangeLifetimeUs, record.slot});
    }
  }
  if (whole_.capacity() > settings_.max_message_bytes) whole_ = {};
}

void DatagramImpl::Acknowledge(uint64_t slot, int64_t now_us) {
  if (slot != 0 && slot == in_hand_) {
    ++early_;
    return;
  }
  const auto found = pending_.find(slot);
  if (found == pending_.end() || --found->second.missing > 0) return;
  Finish(found->second, now_us);
  pending_.erase(found);
  DropDone();
}

void DatagramImpl::Finish(const Pending& pending, int64_t now_us) {
  Reply reply;
  reply.code = kChanged;
  if (pending.block1) {
    reply.block1 = pending.block1;
    reply.block1->more = false;
  }
  if (!pending.acknowledged) return Respond(pending.asker, reply, now_us);
  // The empty ACK was all that RFC 7967 wants for a response that is not welcome.
  if ((pending.asker.no_response & 2) == 0) SendSeparate(pending.asker, reply, {}, now_us);
}

size_t DatagramImpl::RoomFor(const Asker& asker) {
  if (far_ends_.Touch(asker.peer).proved) return settings_.max_message_bytes;
  return std::min(settings_.max_message_bytes, 3 * asker.request_bytes);  // RFC 9175 2.4
}

bool DatagramImpl::MayFail(const Peer& peer, int64_t now_us) {
  if (limits_.max_errors_per_s == 0) return true;
  FarEnd& end = far_ends_.Touch(peer);
  end.errors_us = std::max(end.errors_us, now_us - kSecondUs);
  const int64_t price = kSecondUs / limits_.max_errors_per_s;
  if (end.errors_us + price > now_us) {
    ++counters.silenced;
    return false;
  }
  end.errors_us += price;
  return true;
}

void DatagramImpl::Respond(const Asker& asker, Reply reply, int64_t now_us) {
  if (reply.is_error()) ++counters.refused;
  // 5.03 and 4.29 are no faults of the request: who sends too much is told each time.
  const bool is_fault = ClassOf(reply.code) == 4 && reply.code != kTooManyRequests;
  if (is_fault && !MayFail(asker.peer, now_us)) return;
  // RFC 7967 2: bit c - 1 says that class c is not wanted.
  if ((asker.no_response >> (ClassOf(reply.code) - 1) & 1) != 0) return SendEmpty(asker);
  SendReply(asker, reply);
}

void DatagramImpl::SendReply(const Asker& asker, const Reply& reply) {
  const bool piggybacked = asker.type == Type::kConfirmable;
  const Type type = piggybacked ? Type::kAcknowledgement : Type::kNonConfirmable;
  const size_t room = RoomFor(asker);
  const uint16_t id = piggybacked ? asker.id : far_ends_.NextId(&far_ends_.Touch(asker.peer));
  std::string bytes = EncodeDatagram(type, id, asker.token, reply);
  if (bytes.size() > room) {  // only a sentence for people can be that long
    Reply shorter = reply;
    shorter.payload = {};
    bytes = EncodeDatagram(type, id, asker.token, shorter);
  }
  handler_->Send(asker.peer, bytes);
  if (asker.exchange != 0 && piggybacked) exchanges_.SetAnswer(asker.exchange, std::move(bytes));
}

void DatagramImpl::SendEmpty(const Asker& asker) {
  if (asker.type != Type::kConfirmable) return;
  std::string bytes = EmptyDatagram(Type::kAcknowledgement, asker.id);
  handler_->Send(asker.peer, bytes);
  if (asker.exchange != 0) exchanges_.SetAnswer(asker.exchange, std::move(bytes));
}

bool DatagramImpl::SendSeparate(const Asker& asker, const Reply& reply, std::string_view device,
                                int64_t now_us) {
  Outgoing message;
  message.id = far_ends_.NextId(&far_ends_.Touch(asker.peer));
  message.bytes = EncodeDatagram(Type::kConfirmable, message.id, asker.token, reply);
  message.device = device;
  message.token = asker.token;
  return outbox_.Push(asker.peer, std::move(message), now_us);
}

void DatagramImpl::AskForEcho(const Asker& asker) {
  ++counters.echoes;
  FarEnd& end = far_ends_.Touch(asker.peer);
  if (end.echo == 0) end.echo = secret_.Next() | 1;
  char bytes[sizeof(uint64_t)];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<char>(end.echo >> (56 - 8 * i));
  Reply reply;
  reply.code = kUnauthorized;
  reply.echo = {bytes, sizeof bytes};
  SendReply(asker, reply);
}

}  // namespace seganet::coap

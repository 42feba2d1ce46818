// Requests, responses and records over UDP.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/protocol/coap/datagram/datagram_impl.h"
#include "core/protocol/coap/replies.h"

namespace seganet::coap {

void DatagramImpl::OnRequest(const Peer& peer, int64_t now_us) {
  const Message& message = message_;
  const size_t bytes = read_.bytes.size();
  Asker asker{peer, message.type, message.id, Token(message.token), bytes, 0, 0};
  // RFC 7252 4.5: an idempotent request may be processed again, so GET is not remembered.
  if (message.code != kGet && !IsNew(message, &asker, now_us)) return;
  Refusal refusal = read_.refusal;
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
    reply.block1 = Block{};  // RFC 7959 2.9.3: asks for blocks of this size
    return Respond(asker, reply, now_us);
  }
  const bool has_device =
      request_.resource == Resource::kRecords || request_.resource == Resource::kCommands;
  if (has_device && !handler_->MayBe(request_.device)) {
    const Refusal foreign{kForbidden, "This session belongs to another device."};
    return Respond(asker, ReplyTo(foreign), now_us);
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
  // RFC 7252 4.2: a retransmission has the same bytes. Different bytes with the same id are a new
  // request, for example from a device that restarted and reuses its ids.
  const std::string_view datagram(reinterpret_cast<const char*>(read_.bytes.data()),
                                  read_.bytes.size());
  const uint64_t key = secret_.HashOf(asker->peer.text(), datagram);
  asker->exchange = exchanges_.Find(key, now_us);
  if (asker->exchange == 0) {
    asker->exchange = exchanges_.Add(key, now_us);
    return true;
  }
  ++counters.duplicates;
  const std::string_view answer = exchanges_.AnswerTo(asker->exchange);
  // Without a stored answer, the response to the first copy is still pending. RFC 7252 4.5: a
  // duplicate NON is ignored.
  const bool is_due = message.type == Type::kConfirmable && !answer.empty();
  if (is_due && HasRoomFor(answer.size(), *asker)) handler_->Send(asker->peer, answer);
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
    // The length separates the peer from the options.
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
  Answer answer{Verdict::kFull, 0, 1};
  if (pending_.size() < limits_.max_unacknowledged) {
    record.handle = waits ? pending_.Add(Pending{asker, request_.block1, 0, false}) : 0;
    in_hand_ = record.handle;
    early_ = 0;
    answer = handler_->OnRecord(record);
    in_hand_ = 0;
  }
  if (answer.verdict == Verdict::kTaken && waits && answer.copies > early_) {
    pending_.Find(record.handle)->missing = answer.copies - early_;
    separate_due_.push_back({now_us + kSeparateAfterUs, record.handle});
  } else {
    pending_.Erase(record.handle);
    if (answer.verdict != Verdict::kTaken) {
      Respond(asker, ReplyTo(answer), now_us);
    } else if (waits) {
      Finish({asker, request_.block1, 0, false}, now_us);
    }
  }
  if (whole_.capacity() > settings_.max_message_bytes) whole_ = {};
}

void DatagramImpl::Acknowledge(uint64_t handle, int64_t now_us) {
  if (handle != 0 && handle == in_hand_) {
    ++early_;
    return;
  }
  Pending* const found = pending_.Find(handle);
  if (found == nullptr || --found->missing > 0) return;
  Finish(*found, now_us);
  pending_.Erase(handle);
  DropDone();
}

void DatagramImpl::Withhold(uint64_t handle, uint32_t retry_s, int64_t now_us) {
  Pending* const found = pending_.Find(handle);
  if (found == nullptr) return;
  AnswerLate(*found, ReplyTo(Answer{Verdict::kNotTaken, 0, retry_s}), now_us);
  pending_.Erase(handle);
  DropDone();
}

void DatagramImpl::Finish(const Pending& pending, int64_t now_us) {
  Reply reply;
  reply.code = kChanged;
  if (pending.block1) {
    reply.block1 = pending.block1;
    reply.block1->more = false;
  }
  AnswerLate(pending, reply, now_us);
}

void DatagramImpl::AnswerLate(const Pending& pending, const Reply& reply, int64_t now_us) {
  if (!pending.acknowledged) return Respond(pending.asker, reply, now_us);
  // RFC 7967: for a response class that the device does not want, the empty ACK was enough.
  const bool is_welcome = (pending.asker.no_response >> (ClassOf(reply.code) - 1) & 1) == 0;
  if (!is_welcome || SendSeparate(pending.asker, reply, {}, now_us)) return;
  // The outbox is full. A NON response is not repeated (RFC 7252 5.2.3).
  Asker asker = pending.asker;
  asker.type = Type::kNonConfirmable;
  SendReply(asker, reply);
}

size_t DatagramImpl::RoomFor(const Asker& asker) {
  if (settings_.proven_addresses || far_ends_.Touch(asker.peer).proved) {
    return settings_.max_message_bytes;
  }
  return std::min(settings_.max_message_bytes, 3 * asker.request_bytes);  // RFC 9175 2.4
}

// An answer within the limit for unproved peers needs no lookup.
bool DatagramImpl::HasRoomFor(size_t bytes, const Asker& asker) {
  if (bytes <= std::min(settings_.max_message_bytes, 3 * asker.request_bytes)) return true;
  return bytes <= RoomFor(asker);
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

void DatagramImpl::Respond(const Asker& asker, const Reply& reply, int64_t now_us) {
  if (reply.is_error()) ++counters.refused;
  // Only faults of the request count against max_errors_per_s. 5.03 and 4.29 are not faults: a
  // device that sends too much gets them each time.
  const bool is_fault = ClassOf(reply.code) == 4 && reply.code != kTooManyRequests;
  if (is_fault && !MayFail(asker.peer, now_us)) return;
  // RFC 7967 2: bit c - 1 = the device does not want class c.
  if ((asker.no_response >> (ClassOf(reply.code) - 1) & 1) != 0) return SendEmpty(asker);
  SendReply(asker, reply);
}

void DatagramImpl::SendReply(const Asker& asker, const Reply& reply) {
  const bool piggybacked = asker.type == Type::kConfirmable;
  const Type type = piggybacked ? Type::kAcknowledgement : Type::kNonConfirmable;
  const uint16_t id = piggybacked ? asker.id : far_ends_.NextId(&far_ends_.Touch(asker.peer));
  std::string bytes = EncodeDatagram(type, id, asker.token.text(), reply);
  if (!HasRoomFor(bytes.size(), asker)) {  // only a diagnostic text can be that long
    Reply shorter = reply;
    shorter.payload = {};
    bytes = EncodeDatagram(type, id, asker.token.text(), shorter);
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
  message.bytes = EncodeDatagram(Type::kConfirmable, message.id, asker.token.text(), reply);
  message.device = device;
  message.token = asker.token.text();
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

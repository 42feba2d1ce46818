// Discovery, commands and observers over UDP.
#include <algorithm>
#include <utility>

#include "core/protocol/coap/datagram/datagram_impl.h"
#include "core/protocol/coap/replies.h"

namespace seganet::coap {

void DatagramImpl::OnDiscovery(const Asker& asker, int64_t now_us) {
  Reply reply;
  reply.code = kContent;
  reply.content_format = kLinkFormat;
  bool last = false;
  RespondBody(asker, reply, Discovery(settings_), now_us, &last);
}

void DatagramImpl::RespondBody(const Asker& asker, Reply reply, std::string_view body,
                               int64_t now_us, bool* last) {
  const size_t room = RoomFor(asker);
  const size_t overhead = EncodeDatagram(Type::kConfirmable, 0, asker.token.text(), reply).size();
  if (CarryBody(body, request_.block2, overhead, room, &reply)) {
    *last = !reply.block2 || !reply.block2->more;
    return Respond(asker, reply, now_us);
  }
  if (request_.block2 && request_.block2->offset() >= body.size()) {
    return Respond(asker, ReplyTo(Refusal{kBadRequest, "There is no such block."}), now_us);
  }
  AskForEcho(asker);
}

void DatagramImpl::OnCommands(const Asker& asker, int64_t now_us) {
  if (!handler_->MayObserve(request_.device)) {
    const Refusal refusal{kForbidden, "This device may not observe commands."};
    return Respond(asker, ReplyTo(refusal), now_us);
  }
  const bool first = !request_.block2 || request_.block2->number == 0;
  if (first && request_.observe == 0u && Register(asker, now_us)) return;
  if (first && request_.observe == 1u) {
    Deregister(request_.device, asker.peer, asker.token.text());
    Withdraw(request_.device, asker.peer, asker.token.text(), now_us);
  }
  Represent(asker, now_us);
}

bool DatagramImpl::Register(const Asker& asker, int64_t now_us) {
  const bool proved = settings_.proven_addresses || far_ends_.Touch(asker.peer).proved;
  Observer observer{asker.peer, std::string(asker.token.text()), request_.topic,
                    Block::kLargestExponent, proved};
  if (request_.block2) {
    observer.exponent = std::min(request_.block2->exponent, Block::kLargestExponent);
  }
  std::vector<Observers::Displaced> displaced;
  const bool added = observers_.Add(request_.device, std::move(observer), &displaced);
  for (const Observers::Displaced& one : displaced) {
    Withdraw(one.device, one.peer, one.token, now_us);
    if (one.device != request_.device && !Listens(one.device)) {
      handler_->OnObserved(one.device, false);
    }
  }
  if (!added) return false;
  // The response carries no command: a renewed registration (RFC 7641 3.3.1) must not deliver an
  // old command again.
  Reply reply;
  reply.code = kContent;
  reply.observe = NextObserve();
  if (proved) {
    Respond(asker, reply, now_us);
  } else {
    // The peer's ACK of this message proves its address before commands, whose size others choose,
    // are sent there.
    SendEmpty(asker);
    // A message that still waits for its ACK answers a renewed registration too.
    const bool waits = outbox_.HasResponse(asker.peer, request_.device, asker.token.text());
    if (!waits && !SendSeparate(asker, reply, request_.device, now_us)) {
      Deregister(request_.device, asker.peer, asker.token.text());
      return true;
    }
  }
  handler_->OnObserved(request_.device, true);
  return true;
}

void DatagramImpl::Deregister(std::string_view device, const Peer& peer, std::string_view token) {
  if (observers_.Remove(device, peer, token) && !Listens(device)) {
    handler_->OnObserved(device, false);
  }
}

// Without the message that proves an unproved observer's address, the commands behind it must not
// be sent. Registrations with forged addresses would also leave a message for each. The peer's ACK,
// if it is genuine and under way, proves the address for its next registration: otherwise those who
// forge addresses could displace a device each time.
void DatagramImpl::Withdraw(std::string_view device, const Peer& peer, std::string_view token,
                            int64_t now_us) {
  const Outbox::Dropped dropped = outbox_.DropResponse(peer, device, token, now_us);
  if (dropped.sent_id) far_ends_.Touch(peer).withdrawn_id = dropped.sent_id;
  for (const Outgoing& message : dropped.messages) OnFailed(peer, message, kCommandLost);
}

void DatagramImpl::Represent(const Asker& asker, int64_t now_us) {
  Command* command = commands_.Find(request_.device);
  if (command == nullptr || (!request_.topic.empty() && request_.topic != command->topic)) {
    return Respond(asker, ReplyTo(Refusal{kNotFound, "There is no command."}), now_us);
  }
  Reply reply;
  reply.code = kContent;
  reply.etag = command->etag;
  bool last = false;
  RespondBody(asker, reply, command->payload, now_us, &last);
  // Only a notified observer requests a later block.
  if (command->answered || !request_.block2 || request_.block2->number == 0) return;
  if (last) {
    End(command, kCommandTaken);
  } else {
    commands_.SetFetch(command, now_us + kMaxTransmitWaitUs);
  }
}

CommandStart DatagramImpl::Start(uint64_t id, std::string_view device, std::string_view topic,
                                 std::string_view payload, int64_t now_us) {
  const std::vector<Observer>& all = observers_.Of(device);
  const auto wants = [topic](const Observer& observer) { return observer.Wants(topic); };
  if (std::none_of(all.begin(), all.end(), wants)) return CommandStart::kNotListening;
  if (payload.size() > settings_.max_body_bytes || !IsLocation(topic)) {
    return CommandStart::kTooLarge;
  }
  const Command* before = commands_.Find(device);
  if (before != nullptr && !before->answered) return CommandStart::kBusy;
  Command next{std::string(device), id, std::string(topic), std::string(payload),
               static_cast<uint32_t>(secret_.Next())};
  Command* command = commands_.Start(std::move(next));
  if (command == nullptr) return CommandStart::kBusy;
  bool fits = false;
  for (const Observer& observer : all) {
    if (!wants(observer)) continue;
    bool queued = false;
    fits = Notify(observer, command, &queued, now_us) || fits;
    if (queued) ++command->waiting;
  }
  if (command->waiting > 0) return CommandStart::kSent;
  commands_.Remove(device);
  return fits ? CommandStart::kBusy : CommandStart::kTooLarge;
}

bool DatagramImpl::Notify(const Observer& observer, Command* command, bool* queued,
                          int64_t now_us) {
  Reply reply;
  reply.code = kContent;
  reply.etag = command->etag;
  reply.observe = NextObserve();
  if (observer.topic != command->topic) reply.location = command->topic;
  const size_t overhead = EncodeDatagram(Type::kConfirmable, 0, observer.token, reply).size();
  std::optional<Block> wanted;
  if (observer.exponent < Block::kLargestExponent) wanted = Block{0, false, observer.exponent};
  if (!CarryBody(command->payload, wanted, overhead, settings_.max_message_bytes, &reply)) {
    return false;
  }
  Outgoing message;
  message.id = far_ends_.NextId(&far_ends_.Touch(observer.peer));
  message.bytes = EncodeDatagram(Type::kConfirmable, message.id, observer.token, reply);
  message.device = command->device;
  message.token = observer.token;
  message.command = command->id;
  message.in_blocks = reply.block2 && reply.block2->more;
  *queued = outbox_.Push(observer.peer, std::move(message), now_us);
  return true;
}

void DatagramImpl::OnTaken(const Peer& peer, const Outgoing& message, int64_t now_us) {
  if (!message.device.empty()) observers_.Prove(message.device, peer, message.token);
  if (!message.command) return;
  Command* command = commands_.Find(message.device);
  if (command == nullptr || command->id != *message.command || command->answered) return;
  --command->waiting;
  if (message.in_blocks) {
    // The device has taken the command when it requests the last block.
    commands_.SetFetch(command, now_us + kMaxTransmitWaitUs);
  } else {
    End(command, kCommandTaken);
  }
}

// RFC 7641 4.5: an observer that resets a notification, or does not acknowledge it, is removed.
void DatagramImpl::OnFailed(const Peer& peer, const Outgoing& message, uint8_t result) {
  if (message.device.empty()) return;
  Deregister(message.device, peer, message.token);
  if (!message.command) return;
  Command* command = commands_.Find(message.device);
  if (command == nullptr || command->id != *message.command || command->answered) return;
  if (--command->waiting == 0 && command->fetch_us == Command::kNot) End(command, result);
}

void DatagramImpl::End(Command* command, uint8_t result) {
  command->answered = true;
  commands_.SetFetch(command, Command::kNot);
  handler_->OnCommandAnswer(command->id, result);
}

}  // namespace seganet::coap

// Discovery, commands and observers over a stream.
#include <algorithm>
#include <utility>

#include "core/protocol/coap/replies.h"
#include "core/protocol/coap/stream/stream_impl.h"

namespace seganet::coap {
namespace {

// Maximum bytes of the extended length, which grows with the body (RFC 8323 3.2).
constexpr size_t kLengthBytes = 4;

}  // namespace

void StreamImpl::OnDiscovery(const Asker& asker) {
  Reply reply;
  reply.code = kContent;
  reply.content_format = kLinkFormat;
  RespondBody(asker, reply, Discovery(settings_));
}

// True when the response carries the end of the body.
bool StreamImpl::RespondBody(const Asker& asker, Reply reply, std::string_view body) {
  std::string head;
  AppendReply(asker.token.text(), reply, &head);
  if (!CarryBody(body, request_->block2, head.size() + kLengthBytes, peer_max_bytes_, &reply)) {
    Respond(asker, ReplyTo(Refusal{kBadRequest, "There is no such block, or no room for it."}));
    return false;
  }
  const bool last = !reply.block2 || !reply.block2->more;
  Respond(asker, reply);
  return last;
}

void StreamImpl::OnCommands(const Asker& asker) {
  if (!handler_->MayObserve(device_)) {
    return Respond(asker, ReplyTo(Refusal{kForbidden, "This device may not observe commands."}));
  }
  const bool first = !request_->block2 || request_->block2->number == 0;
  if (first && request_->observe == 0u) {
    Observer observer{
        {}, std::string(asker.token.text()), request_->topic, Block::kLargestExponent};
    if (request_->block2) {
      observer.exponent = std::min(request_->block2->exponent, Block::kLargestExponent);
    }
    std::vector<Observers::Displaced> displaced;  // unused: the observers of a stream are proved
    if (commands_ == nullptr) commands_ = std::make_unique<CommandState>(limits_);
    if (commands_->observers.Add(device_, std::move(observer), &displaced)) {
      // The response carries no command: a renewed registration must not deliver an old command
      // again.
      Reply reply;
      reply.code = kContent;
      reply.observe = observe_ = (observe_ + 1) & 0xFFFFFF;
      Respond(asker, reply);
      return handler_->OnObserved(device_, true);
    }
  }
  if (first && request_->observe == 1u && commands_ != nullptr &&
      commands_->observers.Remove(device_, {}, asker.token.text()) && !listening()) {
    handler_->OnObserved(device_, false);
  }
  Represent(asker);
}

void StreamImpl::Represent(const Asker& asker) {
  const Command* const latest =
      commands_ != nullptr && commands_->latest ? &*commands_->latest : nullptr;
  if (latest == nullptr || (!request_->topic.empty() && request_->topic != latest->topic)) {
    return Respond(asker, ReplyTo(Refusal{kNotFound, "There is no command."}));
  }
  Reply reply;
  reply.code = kContent;
  reply.etag = latest->etag;
  const bool last = RespondBody(asker, reply, latest->payload);
  if (!request_->block2 || request_->block2->number == 0) return;
  for (InFlight& sent : in_flight_) {
    if (sent.ping != 0) continue;
    sent.since_us = -1;  // progress: its time starts again
    if (last) return End(sent.id, kCommandTaken);
  }
}

bool StreamImpl::Notify(const Observer& observer, const std::string& topic,
                        std::string_view payload, uint32_t etag, std::string* out,
                        bool* in_blocks) {
  Reply reply;
  reply.code = kContent;
  reply.etag = etag;
  reply.observe = observe_ = (observe_ + 1) & 0xFFFFFF;  // RFC 8323 7.1: the stream keeps the order
  if (observer.topic != topic) reply.location = topic;
  std::string head;
  AppendReply(observer.token, reply, &head);
  std::optional<Block> wanted;
  if (observer.exponent < Block::kLargestExponent) wanted = Block{0, false, observer.exponent};
  if (!CarryBody(payload, wanted, head.size() + kLengthBytes, peer_max_bytes_, &reply)) {
    return false;
  }
  if (reply.block2 && reply.block2->more) {
    if (!peer_takes_blocks_) return false;
    *in_blocks = true;
  }
  AppendReply(observer.token, reply, out);
  return true;
}

CommandStart StreamImpl::Start(uint64_t id, std::string_view topic, std::string_view payload) {
  if (!listening()) return CommandStart::kNotListening;
  const std::vector<Observer>& all = commands_->observers.Of(device_);
  const auto wants = [topic](const Observer& observer) { return observer.Wants(topic); };
  if (!IsOpen() || std::none_of(all.begin(), all.end(), wants)) return CommandStart::kNotListening;
  if (payload.size() > settings_.max_body_bytes || !IsLocation(topic)) {
    return CommandStart::kTooLarge;
  }
  const bool blocks_under_way = std::any_of(in_flight_.begin(), in_flight_.end(),
                                            [](const InFlight& sent) { return sent.ping == 0; });
  if (blocks_under_way || in_flight_.size() >= limits_.max_commands_in_flight) {
    return CommandStart::kBusy;
  }
  Command command{device_, id, std::string(topic), std::string(payload), ++observe_};
  std::string out;
  bool in_blocks = false;
  for (const Observer& observer : all) {
    if (!wants(observer)) continue;
    if (!Notify(observer, command.topic, payload, command.etag, &out, &in_blocks)) {
      return CommandStart::kTooLarge;
    }
  }
  // As for MQTT: a single large command may exceed the limit when no other output waits.
  const size_t waiting = output().size();
  if (waiting != 0 && waiting + out.size() > limits_.max_output_bytes) return CommandStart::kBusy;
  commands_->latest = std::move(command);
  output_.append(out);
  InFlight sent{id, 0, -1};
  if (!in_blocks) {
    // RFC 8323 5.4.1: with Custody, the Pong confirms that the notification was processed.
    sent.ping = SendPing(true);
  }
  in_flight_.push_back(sent);
  return CommandStart::kSent;
}

}  // namespace seganet::coap

// Requests that the gateway itself answers, and their records.
#include <utility>

#include "core/protocol/coap/replies.h"
#include "core/protocol/coap/stream/stream_impl.h"
#include "core/record/part.h"

namespace seganet::coap {

void StreamImpl::OnRequest(const Message& message) {
  if (!options_.prefixes.empty() && IsForDesk(message)) return OnAsked(message);
  if (request_ == nullptr) request_ = std::make_unique<Request>();
  // A connection names its own device without the part.
  Refusal refusal = ParseRequest(message, settings_, PartOf(device_), request_.get());
  const Asker asker{Token(message.token), request_->no_response};
  if (is_anonymous() && request_->resource != Resource::kDiscovery) {
    return Respond(asker, ReplyTo(Refusal{kUnauthorized, "Sign in first."}));
  }
  if (refusal.code == kEmpty) refusal = CheckMethod(message.code, *request_);
  if (refusal.code == kEmpty && !request_->device.empty() && request_->device != device_) {
    refusal = {kForbidden, "This connection belongs to another device."};
  }
  if (refusal.code == kEmpty && releasing_) {
    refusal = {kUnavailable, "The gateway is stopping."};
  }
  if (refusal.code != kEmpty) return Respond(asker, ReplyTo(refusal));
  switch (request_->resource) {
    case Resource::kRecords:
      return OnRecords(asker, message);
    case Resource::kCommands:
      return OnCommands(asker);
    case Resource::kDiscovery:
      return OnDiscovery(asker);
    case Resource::kNone:
      break;
  }
}

void StreamImpl::OnRecords(const Asker& asker, const Message& message) {
  std::string_view payload = message.payload;
  if (request_->block1 && !TakeBlock(asker, message, &payload)) return;
  if (payload.size() > settings_.max_body_bytes) {
    return Respond(asker, ReplyTo(Uploads::Step::kTooLarge, {}, settings_.max_body_bytes));
  }
  Incoming record;
  record.device = request_->device;
  record.topic = request_->topic;
  record.payload = payload;
  record.record_class = request_->record_class;
  HandOver(asker, request_->block1, record);
}

bool StreamImpl::TakeBlock(const Asker& asker, const Message& message, std::string_view* payload) {
  const Block& block = *request_->block1;
  Uploads::Step step = Uploads::Step::kTooLarge;
  if (request_->size1.value_or(0) <= settings_.max_body_bytes) {
    step = uploads().Add(BodyKey(message), request_->device, block, message.payload, true, now_us_,
                         &whole_);
  }
  if (step == Uploads::Step::kWhole) {
    *payload = whole_;
    return true;
  }
  Respond(asker, ReplyTo(step, block, settings_.max_body_bytes));
  return false;
}

void StreamImpl::HandOver(const Asker& asker, const std::optional<Block>& block1, Incoming record) {
  const bool waits = (asker.no_response & 2) == 0;
  coap::Answer answer{Verdict::kFull, 0, 1};
  // The owner stops reading long before this limit, but one read may hold many requests.
  if (pending_.size() < limits_.max_unacknowledged) {
    record.handle = waits ? pending_.Add(Pending{asker, block1, 0}) : 0;
    in_hand_ = record.handle;
    early_ = 0;
    answer = handler_->OnRecord(record);
    in_hand_ = 0;
  }
  const bool is_open = answer.verdict == Verdict::kTaken && waits && answer.copies > early_;
  if (is_open) {
    pending_.Find(record.handle)->missing = answer.copies - early_;
  } else {
    pending_.Erase(record.handle);
    if (answer.verdict != Verdict::kTaken) {
      Respond(asker, ReplyTo(answer));
    } else if (waits) {
      handler_->OnSafe(record.handle);
      Finish(asker, block1);
    }
  }
  if (!whole_.empty()) ReleaseWhole();
}

bool StreamImpl::Acknowledge(uint64_t handle) {
  if (close_reason_ != CloseReason::kNone) return false;
  if (handle != 0 && handle == in_hand_) {
    ++early_;
    return true;
  }
  Pending* const found = pending_.Find(handle);
  if (found == nullptr) return false;
  if (--found->missing > 0) return true;
  handler_->OnSafe(handle);
  Finish(found->asker, found->block1);
  pending_.Erase(handle);
  if (draining_ && pending_.empty()) close_reason_ = CloseReason::kDisconnected;
  return true;
}

void StreamImpl::Finish(const Asker& asker, const std::optional<Block>& block1) {
  Reply reply;
  reply.code = kChanged;
  if (block1) {
    reply.block1 = block1;
    reply.block1->more = false;
  }
  Respond(asker, reply);
}

void StreamImpl::Respond(const Asker& asker, const Reply& reply) {
  // RFC 7967 2: bit c - 1 = the device does not want class c.
  if ((asker.no_response >> (ClassOf(reply.code) - 1) & 1) != 0) return;
  const size_t before = output_.size();
  AppendReply(asker.token.text(), reply, &output_);
  if (output_.size() - before <= peer_max_bytes_ || !reply.is_error()) return;
  output_.resize(before);
  Reply shorter = reply;
  shorter.payload = {};
  AppendReply(asker.token.text(), shorter, &output_);
}

}  // namespace seganet::coap

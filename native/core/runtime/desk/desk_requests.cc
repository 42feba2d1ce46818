#include "core/runtime/desk/desk_requests.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seganet {
namespace {

std::vector<std::string> Copies(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

DeskEvent EventOf(const DeskSession& session, const coap::Asked& asked) {
  DeskEvent event;
  event.connection = session.connection();
  event.device = session.device();
  event.address = session.address();
  event.note = session.note();
  event.code = asked.code;
  event.token = asked.token;
  event.path = Copies(asked.path);
  event.query = Copies(asked.query);
  event.options = asked.options;
  event.payload = asked.payload;
  return event;
}

// `request` must outlive the result.
coap::Asked AskedOf(const HeldRequest& request) {
  const DeskEvent& event = request.event;
  coap::Asked asked;
  asked.id = request.id;
  asked.reuses_token = request.reuses_token;
  asked.is_plain = request.is_plain;
  asked.code = event.code;
  asked.token = event.token;
  asked.path = Views(event.path);
  asked.query = Views(event.query);
  asked.options = event.options;
  asked.payload = event.payload;
  return asked;
}

}  // namespace

coap::Taker DeskRequests::OnAsked(DeskSession* session, const coap::Asked& asked) {
  if (!session->held().empty()) return Hold(session, asked);
  if (session->unsettled() > 0 && posts_->TopicOf(*session, asked) != nullptr) {
    return Hold(session, asked);
  }
  std::optional<ForwardPlan> plan = forwarding_->Plan(*session, asked);
  if (!plan) {
    const bool taken = desk_->Ask(EventOf(*session, asked));
    return taken ? coap::Taker::kDesk : coap::Taker::kNone;
  }
  if (session->unsettled() > 0) return Hold(session, asked);
  forwarding_->Forward(*session, asked, std::move(*plan));
  return coap::Taker::kOwner;
}

DeskTopic* DeskRequests::OnPost(const DeskSession& session, const coap::Asked& asked) {
  // It must not overtake an earlier request.
  if (!session.held().empty() || session.unsettled() > 0) return nullptr;
  return posts_->TopicOf(session, asked);
}

coap::Taker DeskRequests::Hold(DeskSession* session, const coap::Asked& asked) {
  HeldRequest request{asked.id, asked.reuses_token, asked.is_plain, EventOf(*session, asked)};
  const size_t bytes = request.event.bytes();
  if (session->held_bytes() + bytes > kMostHeldBytes - held_bytes_) return coap::Taker::kNone;
  held_bytes_ += bytes;
  session->Hold(std::move(request));
  return coap::Taker::kOwner;
}

void DeskRequests::Release(DeskSession* session) {
  while (!session->held().empty()) {
    const HeldRequest& next = session->held().front();
    const coap::Asked asked = AskedOf(next);
    std::optional<ForwardPlan> plan = forwarding_->Plan(*session, asked);
    DeskTopic* const topic = plan ? nullptr : posts_->TopicOf(*session, asked);
    if ((plan || topic != nullptr) && session->unsettled() > 0) return;
    held_bytes_ -= next.event.bytes();
    HeldRequest request = session->TakeHeld();
    if (plan) {
      forwarding_->Forward(*session, AskedOf(request), std::move(*plan));
      continue;
    }
    if (topic != nullptr) {
      session->RecordOwn(request.event.token, request.id, topic, request.event.payload);
      continue;
    }
    const std::string token = request.event.token;
    // Before the desk has it, which may answer at once.
    session->PassToDesk(token, request.id);
    if (desk_->Ask(std::move(request.event))) continue;
    const coap::AskAnswer answer = TooManyRequests();
    session->AnswerOwn(token, request.id, answer.code, answer.options, answer.payload);
  }
}

}  // namespace seganet

#include "core/devices/coap_agent_session.h"

#include <utility>

#include "core/base/clock.h"
#include "core/devices/coap_convert.h"
#include "core/record/record.h"

namespace seganet {

CoapAgentSession::CoapAgentSession(AgentSessionOwner* owner,
                                   std::shared_ptr<const coap::StreamSetup> setup,
                                   const std::string& device, size_t answered)
    : owner_(owner), setup_(std::move(setup)), session_(this, setup_, device, MonotonicUs()) {
  session_.SkipAnswered(answered);
}

// RFC 8323 has no CONNECT: the first request that names a device takes its place.
CloseReason CoapAgentSession::Feed(std::span<const uint8_t> bytes) {
  if (!connected_) {
    connected_ = true;
    if (owner_->OnConnect() != Admission::kAccepted) {
      session_.Release();
      return CloseReason::kRefused;
    }
  }
  return session_.Feed(bytes);
}

coap::Answer CoapAgentSession::OnRecord(const coap::Incoming& incoming) {
  IncomingRecord record;
  record.topic = incoming.topic;
  record.payload = incoming.payload;
  record.flags = incoming.confirmable ? kFlagQos1 : 0;
  record.record_class = incoming.record_class;
  record.handle = incoming.handle;
  const RecordAnswer answer = owner_->OnRecord(record);
  return CoapAnswer(answer);
}

CommandStart CoapAgentSession::Command(uint64_t id, std::string_view topic,
                                       std::string_view payload, uint8_t) {
  const std::string& path = setup_->settings.command_path;
  const std::string own = CoapCommandTopic(topic, Name(session_.device()), path);
  return FromCoap(session_.Command(id, own, payload));
}

void CoapAgentSession::OnCommandAnswer(uint64_t id, uint8_t result) {
  // The outcome of a lost command is unknown: it ends by its timeout or with its connection.
  if (result != coap::kCommandLost) owner_->OnCommandAnswer(id, result == coap::kCommandTaken);
}

bool CoapAgentSession::MayObserve(std::string_view device) {
  return owner_->MaySubscribe(CoapCommandFilter(Name(device)));
}

void CoapAgentSession::OnObserved(std::string_view, bool on) {
  if (on) owner_->OnListening();
}

void CoapAgentSession::OnTime(int64_t now_us) {
  if (!session_.OnTime(now_us)) silent_ = true;
}

void CoapAgentSession::SayGoodbye(AgentEnd end) {
  if (end == AgentEnd::kStopped || end == AgentEnd::kNotTaken) session_.Release();
}

}  // namespace seganet

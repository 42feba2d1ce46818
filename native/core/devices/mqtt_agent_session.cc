#include "core/devices/mqtt_agent_session.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/record/class_name.h"
#include "core/record/record.h"
#include "core/record/trace_context.h"

namespace seganet {
namespace {

// Bytes of records that a subscriber gets before its other packets have their turn.
constexpr size_t kRecordsPerTurn = 16'384;

uint8_t FlagsOf(uint8_t qos, bool retain) {
  return static_cast<uint8_t>((qos > 0 ? kFlagQos1 : 0) | (retain ? kFlagRetain : 0));
}

// The user properties are those of the W3C's draft of Trace Context for MQTT.
std::string_view TraceOf(const mqtt::Properties& properties, std::string* buffer) {
  if (properties.empty()) return {};
  const auto parent = properties.UserProperty("traceparent");
  if (!parent) return {};
  return MakeTrace(*parent, properties.UserProperty("tracestate").value_or(""), buffer);
}

}  // namespace

mqtt::Limits MqttLimitsOf(const SourceSettings& source, size_t max_packet_bytes, bool odd_topics) {
  mqtt::Limits limits;
  limits.max_packet_bytes = max_packet_bytes;
  limits.receive_maximum = static_cast<uint16_t>(source.receive_maximum);
  limits.topic_alias_maximum = static_cast<uint16_t>(source.topic_alias_maximum);
  limits.server_keep_alive_s = static_cast<uint16_t>(source.keep_alive_max_s);
  limits.session_expiry_max_s = source.session_expiry_max_s;
  limits.odd_topics = odd_topics;
  return limits;
}

mqtt::ConnectCode MqttAgentSession::OnConnect(const mqtt::Connect& connect,
                                              std::unique_ptr<mqtt::KeptSession>* kept) {
  // Checked here because the device is gone when the will is published.
  if (connect.will && !owner_->MayPublish(connect.will->topic)) {
    return mqtt::ConnectCode::kNotAuthorized;
  }
  // OnConnect closes an older connection of the device, which may leave a session.
  switch (owner_->OnConnect()) {
    case Admission::kAccepted:
      break;
    case Admission::kNoRoom:
      return mqtt::ConnectCode::kServerUnavailable;
    case Admission::kProven:
      return mqtt::ConnectCode::kIdentifierRejected;
  }
  const std::string& device = owner_->device_id();
  if (connect.clean_session) {
    kept_->Drop(device);
  } else {
    *kept = Resume(connect);
    // A new session is saved, too, although not at once.
    kept_->saves().Touch(device);
  }
  if (*kept != nullptr) {
    wills_->Cancel(device);
  } else {
    wills_->SessionEnded(device);
  }
  return mqtt::ConnectCode::kAccepted;
}

// Returns the session that continues, with the rights that the device has now; null = none.
std::unique_ptr<mqtt::KeptSession> MqttAgentSession::Resume(const mqtt::Connect& connect) {
  const std::string& device = owner_->device_id();
  std::unique_ptr<mqtt::KeptSession> kept =
      kept_->Take(device, SourceName(), limits_.session_expiry_max_s, MonotonicUs());
  if (kept == nullptr) return nullptr;
  const uint64_t changes = kept->subscriptions.changes();
  for (const uint64_t id :
       kept->Restrict([this](std::string_view filter) { return owner_->MaySubscribe(filter); })) {
    owner_->OnCommandAnswer(id, false);
  }
  const uint32_t expiry_s = connect.protocol_level == mqtt::kLevel5 ? connect.session_expiry_s
                                                                    : limits_.session_expiry_max_s;
  const uint32_t expiry_now_s = std::min(expiry_s, limits_.session_expiry_max_s);
  if (expiry_now_s == 0) {
    kept_->saves().Ended(device, kept->saved_end_ms != mqtt::KeptSession::kUnsaved);
  } else if (kept->subscriptions.changes() != changes || expiry_now_s != kept->expiry_s) {
    kept_->saves().Changed(device);
  }
  return kept;
}

// Returns the name by which sessions of this source are known, also after a restart.
std::string MqttAgentSession::SourceName() const {
  const std::string& name = owner_->source().name;
  return name.empty() ? "#" + std::to_string(owner_->stage()) : name;
}

mqtt::Grant MqttAgentSession::OnSubscribe(const mqtt::Filter& filter) {
  if (owner_->Reads(filter.filter)) {
    if (!OpenSubscriber()) return mqtt::Grant::kNoRoom;
    // 5: [MQTT-3.3.1-9], [MQTT-3.3.1-10], [MQTT-3.3.1-11] 3.x is as 0.
    const bool existed =
        std::any_of(interests_.begin(), interests_.end(),
                    [&filter](const auto& each) { return each->filter == filter.filter; });
    if (filter.retain_handling == 0 || (filter.retain_handling == 1 && !existed)) {
      asking_.emplace_back(filter.filter);
    }
    return mqtt::Grant::kRecords;
  }
  return owner_->MaySubscribe(filter.filter) ? mqtt::Grant::kCommands : mqtt::Grant::kNotAllowed;
}

// Returns false if the engine has too many subscribers.
bool MqttAgentSession::OpenSubscriber() {
  if (subscriber_ != nullptr) return true;
  subscriber_ = subscribers_->Open({.id = owner_->device_id(),
                                    .parted = owner_->source().parted,
                                    .five = session_.protocol_level() == mqtt::kLevel5,
                                    .max_packet_bytes = session_.device_maximum_packet()});
  if (subscriber_ == nullptr) return false;
  owner_->OnSubscriber(subscriber_.get());
  return true;
}

void MqttAgentSession::CloseSubscriber() {
  if (subscriber_ == nullptr) return;
  subscribers_->Close(subscriber_.get());
  subscriber_->Leave();
  interests_.clear();
  asking_.clear();
  subscriber_ = nullptr;
}

// Makes the subscriptions to records those that the client has and may have now. An unchanged one
// goes on without a gap.
void MqttAgentSession::FollowFilters() {
  Interests all;
  for (const mqtt::Subscriptions::Subscription& one : session_.subscriptions().all()) {
    if (!owner_->Reads(one.filter) || !OpenSubscriber()) continue;
    const auto before =
        std::find_if(interests_.begin(), interests_.end(), [&one](const auto& interest) {
          return interest->filter == one.filter && interest->number == one.number &&
                 interest->options == one.options;
        });
    all.push_back(before != interests_.end() ? *before
                                             : std::make_shared<const Interest>(subscriber_, one));
  }
  if (all == interests_) return;
  interests_ = all;
  subscribers_->Set(subscriber_.get(), std::move(all));
}

// The values follow the SUBACK, which may wait for the disk.
void MqttAgentSession::AskForValues() {
  if (session_.unsaved_answers() > 0) return;
  for (const std::string& filter : std::exchange(asking_, {})) {
    const auto found =
        std::find_if(interests_.begin(), interests_.end(),
                     [&filter](const auto& interest) { return interest->filter == filter; });
    if (found != interests_.end()) owner_->OnValuesAsked(*found);
  }
}

void MqttAgentSession::TakeRecords() {
  if (!output().empty()) return subscriber_->Collect();
  std::string packets;
  if (subscriber_->Take(kRecordsPerTurn, &packets)) session_.SendPackets(packets);
}

void MqttAgentSession::OnPublish(const mqtt::Publish& publish) {
  IncomingRecord record;
  record.topic = publish.topic;
  record.payload = TextOf(publish.payload);
  std::string trace;
  record.trace = TraceOf(publish.properties, &trace);
  record.flags = FlagsOf(publish.qos, publish.retain);
  record.record_class = ClassSaid(publish.properties);
  record.handle = publish.handle;
  const RecordAnswer answer = owner_->OnRecord(record);
  if (publish.qos == 0) return;
  switch (answer.verdict) {
    case RecordAnswer::Verdict::kTaken:
      if (answer.copies == 0) {
        session_.AcknowledgePublish(publish.handle);
      } else {
        session_.ExpectAcknowledgements(publish.handle, static_cast<uint16_t>(answer.copies));
      }
      return;
    case RecordAnswer::Verdict::kFull:
    case RecordAnswer::Verdict::kTooFast:
      session_.RefusePublish(publish.handle, mqtt::reason::kQuotaExceeded);
      return;
    case RecordAnswer::Verdict::kNotAllowed:
      session_.RefusePublish(publish.handle, mqtt::reason::kNotAuthorized);
      return;
    case RecordAnswer::Verdict::kPartFull:
      RefuseOrEnd(publish.handle, mqtt::reason::kQuotaExceeded);
      return;
    case RecordAnswer::Verdict::kNoPart:
      RefuseOrEnd(publish.handle, mqtt::reason::kNotAuthorized);
      return;
    case RecordAnswer::Verdict::kNotTaken:
      // A refusal in a PUBACK would make most clients drop the record.
      EndUntaken(publish.handle);
      return;
  }
}

// The PUBACK of MQTT 3.x has no reason code: its connection ends, so that the device keeps the
// record.
void MqttAgentSession::RefuseOrEnd(uint64_t handle, uint8_t code) {
  if (session_.protocol_level() == mqtt::kLevel5) {
    session_.RefusePublish(handle, code);
  } else {
    EndUntaken(handle);
  }
}

void MqttAgentSession::EndUntaken(uint64_t handle) {
  not_taken_ = true;
  GiveUp(handle);
}

void MqttAgentSession::GiveUp(uint64_t handle) {
  session_.GiveUpPublish(handle, mqtt::reason::kAdministrative);
}

uint8_t MqttAgentSession::ClassSaid(const mqtt::Properties& properties) const {
  const std::string& name = owner_->source().class_property;
  if (properties.empty() || name.empty()) return 0;
  const auto value = properties.UserProperty(name);
  return value ? ParseClass(*value) : 0;
}

CommandStart MqttAgentSession::Command(uint64_t id, std::string_view topic,
                                       std::string_view payload, uint8_t qos) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(payload.data()), payload.size());
  switch (session_.SendPublish(id, topic, bytes, qos)) {
    case mqtt::SendResult::kSent:
      return CommandStart::kSent;
    case mqtt::SendResult::kDone:
      return CommandStart::kDone;
    case mqtt::SendResult::kNoSubscription:
      return CommandStart::kNotListening;
    case mqtt::SendResult::kWindowFull:
      return CommandStart::kBusy;
    case mqtt::SendResult::kTooLarge:
      return CommandStart::kTooLarge;
  }
  return CommandStart::kNotListening;
}

// [MQTT-3.1.2-24] 1.5 times the keep-alive. The CONNACK has informed MQTT 5 devices of a shorter
// keep-alive.
int64_t MqttAgentSession::silence_limit_us() const {
  int64_t seconds = session_.keep_alive_s();
  const int64_t most = limits_.server_keep_alive_s;
  if (most != 0 && (seconds == 0 || seconds > most)) seconds = most;
  return seconds * 1'500'000;
}

void MqttAgentSession::SayGoodbye(AgentEnd end) {
  switch (end) {
    case AgentEnd::kClosed:
    case AgentEnd::kProtocol:
      return;
    case AgentEnd::kKeepAlive:
      session_.Disconnect(mqtt::reason::kKeepAliveTimeout);
      return;
    case AgentEnd::kTakenOver:
      session_.Disconnect(mqtt::reason::kTakenOver);
      return;
    case AgentEnd::kStopped:
      session_.Disconnect(mqtt::reason::kShuttingDown);
      return;
    case AgentEnd::kTooMuch:
      session_.Disconnect(mqtt::reason::kQuotaExceeded);
      return;
    case AgentEnd::kDismissed:
    case AgentEnd::kNotTaken:
      session_.Disconnect(mqtt::reason::kAdministrative);
      return;
  }
}

bool MqttAgentSession::Finish(AgentEnd) {
  CloseSubscriber();
  const int64_t now = MonotonicUs();
  const mqtt::Will* will = session_.will();
  WillRecord record;
  uint32_t delay_s = 0;
  if (will != nullptr) {
    record = RecordOf(*will);
    delay_s = session_.will_delay_s();
  }
  const std::string& device = owner_->device_id();
  const bool is_saved = session_.is_saved();
  // A connection that was refused has no part in the device's session.
  const bool was_connected = session_.connected();
  if (was_connected) kept_->saves().StopAwaiting(device);
  const bool kept = kept_->Put(device, SourceName(), session_.Keep(&late_), now);
  if (!kept) late_.clear();
  if (!kept && was_connected) kept_->saves().Ended(device, is_saved);
  // 5: 3.1.3.2.2 The will is published when the session ends at the latest.
  if (will != nullptr) wills_->Ended(std::move(record), kept ? delay_s : 0, now);
  return kept;
}

void MqttAgentSession::PublishWill() {
  const mqtt::Will* const will = session_.will();
  if (will == nullptr) return;
  wills_->Ended(RecordOf(*will), 0, MonotonicUs());
  session_.DropWill();
}

WillRecord MqttAgentSession::RecordOf(const mqtt::Will& will) const {
  WillRecord record;
  record.device = owner_->device_id();
  record.stage = owner_->stage();
  record.topic = will.topic;
  record.payload = TextOf(will.payload);
  record.flags = FlagsOf(will.qos, will.retain);
  record.record_class = ClassSaid(will.properties);
  return record;
}

}  // namespace seganet

#include "core/runtime/mqtt_agent_session.h"

#include "core/record/record.h"

namespace seganet {

mqtt::ConnectCode MqttAgentSession::OnConnect(const mqtt::Connect&,
                                              std::unique_ptr<mqtt::KeptSession>*) {
  return owner_->OnConnect() ? mqtt::ConnectCode::kAccepted : mqtt::ConnectCode::kServerUnavailable;
}

void MqttAgentSession::OnPublish(const mqtt::Publish& publish) {
  IncomingRecord record;
  record.topic = publish.topic;
  record.payload = {reinterpret_cast<const char*>(publish.payload.data()), publish.payload.size()};
  record.flags =
      static_cast<uint8_t>((publish.qos > 0 ? kFlagQos1 : 0) | (publish.retain ? kFlagRetain : 0));
  record.slot = publish.slot;
  const RecordAnswer answer = owner_->OnRecord(record);
  if (publish.qos == 0) return;
  if (answer.copies == 0) {
    session_.AcknowledgeSlot(publish.slot);
  } else {
    session_.ExpectAcknowledgements(publish.slot, static_cast<uint16_t>(answer.copies));
  }
}

CommandStart MqttAgentSession::Command(uint64_t, std::string_view, std::string_view, uint8_t) {
  return CommandStart::kNotListening;
}

}  // namespace seganet

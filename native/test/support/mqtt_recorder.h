#ifndef SEGANET_TEST_SUPPORT_MQTT_RECORDER_H_
#define SEGANET_TEST_SUPPORT_MQTT_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/mqtt/server_session.h"

namespace seganet::mqtt_test {

// A session with its owner: records every event and collects every byte of output, so that two ways
// of feeding the same bytes can be compared.
class Recorder : public mqtt::Handler {
 public:
  enum class Ack {
    kAtOnce,
    kNever,
    kLate,  // in an order that depends on the events alone, not on the feeding
  };

  explicit Recorder(Ack ack = Ack::kAtOnce, const mqtt::Limits& limits = {})
      : session(this, limits), ack_(ack) {}

  CloseReason Feed(std::string_view bytes) {
    return Feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }

  CloseReason Feed(std::span<const uint8_t> bytes) {
    const CloseReason reason = session.Feed(bytes);
    Drain();
    return reason;
  }

  mqtt::SendResult Send(uint64_t id, std::string_view topic, std::string_view payload,
                        uint8_t qos = 1) {
    const mqtt::SendResult result = session.SendPublish(
        id, topic, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()}, qos);
    Drain();
    return result;
  }

  // The output since the last call.
  std::string TakeOutput() {
    Drain();
    return std::exchange(output, {});
  }

  bool Refuse(uint64_t handle, uint8_t code) {
    const bool known = session.RefusePublish(handle, code);
    Drain();
    return known;
  }

  bool Acknowledge(uint64_t handle) {
    const bool known = session.AcknowledgePublish(handle);
    Drain();
    return known;
  }

  mqtt::ConnectCode OnConnect(const mqtt::Connect& connect,
                              std::unique_ptr<mqtt::KeptSession>* kept_session) override {
    *kept_session = std::move(kept);
    Note("connect", connect.client_id);
    log += connect.clean_session ? " clean" : " unclean";
    log += " level " + std::to_string(connect.protocol_level);
    log += " keep-alive " + std::to_string(connect.keep_alive_s);
    if (connect.will) NoteMessage(" will", connect.will->topic, connect.will->payload);
    if (connect.user_name) Note(" user", *connect.user_name);
    if (connect.password) Note(" password", Text(*connect.password));
    return connect_code;
  }

  void OnPublish(const mqtt::Publish& publish) override {
    NoteMessage("publish", publish.topic, publish.payload);
    log += " id " + std::to_string(publish.packet_id) + " qos " + std::to_string(publish.qos);
    log += publish.retain ? " retain" : "";
    log += publish.dup ? " dup" : "";
    ++publishes;
    last_topic = publish.topic.data();
    if (publish.qos == 0) return;
    handles.push_back(publish.handle);
    ids.push_back(publish.packet_id);
    if (ack_ == Ack::kAtOnce) session.AcknowledgePublish(publish.handle);
    if (ack_ != Ack::kLate) return;
    for (int i = 0; i < 2; ++i) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      session.AcknowledgePublish(handles[(random_ >> 33) % handles.size()]);
    }
  }

  mqtt::Grant OnSubscribe(const mqtt::Filter& filter) override {
    Note("subscribe", filter.filter);
    log += " qos " + std::to_string(filter.qos);
    return filter.filter == "no" ? mqtt::Grant::kNotAllowed : mqtt::Grant::kCommands;
  }

  void OnUnsubscribe(const mqtt::Filter& filter) override { Note("unsubscribe", filter.filter); }
  void OnSubscribed() override { ++subscribed; }
  void OnCommandAnswer(uint64_t id, uint8_t code) override {
    log += "\nanswer " + std::to_string(id) + " code " + std::to_string(code);
  }
  void OnRefusedPublish(uint8_t code) override { log += "\nrefused " + std::to_string(code); }
  void OnDisconnect() override { log += "disconnect\n"; }

  mqtt::ServerSession session;
  mqtt::ConnectCode connect_code = mqtt::ConnectCode::kAccepted;
  std::unique_ptr<mqtt::KeptSession> kept;  // for the next CONNECT
  std::string log;
  std::string output;
  size_t subscribed = 0;
  std::vector<uint64_t> handles;  // of all QoS 1 and 2 publishes
  std::vector<uint16_t> ids;      // the same, their identifiers
  size_t publishes = 0;
  const char* last_topic = nullptr;

 private:
  static std::string_view Text(std::span<const uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void Note(std::string_view what, std::string_view text) {
    log.append("\n").append(what).append(" [").append(text).append("]");
  }

  void NoteMessage(std::string_view what, std::string_view topic,
                   std::span<const uint8_t> payload) {
    Note(what, topic);
    log.append(" = [").append(Text(payload)).append("]");
  }

  void Drain() {
    output.append(session.output());
    session.ConsumeOutput(session.output().size());
  }

  const Ack ack_;
  uint64_t random_ = 1;
};

}  // namespace seganet::mqtt_test

#endif  // SEGANET_TEST_SUPPORT_MQTT_RECORDER_H_

#include "core/reception/handshake.h"

#include <random>
#include <span>
#include <utility>

#include "core/protocol/mqtt/connect_peek.h"
#include "core/reception/coap_handshake.h"
#include "core/reception/coap_listener_settings.h"
#include "core/record/odd_topic.h"
#include "core/record/part.h"
#include "core/record/record.h"

namespace seganet {
namespace {

constexpr size_t kMaxConnectBytes = 65'536;

// [MQTT-3.1.3-6] A client without an id gets a unique one.
std::string MadeUpId() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::random_device random;
  std::string id = "auto-";
  for (int word = 0; word < 4; ++word) {
    const uint32_t bits = random();
    for (int shift = 0; shift < 32; shift += 4) id.push_back(kHex[(bits >> shift) & 15]);
  }
  return id;
}

class MqttHandshake : public Handshake {
 public:
  // `part`: of the devices, empty = none.
  MqttHandshake(bool odd_topics, std::string part)
      : odd_topics_(odd_topics), part_(std::move(part)) {}

  std::string InitialBytes() const override { return {}; }
  bool TrustsProof() const override { return false; }
  std::string LoginRefusal(uint8_t level) const override {
    return mqtt::LoginRefusal(level, mqtt::ConnectCode::kBadCredentials);
  }

  Introduction Listen(std::string_view bytes, size_t) const override {
    const std::span<const uint8_t> span(reinterpret_cast<const uint8_t*>(bytes.data()),
                                        bytes.size());
    const mqtt::ConnectPeek peek = mqtt::PeekConnect(span, kMaxConnectBytes);
    Introduction answer;
    if (peek.status == mqtt::ConnectPeek::Status::kNeedMore) return answer;
    if (peek.status != mqtt::ConnectPeek::Status::kOk) {
      answer.status = Introduction::Status::kRefused;
      answer.reason = peek.reason;
      answer.answer = mqtt::RefusalFor(peek);
      return answer;
    }
    const bool is_odd = !odd_topics_ && IsOddTopic(peek.client_id);
    const size_t part_bytes = part_.empty() ? 0 : part_.size() + 1;
    if (peek.client_id.size() + part_bytes > kMaxDeviceBytes || is_odd) {
      answer.status = Introduction::Status::kRefused;
      answer.reason = CloseReason::kRefused;
      answer.answer =
          mqtt::LoginRefusal(peek.protocol_level, mqtt::ConnectCode::kIdentifierRejected);
      return answer;
    }
    answer.status = Introduction::Status::kDevice;
    answer.level = peek.protocol_level;
    if (peek.user_name) answer.user = *peek.user_name;
    if (peek.password) {
      answer.password.emplace(reinterpret_cast<const char*>(peek.password->data()),
                              peek.password->size());
    }
    // [MQTT-3.1.3-6] MQTT 3.1.1 allows it only with a clean session, MQTT 5 always.
    answer.made_up =
        peek.client_id.empty() && (peek.clean_session || peek.protocol_level == mqtt::kLevel5);
    answer.device = answer.made_up ? MadeUpId() : std::string(peek.client_id);
    if (!part_.empty() && !answer.device.empty()) answer.device = IdInPart(part_, answer.device);
    return answer;
  }

 private:
  const bool odd_topics_;
  const std::string part_;
};

}  // namespace

std::unique_ptr<Handshake> MakeHandshake(const SourceSettings& settings, size_t max_packet_bytes,
                                         bool odd_topics, bool has_desk, bool asks_login) {
  if (settings.protocol == Protocol::kCoap && has_desk) {
    return std::make_unique<DeskHandshake>(CoapSettings(settings, max_packet_bytes, odd_topics));
  }
  if (has_desk) return nullptr;
  if (settings.protocol == Protocol::kCoap) {
    return std::make_unique<CoapHandshake>(CoapSettings(settings, max_packet_bytes, odd_topics));
  }
  if (settings.protocol == Protocol::kMqtt) {
    return std::make_unique<MqttHandshake>(odd_topics, asks_login ? "" : settings.part);
  }
  return nullptr;
}

}  // namespace seganet

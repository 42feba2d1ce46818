#ifndef SEGANET_CORE_PROTOCOL_MQTT_PROPERTIES_H_
#define SEGANET_CORE_PROTOCOL_MQTT_PROPERTIES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/protocol/mqtt/reader.h"
#include "core/protocol/mqtt/reason_code.h"

namespace seganet::mqtt {

// MQTT 5.0, 2.2.2.2.
enum class Property : uint8_t {
  kPayloadFormat = 0x01,
  kMessageExpiry = 0x02,
  kContentType = 0x03,
  kResponseTopic = 0x08,
  kCorrelationData = 0x09,
  kSubscriptionIdentifier = 0x0B,
  kSessionExpiry = 0x11,
  kAssignedClientIdentifier = 0x12,
  kServerKeepAlive = 0x13,
  kAuthenticationMethod = 0x15,
  kAuthenticationData = 0x16,
  kRequestProblemInformation = 0x17,
  kWillDelay = 0x18,
  kRequestResponseInformation = 0x19,
  kServerReference = 0x1C,
  kReasonString = 0x1F,
  kReceiveMaximum = 0x21,
  kTopicAliasMaximum = 0x22,
  kTopicAlias = 0x23,
  kUserProperty = 0x26,
  kMaximumPacketSize = 0x27,
  kSharedSubscriptionAvailable = 0x2A,
};

// Where properties are found: each place has its own set.
enum class PropertyPlace : uint8_t {
  kConnect,
  kWill,
  kPublish,
  kAnswer,  // PUBACK and PUBREL
  kSubscribe,
  kUnsubscribe,
  kDisconnect,
};

// The properties of one packet, which were checked; each is looked for when it is asked for. Views
// into the packet.
class Properties {
 public:
  Properties() = default;

  bool empty() const { return bytes_.empty(); }
  // Of a property that is a number.
  std::optional<uint32_t> Number(Property id) const;
  // Of one that is a string or binary data.
  std::optional<std::string_view> Text(Property id) const;
  // The value of the first user property of this name.
  std::optional<std::string_view> UserProperty(std::string_view name) const;
  // As they are in the packet, without their length.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  friend Fault ReadProperties(Reader* reader, PropertyPlace place, Properties* properties);
  friend Properties CheckedProperties(std::string_view bytes);

  std::span<const uint8_t> bytes_;
};

// Takes the length and the properties from `reader` and checks all: known here and in their place
// (0x81), once only, with a value in its range (0x82), well-formed UTF-8 (0x81).
Fault ReadProperties(Reader* reader, PropertyPlace place, Properties* properties);

// A copy of properties that were checked. REQUIRES: `bytes` are those of ReadProperties.
Properties CheckedProperties(std::string_view bytes);

void AppendProperty(std::string* out, Property id, uint8_t value);
void AppendProperty(std::string* out, Property id, uint16_t value);
void AppendProperty(std::string* out, Property id, uint32_t value);
void AppendProperty(std::string* out, Property id, std::string_view value);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_PROPERTIES_H_

// The properties of MQTT 5.0 packets. Clauses are those of 5.0.
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

// Property identifiers (2.2.2.2).
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

// The place of properties. Each place allows its own set.
enum class PropertyPlace : uint8_t {
  kConnect,
  kWill,
  kPublish,
  kAnswer,  // PUBACK and PUBREL
  kSubscribe,
  kUnsubscribe,
  kDisconnect,
};

// The checked properties of one packet. A view into the packet; each call searches it.
class Properties {
 public:
  Properties() = default;

  bool empty() const { return bytes_.empty(); }
  // Returns the value of a numeric property; nullopt if absent.
  std::optional<uint32_t> Number(Property id) const;
  // Returns the value of a property with a string or binary data; nullopt if absent.
  std::optional<std::string_view> Text(Property id) const;
  // Returns the value of the first user property with this name; nullopt if absent.
  std::optional<std::string_view> UserProperty(std::string_view name) const;
  // The encoded properties, without their length.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  friend Fault ReadProperties(Reader* reader, PropertyPlace place, Properties* properties);
  friend Properties CheckedProperties(std::string_view bytes);

  std::span<const uint8_t> bytes_;
};

// Takes the length and the properties from `reader` and checks them. Faults: unknown or misplaced
// (0x81), repeated or out of range (0x82), ill-formed UTF-8 (0x81).
Fault ReadProperties(Reader* reader, PropertyPlace place, Properties* properties);

// Returns a view of a copy of checked properties.
// REQUIRES: `bytes` equals the bytes() of properties that ReadProperties accepted.
Properties CheckedProperties(std::string_view bytes);

// Appends an encoded property. The type of `value` must be that of the property (2.2.2.2).
void AppendProperty(std::string* out, Property id, uint8_t value);
void AppendProperty(std::string* out, Property id, uint16_t value);
void AppendProperty(std::string* out, Property id, uint32_t value);
void AppendProperty(std::string* out, Property id, std::string_view value);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_PROPERTIES_H_

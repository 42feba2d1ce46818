// Parses the packets that a client sends: MQTT 5.0 (OASIS, 7 March 2019), 3.1.1 (29 October 2014)
// and 3.1. Clauses, in brackets or not, are those of 3.1.1; "5:" marks clauses and facts of 5.0.
// All views point into the parsed bytes.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_CODEC_H_
#define SEGANET_CORE_PROTOCOL_MQTT_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/close_reason.h"
#include "core/protocol/mqtt/properties.h"
#include "core/protocol/mqtt/reason_code.h"
#include "core/protocol/mqtt/topic.h"

namespace seganet::mqtt {

inline constexpr uint8_t kLevel31 = 3;   // "MQIsdp"
inline constexpr uint8_t kLevel311 = 4;  // "MQTT"
inline constexpr uint8_t kLevel5 = 5;    // "MQTT"

enum class PacketType : uint8_t {
  kConnect = 1,
  kConnack,
  kPublish,
  kPuback,
  kPubrec,
  kPubrel,
  kPubcomp,
  kSubscribe,
  kSuback,
  kUnsubscribe,
  kUnsuback,
  kPingreq,
  kPingresp,
  kDisconnect,
  kAuth,  // 5
};

// The owner's answer to a CONNECT: the return codes of 3.1.1. 5: sent as ReasonCodeOf() the code.
enum class ConnectCode : uint8_t {
  kAccepted = 0,
  kUnacceptableVersion = 1,
  kIdentifierRejected = 2,
  kServerUnavailable = 3,
  kBadCredentials = 4,
  kNotAuthorized = 5,
};

struct FixedHeader {
  PacketType type{};
  uint8_t flags = 0;       // low four bits of the first byte
  uint8_t size = 0;        // of the header itself, 2..5
  uint32_t remaining = 0;  // bytes after the header, 0..268,435,455
  size_t total() const { return size_t{size} + remaining; }  // bytes of the packet
};

struct Will {
  std::string_view topic;
  std::span<const uint8_t> payload;
  Properties properties;  // 5
  uint8_t qos = 0;
  bool retain = false;
};

struct Connect {
  std::string_view client_id;  // empty: the server assigns one (clean session only)
  std::optional<Will> will;
  std::optional<std::string_view> user_name;
  std::optional<std::span<const uint8_t>> password;
  uint16_t keep_alive_s = 0;  // 0 = no keep-alive
  uint8_t protocol_level = 0;
  bool clean_session = false;        // 5: Clean Start
  Properties properties;             // 5
  uint32_t session_expiry_s = 0;     // 5: as requested
  uint32_t maximum_packet = 0;       // 5: the largest the device accepts, 0 = any
  uint16_t receive_maximum = 65535;  // of the device
};

struct Publish {
  std::string_view topic;
  std::span<const uint8_t> payload;
  Properties properties;   // 5
  uint64_t handle = 0;     // handle for AcknowledgePublish(); 0 with QoS 0
  uint16_t packet_id = 0;  // 0 with QoS 0
  uint8_t qos = 0;
  bool retain = false;
  bool dup = false;

  // MQTT 5. Each call searches the properties.
  std::optional<std::string_view> UserProperty(std::string_view name) const {
    return properties.UserProperty(name);
  }
  std::optional<std::string_view> content_type() const {
    return properties.Text(Property::kContentType);
  }
  std::optional<uint32_t> message_expiry_s() const {
    return properties.Number(Property::kMessageExpiry);
  }
  // True if the device declares the payload to be UTF-8; the session checks that it is.
  bool payload_utf8() const { return properties.Number(Property::kPayloadFormat) == 1; }
};

struct Filter {
  std::string_view filter;
  uint8_t qos = 0;  // requested; 0 in an UNSUBSCRIBE
  // 5: 3.8.3.1. No effect on commands (SubscriptionOptions).
  bool no_local = false;
  bool retain_as_published = false;
  uint8_t retain_handling = 0;
};

// A SUBSCRIBE or UNSUBSCRIBE.
struct FilterPacket {
  uint16_t packet_id = 0;
  uint32_t subscription_identifier = 0;  // 5; 0 = none
  std::vector<Filter> filters;
};

// A PUBACK, PUBREC, PUBREL or PUBCOMP.
struct AnswerPacket {
  uint16_t packet_id = 0;
  uint8_t code = 0;  // 5
};

struct DisconnectPacket {
  uint8_t code = 0;                          // 5
  std::optional<uint32_t> session_expiry_s;  // 5
};

enum class HeaderStatus : uint8_t { kOk, kNeedMore, kMalformed };

// Reads type, flags and Remaining Length (2.2). kNeedMore when `bytes` ends inside the header.
HeaderStatus DecodeFixedHeader(std::span<const uint8_t> bytes, FixedHeader* header);

// True if the Remaining Length has as few bytes as possible: 5 [MQTT-1.5.5-1].
bool ShortestLength(const FixedHeader& header);

// Checks the first byte of a packet from a connected client: type and flags [MQTT-2.2.2-1],
// [MQTT-2.2.2-2]. kNone = allowed. Bits that 3.1 does not use may be set.
CloseReason CheckFirstByte(uint8_t first, uint8_t protocol_level);

// Reads the protocol name and level at the beginning of a CONNECT's body. kMalformed with
// `level` = 0 when `body` is too short.
CloseReason ParseProtocol(std::span<const uint8_t> body, uint8_t* level);

// The parse functions take the body, which is everything after the fixed header, and return no
// fault or why to close the connection. After a fault the output may be partly filled, but a
// Connect::protocol_level other than 0 is valid.
Fault ParseConnect(std::span<const uint8_t> body, size_t max_topic_levels, Connect* connect);
// 5: the topic is empty when the packet has only a topic alias.
// REQUIRES: CheckFirstByte accepted the packet's first byte.
Fault ParsePublish(uint8_t flags, std::span<const uint8_t> body, uint8_t protocol_level,
                   size_t max_topic_levels, Publish* publish);
Fault ParseSubscribe(std::span<const uint8_t> body, uint8_t protocol_level, size_t max_topic_levels,
                     size_t max_filters, FilterPacket* packet);
Fault ParseUnsubscribe(std::span<const uint8_t> body, uint8_t protocol_level,
                       size_t max_topic_levels, size_t max_filters, FilterPacket* packet);
// Also parses a PUBREC, which has the same codes.
Fault ParsePuback(std::span<const uint8_t> body, uint8_t protocol_level, AnswerPacket* packet);
// Also parses a PUBCOMP.
Fault ParsePubrel(std::span<const uint8_t> body, uint8_t protocol_level, AnswerPacket* packet);
Fault ParseDisconnect(std::span<const uint8_t> body, uint8_t protocol_level,
                      DisconnectPacket* packet);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CODEC_H_

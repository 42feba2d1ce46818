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
#include "core/protocol/mqtt/topic.h"

// MQTT 3.1.1 (OASIS, 29 October 2014) and 3.1 packets, the server's side. Clauses in brackets are
// those of 3.1.1. All views point into the bytes that were parsed.
namespace seganet::mqtt {

inline constexpr uint8_t kLevel31 = 3;   // "MQIsdp"
inline constexpr uint8_t kLevel311 = 4;  // "MQTT"
inline constexpr uint8_t kLevel5 = 5;    // known only to be refused in its own words

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
};

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
  size_t total() const { return size_t{size} + remaining; }
};

struct Will {
  std::string_view topic;
  std::span<const uint8_t> payload;
  uint8_t qos = 0;
  bool retain = false;
};

struct Connect {
  std::string_view client_id;  // empty: the server makes one up (clean session only)
  std::optional<Will> will;
  std::optional<std::string_view> user_name;
  std::optional<std::span<const uint8_t>> password;
  uint16_t keep_alive_s = 0;  // 0 = no keep-alive
  uint8_t protocol_level = 0;
  bool clean_session = false;
};

struct Publish {
  std::string_view topic;
  std::span<const uint8_t> payload;
  uint64_t slot = 0;       // for ServerSession::AcknowledgeSlot; 0 with QoS 0
  uint16_t packet_id = 0;  // 0 with QoS 0
  uint8_t qos = 0;         // 0 or 1
  bool retain = false;
  bool dup = false;
};

struct Filter {
  std::string_view filter;
  uint8_t qos = 0;  // requested; 0 in an UNSUBSCRIBE
};

enum class HeaderStatus : uint8_t { kOk, kNeedMore, kMalformed };

// Reads type, flags and Remaining Length (2.2). kNeedMore when `bytes` ends inside of it.
HeaderStatus DecodeFixedHeader(std::span<const uint8_t> bytes, FixedHeader* header);

// Whether a client may send a packet that begins with this byte once it is connected: its type and
// flags [MQTT-2.2.2-1], [MQTT-2.2.2-2]. 3.1 lets DUP be set in SUBSCRIBE and UNSUBSCRIBE.
CloseReason CheckFirstByte(uint8_t first, uint8_t protocol_level);

// Reads the protocol name and level that a CONNECT's body begins with. kMalformed with
// `level` = 0 when `body` is too short to tell.
CloseReason ParseProtocol(std::span<const uint8_t> body, uint8_t* level);

// Bodies are what follows the fixed header. Each returns kNone or the reason to close; on a reason
// the output may be partly filled.
CloseReason ParseConnect(std::span<const uint8_t> body, size_t max_topic_levels, Connect* connect);
// REQUIRES: CheckFirstByte accepted the packet.
CloseReason ParsePublish(uint8_t flags, std::span<const uint8_t> body, size_t max_topic_levels,
                         Publish* publish);
CloseReason ParseSubscribe(std::span<const uint8_t> body, size_t max_topic_levels,
                           size_t max_filters, uint16_t* packet_id, std::vector<Filter>* filters);
CloseReason ParseUnsubscribe(std::span<const uint8_t> body, size_t max_topic_levels,
                             size_t max_filters, uint16_t* packet_id, std::vector<Filter>* filters);
CloseReason ParsePuback(std::span<const uint8_t> body, uint16_t* packet_id);

// Session Present is always 0: no session outlives its connection [MQTT-3.2.2-3].
void AppendConnack(std::string* out, ConnectCode code);
// What a client of an unsupported level gets: CONNACK 0x01 [MQTT-3.1.2-2], and for MQTT 5 its own
// CONNACK with reason 0x84, which a 3.1.1 CONNACK would be no valid answer to.
std::string_view VersionRefusal(uint8_t level);
void AppendPuback(std::string* out, uint16_t packet_id);
void AppendSuback(std::string* out, uint16_t packet_id, std::string_view return_codes);
void AppendUnsuback(std::string* out, uint16_t packet_id);
void AppendPingresp(std::string* out);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CODEC_H_

#include "core/protocol/mqtt/codec.h"

#include "core/base/require.h"
#include "core/protocol/mqtt/reader.h"

namespace seganet::mqtt {
namespace {

constexpr uint8_t kRetainFlag = 0x01;
constexpr uint8_t kDupFlag = 0x08;
constexpr uint8_t kUnused31 = kDupFlag | kRetainFlag;  // in 3.1, for packets with QoS bits
constexpr uint8_t kRequiredFlags = 0x02;               // of SUBSCRIBE, UNSUBSCRIBE and PUBREL

CloseReason CheckPublishFlags(uint8_t flags) {
  const uint8_t qos = (flags >> 1) & 3;
  if (qos == 3) return CloseReason::kQos3;                                 // [MQTT-3.3.1-4]
  if (qos == 0 && (flags & kDupFlag) != 0) return CloseReason::kBadFlags;  // [MQTT-3.3.1-2]
  return CloseReason::kNone;
}

CloseReason OrBadFlags(bool good, CloseReason reason) {
  return good ? reason : CloseReason::kBadFlags;
}

constexpr uint8_t kReservedOptions = 0xC0;  // of a subscription

Fault BadFilter(CloseReason reason) {
  if (reason != CloseReason::kBadTopic) return reason;
  return {reason, reason::kTopicFilterInvalid};
}

// 5: 3.8.3.1, and 3.8.3 of 3.1.1.
Fault ReadOptions(Reader* reader, bool five, Filter* filter) {
  uint8_t options = 0;
  if (!reader->U8(&options)) return CloseReason::kMalformed;
  if (!five) {
    // [MQTT-3.8.3-4] Reserved bits of the requested QoS are 0 and it is 0, 1 or 2.
    filter->qos = options;
    return options > 2 ? CloseReason::kMalformed : CloseReason::kNone;
  }
  filter->qos = options & 3;
  filter->no_local = (options & 0x04) != 0;
  filter->retain_as_published = (options & 0x08) != 0;
  filter->retain_handling = (options >> 4) & 3;
  if ((options & kReservedOptions) != 0) return CloseReason::kMalformed;  // 5: [MQTT-3.8.3-5]
  if (filter->qos == 3 || filter->retain_handling == 3) return CloseReason::kProtocolError;
  // 5: [MQTT-3.8.3-4] A shared subscription is never local.
  const bool shared = filter->filter.starts_with(kSharedPrefix);
  return filter->no_local && shared ? CloseReason::kProtocolError : CloseReason::kNone;
}

Fault ParseFilters(std::span<const uint8_t> body, uint8_t level, PropertyPlace place,
                   size_t max_topic_levels, size_t max_filters, FilterPacket* packet) {
  Reader reader(body);
  const bool five = level == kLevel5;
  if (!reader.U16(&packet->packet_id)) return CloseReason::kMalformed;
  if (packet->packet_id == 0) return CloseReason::kBadPacketId;  // [MQTT-2.3.1-1]
  if (five) {
    Properties properties;
    const Fault fault = ReadProperties(&reader, place, &properties);
    if (fault) return fault;
    packet->subscription_identifier =
        properties.Number(Property::kSubscriptionIdentifier).value_or(0);
  }
  // [MQTT-3.8.3-3], [MQTT-3.10.3-2] At least one filter; 5: its absence is a Protocol Error.
  if (reader.empty()) return {CloseReason::kMalformed, reason::kProtocolError};
  while (!reader.empty()) {
    if (packet->filters.size() == max_filters) {
      return {CloseReason::kTooLarge, reason::kQuotaExceeded};
    }
    Filter item;
    if (!reader.Text(&item.filter)) return CloseReason::kMalformed;
    if (place == PropertyPlace::kSubscribe) {
      const Fault fault = ReadOptions(&reader, five, &item);
      if (fault) return fault;
    }
    const CloseReason reason = CheckTopicFilter(item.filter, max_topic_levels);
    if (reason != CloseReason::kNone) return BadFilter(reason);
    packet->filters.push_back(item);
  }
  return {};
}

// Reads an answer. 5: the fields after the packet identifier may be left out (3.4.2.1).
Fault ReadAnswer(Reader* reader, uint8_t level, AnswerPacket* packet) {
  if (!reader->U16(&packet->packet_id)) return CloseReason::kMalformed;
  if (packet->packet_id == 0) return CloseReason::kBadPacketId;
  if (level == kLevel5 && !reader->empty()) {
    reader->U8(&packet->code);
    Properties properties;
    if (!reader->empty()) {
      const Fault fault = ReadProperties(reader, PropertyPlace::kAnswer, &properties);
      if (fault) return fault;
    }
  }
  return reader->empty() ? CloseReason::kNone : CloseReason::kMalformed;
}

bool OneOf(uint8_t code, std::string_view codes) {
  return codes.find(static_cast<char>(code)) != std::string_view::npos;
}

// 5: table 3-4, and the codes of table 3-10 that a client may send.
constexpr std::string_view kPubackCodes("\x00\x10\x80\x83\x87\x90\x91\x97\x99", 9);
constexpr std::string_view kDisconnectCodes(
    "\x00\x04\x80\x81\x82\x83\x90\x93\x94\x95\x96\x97\x98\x99", 14);

}  // namespace

HeaderStatus DecodeFixedHeader(std::span<const uint8_t> bytes, FixedHeader* header) {
  if (bytes.size() < 2) return HeaderStatus::kNeedMore;
  header->type = static_cast<PacketType>(bytes[0] >> 4);
  header->flags = bytes[0] & 0x0F;
  uint32_t remaining = 0;
  // 2.2.3: seven bits per byte, least significant first, in at most four bytes. 3.1.1 does not
  // forbid a longer form than needed (MQTT 5 does), so 0x80 0x00 is 0.
  for (size_t i = 0; i < 4; ++i) {
    if (i + 1 >= bytes.size()) return HeaderStatus::kNeedMore;
    const uint8_t byte = bytes[i + 1];
    remaining |= static_cast<uint32_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      header->remaining = remaining;
      header->size = static_cast<uint8_t>(i + 2);
      return HeaderStatus::kOk;
    }
  }
  return HeaderStatus::kMalformed;
}

bool ShortestLength(const FixedHeader& header) {
  return header.size == 2 || header.remaining >= (uint32_t{1} << (7 * (header.size - 2)));
}

CloseReason CheckFirstByte(uint8_t first, uint8_t protocol_level) {
  const uint8_t flags = first & 0x0F;
  const bool is_31 = protocol_level == kLevel31;
  // 3.1 (clause 2.1) sends these packets with QoS 1; its other bits are not checked.
  const uint8_t required = is_31 ? flags & static_cast<uint8_t>(~kUnused31) : flags;
  switch (static_cast<PacketType>(first >> 4)) {
    case PacketType::kPublish:
      return CheckPublishFlags(flags);
    case PacketType::kConnect:
      return CloseReason::kSecondConnect;  // [MQTT-3.1.0-2]
    case PacketType::kConnack:
    case PacketType::kSuback:
    case PacketType::kUnsuback:
    case PacketType::kPingresp:
      return CloseReason::kServerPacketFromClient;
    case PacketType::kPuback:
    case PacketType::kPubrec:
    case PacketType::kPubcomp:
    case PacketType::kPingreq:
    case PacketType::kDisconnect:                                  // [MQTT-3.14.1-1]
      return OrBadFlags(is_31 || flags == 0, CloseReason::kNone);  // [MQTT-2.2.2-2]
    case PacketType::kPubrel:                                      // [MQTT-3.6.1-1]
    case PacketType::kSubscribe:                                   // [MQTT-3.8.1-1]
    case PacketType::kUnsubscribe:                                 // [MQTT-3.10.1-1]
      return OrBadFlags(required == kRequiredFlags, CloseReason::kNone);
    case PacketType::kAuth:  // 5: 4.12 Needs an authentication method, which is refused.
      if (protocol_level != kLevel5) return CloseReason::kMalformed;
      return OrBadFlags(flags == 0, CloseReason::kProtocolError);
  }
  return CloseReason::kMalformed;  // 2.2.1: types 0 and (3.x) 15 are forbidden
}

Fault ParsePublish(uint8_t flags, std::span<const uint8_t> body, uint8_t protocol_level,
                   size_t max_topic_levels, Publish* publish) {
  SEGANET_REQUIRE(CheckFirstByte(static_cast<uint8_t>(0x30 | flags), protocol_level) ==
                  CloseReason::kNone);
  Reader reader(body);
  publish->qos = (flags >> 1) & 3;
  publish->retain = (flags & kRetainFlag) != 0;
  publish->dup = (flags & kDupFlag) != 0;
  if (!reader.Text(&publish->topic)) return CloseReason::kMalformed;
  if (publish->qos != 0) {
    if (!reader.U16(&publish->packet_id)) return CloseReason::kMalformed;
    if (publish->packet_id == 0) return CloseReason::kBadPacketId;  // [MQTT-2.3.1-1]
  }
  if (protocol_level == kLevel5) {
    const Fault fault = ReadProperties(&reader, PropertyPlace::kPublish, &publish->properties);
    if (fault) return fault;
    publish->payload = reader.rest();
    if (publish->topic.empty()) {
      // 5: 3.3.2.1 No topic and no alias is a Protocol Error.
      if (publish->properties.Number(Property::kTopicAlias)) return {};
      return {CloseReason::kBadTopic, reason::kProtocolError};
    }
  } else {
    publish->payload = reader.rest();
  }
  return CheckTopicName(publish->topic, max_topic_levels);
}

Fault ParseSubscribe(std::span<const uint8_t> body, uint8_t protocol_level, size_t max_topic_levels,
                     size_t max_filters, FilterPacket* packet) {
  return ParseFilters(body, protocol_level, PropertyPlace::kSubscribe, max_topic_levels,
                      max_filters, packet);
}

Fault ParseUnsubscribe(std::span<const uint8_t> body, uint8_t protocol_level,
                       size_t max_topic_levels, size_t max_filters, FilterPacket* packet) {
  return ParseFilters(body, protocol_level, PropertyPlace::kUnsubscribe, max_topic_levels,
                      max_filters, packet);
}

Fault ParsePuback(std::span<const uint8_t> body, uint8_t protocol_level, AnswerPacket* packet) {
  Reader reader(body);
  const Fault fault = ReadAnswer(&reader, protocol_level, packet);
  if (fault) return fault;
  return OneOf(packet->code, kPubackCodes) ? CloseReason::kNone : CloseReason::kProtocolError;
}

Fault ParsePubrel(std::span<const uint8_t> body, uint8_t protocol_level, AnswerPacket* packet) {
  Reader reader(body);
  const Fault fault = ReadAnswer(&reader, protocol_level, packet);
  if (fault) return fault;
  // 5: table 3-6
  const bool known = packet->code == 0 || packet->code == reason::kPacketIdNotFound;
  return known ? CloseReason::kNone : CloseReason::kProtocolError;
}

Fault ParseDisconnect(std::span<const uint8_t> body, uint8_t protocol_level,
                      DisconnectPacket* packet) {
  Reader reader(body);
  if (protocol_level != kLevel5) {
    return reader.empty() ? CloseReason::kNone : CloseReason::kMalformed;
  }
  Properties properties;
  if (reader.U8(&packet->code) && !reader.empty()) {
    const Fault fault = ReadProperties(&reader, PropertyPlace::kDisconnect, &properties);
    if (fault) return fault;
  }
  if (!reader.empty()) return CloseReason::kMalformed;
  if (!OneOf(packet->code, kDisconnectCodes)) return CloseReason::kProtocolError;
  packet->session_expiry_s = properties.Number(Property::kSessionExpiry);
  return {};
}

}  // namespace seganet::mqtt

#include "core/protocol/mqtt/codec.h"

#include "core/protocol/mqtt/reader.h"

namespace seganet::mqtt {
namespace {

constexpr uint8_t kRetainFlag = 0x01;
constexpr uint8_t kDupFlag = 0x08;
constexpr uint8_t kRequiredFlags = 0x02;  // of SUBSCRIBE, UNSUBSCRIBE and PUBREL

CloseReason CheckPublishFlags(uint8_t flags) {
  const uint8_t qos = (flags >> 1) & 3;
  if (qos == 3) return CloseReason::kQos3;  // [MQTT-3.3.1-4]
  if (qos == 2) return CloseReason::kProtocolError;
  if (qos == 0 && (flags & kDupFlag) != 0) return CloseReason::kBadFlags;  // [MQTT-3.3.1-2]
  return CloseReason::kNone;
}

CloseReason OrBadFlags(bool good, CloseReason reason) {
  return good ? reason : CloseReason::kBadFlags;
}

// REQUIRES: id is not 0. Four bytes at a time into the string: PUBACK is on the hot path.
void AppendWithId(std::string* out, uint8_t first, uint16_t id) {
  const char packet[4] = {static_cast<char>(first), 2, static_cast<char>(id >> 8),
                          static_cast<char>(id & 0xFF)};
  out->append(packet, sizeof(packet));
}

CloseReason ParseFilters(std::span<const uint8_t> body, bool with_qos, size_t max_topic_levels,
                         size_t max_filters, uint16_t* packet_id, std::vector<Filter>* filters) {
  Reader reader(body);
  if (!reader.U16(packet_id)) return CloseReason::kMalformed;
  if (*packet_id == 0) return CloseReason::kBadPacketId;  // [MQTT-2.3.1-1]
  // [MQTT-3.8.3-3], [MQTT-3.10.3-2] At least one filter.
  if (reader.empty()) return CloseReason::kMalformed;
  while (!reader.empty()) {
    if (filters->size() == max_filters) return CloseReason::kTooLarge;
    Filter item;
    if (!reader.Text(&item.filter)) return CloseReason::kMalformed;
    if (with_qos) {
      // [MQTT-3.8.3-4] Reserved bits of the requested QoS are 0 and it is 0, 1 or 2.
      if (!reader.U8(&item.qos) || item.qos > 2) return CloseReason::kMalformed;
    }
    const CloseReason reason = CheckTopicFilter(item.filter, max_topic_levels);
    if (reason != CloseReason::kNone) return reason;
    filters->push_back(item);
  }
  return CloseReason::kNone;
}

}  // namespace

HeaderStatus DecodeFixedHeader(std::span<const uint8_t> bytes, FixedHeader* header) {
  if (bytes.size() < 2) return HeaderStatus::kNeedMore;
  header->type = static_cast<PacketType>(bytes[0] >> 4);
  header->flags = bytes[0] & 0x0F;
  uint32_t remaining = 0;
  // 2.2.3: seven bits a byte, the least significant first, in at most four bytes. 3.1.1 does not
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

CloseReason CheckFirstByte(uint8_t first, uint8_t protocol_level) {
  uint8_t flags = first & 0x0F;
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
    case PacketType::kPingreq:
    case PacketType::kDisconnect:                         // [MQTT-3.14.1-1]
      return OrBadFlags(flags == 0, CloseReason::kNone);  // [MQTT-2.2.2-2]
    case PacketType::kPubrec:
    case PacketType::kPubcomp:
      return OrBadFlags(flags == 0, CloseReason::kProtocolError);
    case PacketType::kPubrel:  // [MQTT-3.6.1-1]
      return OrBadFlags(flags == kRequiredFlags, CloseReason::kProtocolError);
    case PacketType::kSubscribe:    // [MQTT-3.8.1-1]
    case PacketType::kUnsubscribe:  // [MQTT-3.10.1-1]
      if (protocol_level == kLevel31) flags &= static_cast<uint8_t>(~kDupFlag);
      return OrBadFlags(flags == kRequiredFlags, CloseReason::kNone);
  }
  return CloseReason::kMalformed;  // 2.2.1: types 0 and 15 are forbidden
}

CloseReason ParsePublish(uint8_t flags, std::span<const uint8_t> body, size_t max_topic_levels,
                         Publish* publish) {
  Reader reader(body);
  publish->qos = (flags >> 1) & 3;
  publish->retain = (flags & kRetainFlag) != 0;
  publish->dup = (flags & kDupFlag) != 0;
  if (!reader.Text(&publish->topic)) return CloseReason::kMalformed;
  if (publish->qos != 0) {
    if (!reader.U16(&publish->packet_id)) return CloseReason::kMalformed;
    if (publish->packet_id == 0) return CloseReason::kBadPacketId;  // [MQTT-2.3.1-1]
  }
  publish->payload = reader.rest();
  return CheckTopicName(publish->topic, max_topic_levels);
}

CloseReason ParseSubscribe(std::span<const uint8_t> body, size_t max_topic_levels,
                           size_t max_filters, uint16_t* packet_id, std::vector<Filter>* filters) {
  return ParseFilters(body, true, max_topic_levels, max_filters, packet_id, filters);
}

CloseReason ParseUnsubscribe(std::span<const uint8_t> body, size_t max_topic_levels,
                             size_t max_filters, uint16_t* packet_id,
                             std::vector<Filter>* filters) {
  return ParseFilters(body, false, max_topic_levels, max_filters, packet_id, filters);
}

CloseReason ParsePuback(std::span<const uint8_t> body, uint16_t* packet_id) {
  Reader reader(body);
  if (!reader.U16(packet_id) || !reader.empty()) return CloseReason::kMalformed;
  return *packet_id == 0 ? CloseReason::kBadPacketId : CloseReason::kNone;
}

void AppendConnack(std::string* out, ConnectCode code) {
  const char packet[4] = {0x20, 2, 0, static_cast<char>(code)};
  out->append(packet, sizeof(packet));
}

std::string_view VersionRefusal(uint8_t level) {
  static constexpr char kRefusal5[] = {0x20, 3, 0, static_cast<char>(0x84), 0};
  static constexpr char kRefusal311[] = {0x20, 2, 0, 1};
  if (level == kLevel5) return {kRefusal5, sizeof(kRefusal5)};
  return {kRefusal311, sizeof(kRefusal311)};
}

void AppendPuback(std::string* out, uint16_t packet_id) { AppendWithId(out, 0x40, packet_id); }

void AppendSuback(std::string* out, uint16_t packet_id, std::string_view return_codes) {
  out->push_back(static_cast<char>(0x90));
  size_t remaining = 2 + return_codes.size();
  do {  // 2.2.3
    const size_t low = remaining & 0x7F;
    remaining >>= 7;
    out->push_back(static_cast<char>(remaining != 0 ? low | 0x80 : low));
  } while (remaining != 0);
  out->push_back(static_cast<char>(packet_id >> 8));
  out->push_back(static_cast<char>(packet_id & 0xFF));
  out->append(return_codes);
}

void AppendUnsuback(std::string* out, uint16_t packet_id) { AppendWithId(out, 0xB0, packet_id); }

void AppendPingresp(std::string* out) {
  const char packet[2] = {static_cast<char>(0xD0), 0};
  out->append(packet, sizeof(packet));
}

}  // namespace seganet::mqtt

#include "core/protocol/mqtt/properties.h"

#include <array>

#include "core/protocol/mqtt/topic.h"

namespace seganet::mqtt {
namespace {

enum class Kind : uint8_t { kNone, kByte, kU16, kU32, kVariable, kText, kBinary, kPair };

// 5: the properties of table 2-4 that clients send, and the values that are not a Protocol Error.
struct Rule {
  Kind kind = Kind::kNone;
  uint8_t places = 0;  // bits by PropertyPlace
  uint32_t least = 0;
  uint32_t most = 0xFFFFFFFF;
};

constexpr uint8_t In(PropertyPlace place) {
  return static_cast<uint8_t>(1U << static_cast<unsigned>(place));
}
constexpr uint8_t kInConnect = In(PropertyPlace::kConnect);
constexpr uint8_t kInWill = In(PropertyPlace::kWill);
constexpr uint8_t kInPublish = In(PropertyPlace::kPublish);
constexpr uint8_t kInAnswer = In(PropertyPlace::kAnswer);
constexpr uint8_t kInSubscribe = In(PropertyPlace::kSubscribe);
constexpr uint8_t kInDisconnect = In(PropertyPlace::kDisconnect);
constexpr uint8_t kEverywhere = 0x7F;

constexpr size_t kRules = 0x2B;
constexpr size_t Index(Property id) { return static_cast<size_t>(id); }

constexpr std::array<Rule, kRules> MakeRules() {
  constexpr uint8_t kMessage = kInPublish | kInWill;
  std::array<Rule, kRules> rules{};
  rules[Index(Property::kPayloadFormat)] = {Kind::kByte, kMessage, 0, 1};
  rules[Index(Property::kMessageExpiry)] = {Kind::kU32, kMessage};
  rules[Index(Property::kContentType)] = {Kind::kText, kMessage};
  rules[Index(Property::kResponseTopic)] = {Kind::kText, kMessage};
  rules[Index(Property::kCorrelationData)] = {Kind::kBinary, kMessage};
  // Not in a PUBLISH of a client [MQTT-3.3.4-6]. 3.8.2.1.2: 0 is a Protocol Error.
  rules[Index(Property::kSubscriptionIdentifier)] = {Kind::kVariable, kInSubscribe, 1};
  rules[Index(Property::kSessionExpiry)] = {Kind::kU32, kInConnect | kInDisconnect};
  rules[Index(Property::kAuthenticationMethod)] = {Kind::kText, kInConnect};
  rules[Index(Property::kAuthenticationData)] = {Kind::kBinary, kInConnect};
  rules[Index(Property::kRequestProblemInformation)] = {Kind::kByte, kInConnect, 0, 1};
  rules[Index(Property::kWillDelay)] = {Kind::kU32, kInWill};
  rules[Index(Property::kRequestResponseInformation)] = {Kind::kByte, kInConnect, 0, 1};
  rules[Index(Property::kServerReference)] = {Kind::kText, kInDisconnect};
  rules[Index(Property::kReasonString)] = {Kind::kText, kInAnswer | kInDisconnect};
  rules[Index(Property::kReceiveMaximum)] = {Kind::kU16, kInConnect, 1};
  rules[Index(Property::kTopicAliasMaximum)] = {Kind::kU16, kInConnect};
  rules[Index(Property::kTopicAlias)] = {Kind::kU16, kInPublish};  // 0 has its own reason code
  rules[Index(Property::kUserProperty)] = {Kind::kPair, kEverywhere};
  rules[Index(Property::kMaximumPacketSize)] = {Kind::kU32, kInConnect, 1};
  return rules;
}
constexpr std::array<Rule, kRules> kRuleOf = MakeRules();

struct Value {
  uint32_t number = 0;
  std::string_view text;
  std::string_view second;  // value of a pair
};

bool ReadValue(Reader* reader, Kind kind, Value* value) {
  uint8_t byte = 0;
  uint16_t half = 0;
  switch (kind) {
    case Kind::kNone:
      return false;
    case Kind::kByte:
      if (!reader->U8(&byte)) return false;
      value->number = byte;
      return true;
    case Kind::kU16:
      if (!reader->U16(&half)) return false;
      value->number = half;
      return true;
    case Kind::kU32:
      return reader->U32(&value->number);
    case Kind::kVariable:
      return reader->Variable(&value->number);
    case Kind::kText:
    case Kind::kBinary:
      return reader->Text(&value->text);
    case Kind::kPair:
      return reader->Text(&value->text) && reader->Text(&value->second);
  }
  return false;
}

Fault CheckValue(Property id, const Rule& rule, const Value& value) {
  if (rule.kind == Kind::kText || rule.kind == Kind::kPair) {
    if (!ValidUtf8(value.text) || !ValidUtf8(value.second)) return CloseReason::kBadUtf8;
    // 5: [MQTT-3.3.2-14] A response topic has no wildcards.
    if (id == Property::kResponseTopic &&
        CheckTopicName(value.text, kMaxStringBytes + 1) != CloseReason::kNone) {
      return {CloseReason::kBadTopic, reason::kProtocolError};
    }
    return {};
  }
  if (rule.kind == Kind::kBinary) return {};
  if (value.number < rule.least || value.number > rule.most) {
    return {CloseReason::kBadProperty, reason::kProtocolError};
  }
  return {};
}

// Calls visit(id, value) for each property until it returns false.
// REQUIRES: ReadProperties() accepted the bytes.
template <typename Visit>
void Walk(std::span<const uint8_t> bytes, Visit&& visit) {
  Reader reader(bytes);
  uint8_t id = 0;
  while (reader.U8(&id) && id < kRules) {
    Value value;
    if (!ReadValue(&reader, kRuleOf[id].kind, &value)) return;
    if (!visit(static_cast<Property>(id), value)) return;
  }
}

std::optional<Value> Find(std::span<const uint8_t> bytes, Property id) {
  std::optional<Value> found;
  Walk(bytes, [&](Property at, const Value& value) {
    if (at == id) found = value;
    return at != id;
  });
  return found;
}

void AppendBytes(std::string* out, uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

}  // namespace

std::optional<uint32_t> Properties::Number(Property id) const {
  if (bytes_.empty()) return std::nullopt;
  const std::optional<Value> value = Find(bytes_, id);
  return value ? std::optional(value->number) : std::nullopt;
}

std::optional<std::string_view> Properties::Text(Property id) const {
  if (bytes_.empty()) return std::nullopt;
  const std::optional<Value> value = Find(bytes_, id);
  return value ? std::optional(value->text) : std::nullopt;
}

std::optional<std::string_view> Properties::UserProperty(std::string_view name) const {
  std::optional<std::string_view> found;
  Walk(bytes_, [&](Property id, const Value& value) {
    if (id != Property::kUserProperty || value.text != name) return true;
    found = value.second;
    return false;
  });
  return found;
}

Fault ReadProperties(Reader* reader, PropertyPlace place, Properties* properties) {
  uint32_t size = 0;
  std::span<const uint8_t> bytes;
  if (!reader->Variable(&size) || !reader->Take(size, &bytes)) return CloseReason::kMalformed;
  properties->bytes_ = bytes;
  uint64_t seen = 0;
  Reader inner(bytes);
  while (!inner.empty()) {
    // An identifier is a variable byte integer (5: 2.2.2.2); all defined ones have one byte.
    uint8_t id = 0;
    inner.U8(&id);
    if (id >= kRules || (kRuleOf[id].places & In(place)) == 0) {
      const bool theirs = place == PropertyPlace::kPublish &&
                          id == static_cast<uint8_t>(Property::kSubscriptionIdentifier);
      return {CloseReason::kBadProperty,
              theirs ? reason::kProtocolError : reason::kMalformedPacket};
    }
    const Rule& rule = kRuleOf[id];
    Value value;
    if (!ReadValue(&inner, rule.kind, &value)) return CloseReason::kMalformed;
    const Fault fault = CheckValue(static_cast<Property>(id), rule, value);
    if (fault) return fault;
    if (rule.kind != Kind::kPair && (seen >> id & 1) != 0) {
      return {CloseReason::kBadProperty, reason::kProtocolError};
    }
    seen |= uint64_t{1} << id;
  }
  return {};
}

Properties CheckedProperties(std::string_view bytes) {
  Properties properties;
  properties.bytes_ = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  return properties;
}

void AppendProperty(std::string* out, Property id, uint8_t value) {
  out->push_back(static_cast<char>(id));
  AppendBytes(out, value, 1);
}

void AppendProperty(std::string* out, Property id, uint16_t value) {
  out->push_back(static_cast<char>(id));
  AppendBytes(out, value, 2);
}

void AppendProperty(std::string* out, Property id, uint32_t value) {
  out->push_back(static_cast<char>(id));
  AppendBytes(out, value, 4);
}

void AppendProperty(std::string* out, Property id, std::string_view value) {
  out->push_back(static_cast<char>(id));
  AppendBytes(out, static_cast<uint32_t>(value.size()), 2);
  out->append(value);
}

}  // namespace seganet::mqtt

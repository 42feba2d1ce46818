// Runs PublishWriter with any batch and stage. Checks that it writes one PUBLISH of the announced
// size that decodes to the input. Input: one byte per choice, eight per number, texts as
// Input::Text() reads them; the rest is the payload.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/codec.h"
#include "core/record/trace_context.h"
#include "core/uplink/publish_writer.h"

namespace {

using seganet::Batch, seganet::BatchKind, seganet::PublishWriter, seganet::TopicPart,
    seganet::UplinkStage;
namespace mqtt = seganet::mqtt;

void Check(bool good) {
  if (!good) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  uint8_t Byte() { return at_ == end_ ? 0 : *at_++; }
  bool Flag() { return Byte() % 2 == 1; }
  uint64_t Number() {  // below 2^53
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Byte();
    return value & 0x1F'FFFF'FFFF'FFFF;
  }
  // ASCII: a length and the bytes. Length 255: one byte and a repeat count of two bytes.
  std::string Text() {
    const uint8_t length = Byte();
    if (length == 255) {
      const char c = Ascii();
      const size_t high = Byte();
      return std::string(high << 8 | Byte(), c);
    }
    std::string text(length, '\0');
    for (char& c : text) c = Ascii();
    return text;
  }
  std::string Rest() { return {at_, end_}; }

 private:
  char Ascii() { return static_cast<char>(Byte() & 0x7F); }

  const uint8_t* at_;
  const uint8_t* const end_;
};

// A text of a stage, without the characters that its validation excludes.
std::string CheckedText(Input* input) {
  std::string text = input->Text();
  for (char& c : text) {
    if (c == '+' || c == '#' || c == '\0') c = 'x';
  }
  return text;
}

std::vector<TopicPart> ReadTopic(Input* input) {
  std::vector<TopicPart> parts(input->Byte() % 5);
  for (TopicPart& part : parts) {
    part.kind = static_cast<TopicPart::Kind>(input->Byte() % 3);
    if (part.kind == TopicPart::Kind::kText) part.text = CheckedText(input);
  }
  return parts;
}

size_t CountSlashes(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += c == '/';
  return count;
}

struct Strings {
  std::string device, topic, payload;
};

// Checks that a device name adds no level to the topic.
void CheckLevels(std::string_view written, const std::vector<TopicPart>& parts,
                 const Strings& strings) {
  size_t slashes = 0;
  for (const TopicPart& part : parts) {
    if (part.kind == TopicPart::Kind::kText) slashes += CountSlashes(part.text);
    if (part.kind == TopicPart::Kind::kTopic) slashes += CountSlashes(strings.topic);
  }
  Check(CountSlashes(written) == slashes);
}

void CheckPayload(std::string_view written, std::string_view payload, std::string_view key_json) {
  if (written == payload) return;
  Check(payload.starts_with('{') && written.ends_with(payload.substr(1)));
  const std::string_view before = written.substr(0, written.size() - payload.size() + 1);
  Check(before.starts_with("{\"k\":\"" + std::string(key_json)));
  Check(before.ends_with('"') || before.ends_with("\","));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Batch batch;
  batch.kind = input.Flag() ? BatchKind::kEnvelope : BatchKind::kSingle;
  const bool is_v5 = input.Flag(), retain_available = input.Flag(), dup = input.Flag();
  const uint8_t flags = input.Byte();
  batch.flags = flags % 32;
  batch.record_class = static_cast<uint8_t>(1 + input.Byte() % seganet::kClasses);
  const auto id = static_cast<uint16_t>(1 + input.Number() % 65'535);
  batch.epoch = input.Number();
  batch.sequence = input.Number();
  const uint8_t how = input.Byte();
  batch.backlog = how % 2 == 1;
  UplinkStage stage;
  stage.qos = how / 2 % 4 == 0 ? 0 : 1;
  stage.format = static_cast<seganet::Format>(flags / 32 % seganet::kFormats);
  stage.history = static_cast<seganet::History>(how / 8 % 3);
  stage.history_suffix = "suffix";
  const seganet::Format format = stage.format;
  const int64_t key_part = how / 32 == 0 ? seganet::Message::kWhole : how / 32;
  stage.topic[batch.record_class] = ReadTopic(&input);
  stage.record_topic[batch.record_class] = ReadTopic(&input);
  stage.key_raw = CheckedText(&input);
  stage.key_json = CheckedText(&input);
  Strings strings;
  if (batch.kind == BatchKind::kSingle) strings = {input.Text(), input.Text(), {}};
  strings.payload = input.Rest();
  batch.device_bytes = static_cast<uint32_t>(strings.device.size());
  batch.topic_bytes = static_cast<uint32_t>(strings.topic.size());
  batch.bytes = strings.device + strings.topic + strings.payload;

  PublishWriter writer;
  seganet::Message message = seganet::MessageOf(batch);
  const std::string trace(message.trace);
  Check(seganet::ValidTrace(trace) && message.payload.size() <= strings.payload.size());
  strings.payload.resize(message.payload.size());
  message.part = key_part;
  const size_t bytes = writer.Prepare(message, stage, is_v5, retain_available);
  if (bytes == 0) return 0;
  std::string out = "before";
  writer.Write(id, dup, &out);
  Check(out.size() == 6 + bytes && out.starts_with("before"));

  const auto* packet = reinterpret_cast<const uint8_t*>(out.data()) + 6;
  mqtt::FixedHeader header;
  Check(mqtt::DecodeFixedHeader({packet, bytes}, &header) == mqtt::HeaderStatus::kOk);
  Check(header.total() == bytes && mqtt::ShortestLength(header));
  Check(header.type == mqtt::PacketType::kPublish);
  mqtt::Publish publish;
  const mqtt::Fault fault =
      mqtt::ParsePublish(header.flags, {packet + header.size, bytes - header.size},
                         is_v5 ? mqtt::kLevel5 : mqtt::kLevel311, SIZE_MAX, &publish);
  Check(!fault);
  Check(publish.qos == stage.qos);
  if (stage.qos > 0) Check(publish.packet_id == id && publish.dup == dup);
  const bool has_suffix = batch.backlog && stage.history == seganet::History::kSuffix;
  Check(!has_suffix || publish.topic.ends_with(stage.history_suffix));
  Check(writer.topic_bytes() == publish.topic.size());
  Check(std::string_view(out).substr(6 + writer.topic_at(), writer.topic_bytes()) == publish.topic);
  Check(publish.retain == ((batch.flags & seganet::kFlagRetain) != 0 && retain_available));
  const bool by_record = batch.kind == BatchKind::kSingle;
  const auto& own = (by_record ? stage.record_topic : stage.topic)[batch.record_class];
  bool is_empty = true;
  for (const TopicPart& part : own) {
    if (part.kind == TopicPart::Kind::kDevice) is_empty &= strings.device.empty();
    if (part.kind == TopicPart::Kind::kTopic) is_empty &= strings.topic.empty();
    if (part.kind == TopicPart::Kind::kText) is_empty &= part.text.empty();
  }
  CheckLevels(publish.topic, is_empty ? stage.topic[batch.record_class] : own, strings);
  if (is_v5) {
    const auto key = publish.UserProperty("seganet-key");
    Check(key->starts_with(stage.key_raw + "/"));
    Check(key_part < 0 || key->ends_with("." + std::to_string(key_part)));
    const bool is_marked = batch.backlog && stage.history == seganet::History::kProperty;
    Check(publish.UserProperty("seganet-history").has_value() == is_marked);
    const auto parent = publish.UserProperty("traceparent");
    const auto state = publish.UserProperty("tracestate");
    Check(std::string(parent.value_or("")) + std::string(state.value_or("")) == trace);
  }
  const bool is_envelope =
      batch.kind == BatchKind::kEnvelope || (batch.flags & seganet::kFlagEnvelope) != 0;
  const std::string_view payload(reinterpret_cast<const char*>(publish.payload.data()),
                                 publish.payload.size());
  // Without an edge node, the format of Sparkplug has no coder either, and its lines stay NDJSON.
  const auto coder = seganet::MakeEnvelopeCoder(format);
  if (is_envelope && coder != nullptr) {
    // A coder gets what would be sent as NDJSON, and may refuse it.
    stage.format = seganet::Format::kNdjson;
    std::string plain;
    Check(writer.Prepare(message, stage, false, false) > 0);
    writer.Write(id, false, &plain);
    const std::string lines =
        plain.substr(writer.topic_at() + writer.topic_bytes() + (stage.qos > 0 ? 2 : 0));
    std::string encoded;
    Check(payload == (coder->Encode(lines, &encoded) ? encoded : lines));
    return 0;
  }
  const bool has_key = is_envelope && strings.payload.starts_with('{');
  Check((payload.size() > strings.payload.size()) == has_key);
  CheckPayload(payload, strings.payload, stage.key_json);
  return 0;
}

#include "core/uplink/publish_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/stored_payload.h"
#include "core/record/trace_context.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/publish_vectors.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::PublishVector;

TopicPart Text(std::string text) { return {TopicPart::Kind::kText, std::move(text)}; }
TopicPart Device() { return {TopicPart::Kind::kDevice, {}}; }
TopicPart Own() { return {TopicPart::Kind::kTopic, {}}; }

UplinkStage Stage(const std::vector<TopicPart>& topic, const std::vector<TopicPart>& record_topic) {
  UplinkStage stage;
  stage.topic.fill(topic);
  stage.record_topic.fill(record_topic);
  stage.key_raw = stage.key_json = "g";
  return stage;
}

Batch Single(std::string_view device, std::string_view topic, std::string_view payload) {
  Batch batch;
  batch.kind = BatchKind::kSingle;
  batch.record_class = kNormal;
  batch.epoch = 46'656;  // 1000 in base 36
  batch.sequence = 1;
  batch.device_bytes = static_cast<uint32_t>(device.size());
  batch.topic_bytes = static_cast<uint32_t>(topic.size());
  batch.bytes.append(device).append(topic).append(payload);
  return batch;
}

// Empty when there is none.
std::string Written(const Message& message, const UplinkStage& stage, bool is_v5 = true,
                    bool retain_available = true, uint16_t id = 1, bool dup = false) {
  PublishWriter writer;
  const size_t size = writer.Prepare(message, stage, is_v5, retain_available);
  std::string out = "before";
  if (size > 0) writer.Write(id, dup, &out);
  EXPECT_EQ(out.size(), 6 + size);
  EXPECT_TRUE(out.starts_with("before"));
  return out.substr(6);
}

// A long one would fill the screen.
std::string Difference(const std::string& got, const std::string& wanted) {
  if (got == wanted) return "";
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end()).first;
  return "at byte " + std::to_string(at - got.begin()) + "; it has " + std::to_string(got.size()) +
         " bytes, not " + std::to_string(wanted.size());
}

TEST(PublishWriter, WritesTheSameBytesForever) {
  const std::vector<PublishVector> vectors = test::ReadPublishVectors();
  ASSERT_EQ(vectors.size(), 33u);
  for (const PublishVector& v : vectors) {
    const std::string got =
        Written(MessageOf(v), v.stage, v.is_v5, v.retain_available, v.id, v.dup);
    EXPECT_EQ(Difference(got, v.packet), "") << v.name;
  }
}

TEST(PublishWriter, OneObjectWritesThemAllIntoTheRoomThatIsThere) {
  const std::vector<PublishVector> vectors = test::ReadPublishVectors();
  PublishWriter writer;
  std::string wanted, out;
  for (const PublishVector& v : vectors) wanted += v.packet;
  out.reserve(wanted.size());
  const char* const room = out.data();
  for (const PublishVector& v : vectors) {
    if (writer.Prepare(MessageOf(v), v.stage, v.is_v5, v.retain_available) > 0) {
      writer.Write(v.id, v.dup, &out);
    }
  }
  EXPECT_EQ(out.data(), room);
  EXPECT_EQ(Difference(out, wanted), "");
}

TEST(PublishWriter, ABatchHasItsKeyWhenItIsTakenFromTheLanes) {
  Budget budget({});
  LatencyByClass latency;
  std::atomic<uint64_t> sequence{41};
  LanesContext context = test::PlainLanes(&budget, &latency, &sequence);
  context.epoch = 46'656;
  Lanes lanes(std::move(context));
  test::Sessions sessions;
  lanes.SetConnected(sessions.At(&lanes), true, 0);
  lanes.Push(SingleBatch(test::MakeRecord("d", "t", "p", kHigh)));
  std::string packet;
  lanes.Take(sessions.At(&lanes), 0, [&](const Batch& batch) {
    packet = Written(MessageOf(batch), Stage({Text("e")}, {Own()}));
    return true;
  });
  EXPECT_EQ(packet, mqtt_test::Lit("\x32\x22\0\x01t\0\x01\x1B\x26\0\x0Bseganet-key\0\x0B"
                                   "g/1000/2/42p"));
}

TEST(PublishWriter, ATopicOfNothingOrWithWildcardsHasNoPacket) {
  const UplinkStage stage = Stage({Own()}, {Own()});
  EXPECT_EQ(Written(MessageOf(Single("d", "", "p")), stage), "");
  for (const std::string_view topic : {"a/+", "#", "+"}) {
    EXPECT_EQ(Written(MessageOf(Single("d", topic, "p")), stage), "");
  }
  EXPECT_EQ(Written(MessageOf(Single("d", std::string_view("a\0b", 3), "p")), stage), "");
}

TEST(PublishWriter, RecordsThatMqttCannotExpressHaveNoPacket) {
  UplinkStage stage = Stage({Text("e")}, {Text(std::string(65'530, 'x')), Device()});
  EXPECT_GT(Written(MessageOf(Single("12345", "t", "p")), stage).size(), 65'535u);
  EXPECT_EQ(Written(MessageOf(Single("123456", "t", "p")), stage), "");
  stage = Stage({Text("e")}, {Own()});
  stage.key_raw.assign(65'535 - 9, 'g');  // and /1000/3/1
  EXPECT_GT(Written(MessageOf(Single("d", "t", "p")), stage).size(), 65'535u);
  stage.key_raw += 'g';
  EXPECT_EQ(Written(MessageOf(Single("d", "t", "p")), stage), "");
  EXPECT_NE(Written(MessageOf(Single("d", "t", "p")), stage, false),
            "");  // MQTT 3.1.1 has no property for it
}

TEST(PublishWriter, TheLongestPacketHasALengthOfFourBytes) {
  const UplinkStage stage = Stage({Text("e")}, {Own()});
  PublishWriter writer;
  Batch batch = Single("", "t", "");
  batch.bytes.resize(1 + 268'435'456 - 5);
  batch.bytes[0] = 't';
  EXPECT_EQ(writer.Prepare(MessageOf(batch), stage, false, true), 0u);
  batch.bytes.pop_back();
  EXPECT_EQ(writer.Prepare(MessageOf(batch), stage, false, true), 268'435'460u);
}

std::string UserProperty(std::string_view name, const std::string& value) {
  return '\x26' + mqtt_test::Str(name) + mqtt_test::Str(value);
}

// The same by the specification, in strings.
std::string WrittenSlowly(const PublishVector& v) {
  const Batch& b = v.batch;
  const bool single = b.kind == BatchKind::kSingle;
  const std::string device = single ? b.bytes.substr(0, b.device_bytes) : "";
  const std::string own = single ? b.bytes.substr(b.device_bytes, b.topic_bytes) : "";
  std::string payload = b.bytes.substr(device.size() + own.size());
  std::string trace;
  // AnyVector() stores both.
  if (single && (b.flags & kFlagStamp) != 0) payload.resize(payload.size() - kStampBytes);
  if (single && (b.flags & kFlagTrace) != 0) {
    const size_t end = payload.size() - 2;
    const size_t at = end - (static_cast<uint8_t>(payload[end]) +
                             static_cast<uint8_t>(payload[end + 1]) * size_t{256});
    trace = payload.substr(at, end - at);
    payload.resize(at);
  }
  std::string level = device;
  std::replace_if(
      level.begin(), level.end(),
      [](char c) { return std::string_view("/+#\0", 4).find(c) != std::string_view::npos; }, '_');
  const auto render = [&](const std::vector<TopicPart>& parts) {
    std::string topic;
    for (const TopicPart& part : parts) {
      topic += part.kind == TopicPart::Kind::kText     ? part.text
               : part.kind == TopicPart::Kind::kDevice ? level
                                                       : own;
    }
    return topic;
  };
  std::string topic = render((single ? v.stage.record_topic : v.stage.topic)[b.record_class]);
  if (topic.empty()) topic = render(v.stage.topic[b.record_class]);
  if (topic.empty()) return "";
  if (b.backlog && v.stage.history == History::kSuffix) topic += v.stage.history_suffix;
  if (topic.size() > 65'535) return "";
  if (own.find_first_of(std::string_view("+#\0", 3)) != std::string::npos) return "";
  std::string epoch;
  for (uint64_t rest = b.epoch; rest > 0 || epoch.empty(); rest /= 36) {
    epoch.insert(epoch.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36]);
  }
  std::string tail =
      "/" + epoch + "/" + std::to_string(b.record_class) + "/" + std::to_string(b.sequence);
  if (v.part >= 0) tail += "." + std::to_string(v.part);
  if ((!single || (b.flags & kFlagEnvelope)) && payload.starts_with('{')) {
    size_t next = 1;
    while (next < payload.size() && static_cast<uint8_t>(payload[next]) <= 0x20) ++next;
    const bool is_empty = next < payload.size() && payload[next] == '}';
    payload.insert(1, "\"k\":\"" + v.stage.key_json + tail + (is_empty ? "\"" : "\","));
  }
  const bool has_qos = v.stage.qos == 1;
  const uint8_t first = 0x30 | (has_qos ? 2 : 0) | (v.dup && has_qos ? 8 : 0) |
                        ((b.flags & kFlagRetain) && v.retain_available);
  std::string properties;
  if (v.is_v5) {
    const bool is_marked = b.backlog && v.stage.history == History::kProperty;
    properties =
        mqtt_test::Props(UserProperty("seganet-key", v.stage.key_raw + tail) +
                         (is_marked ? UserProperty("seganet-history", "1") : "") +
                         (trace.empty() ? "" : UserProperty("traceparent", trace.substr(0, 55))) +
                         (trace.size() > 55 ? UserProperty("tracestate", trace.substr(55)) : ""));
  }
  const std::string id = has_qos ? mqtt_test::U16(v.id) : "";
  return mqtt_test::Packet(first, mqtt_test::Str(topic) + id + properties + payload);
}

PublishVector AnyVector(test::Random* random) {
  const auto topic = [&] {
    std::vector<TopicPart> parts;
    for (int i = random->In(0, 4); i > 0; --i) {
      switch (random->In(0, 2)) {
        case 0:
          parts.push_back(Text(random->Bytes(random->In<size_t>(0, 30))));
          break;
        case 1:
          parts.push_back(Device());
          break;
        default:
          parts.push_back(Own());
      }
    }
    return parts;
  };
  const auto string = [&](std::string_view alphabet, size_t most) {
    if (random->OneIn(100)) most = 70'000;
    return random->Text(random->In<size_t>(0, most), alphabet);
  };
  PublishVector v;
  v.stage = Stage(topic(), topic());
  v.stage.key_raw = string("gw1", 150).substr(0, 60'000);
  v.stage.key_json = string("gw1\\", 150);
  const std::string device = string(std::string_view("ab/+#\0", 6), 20).substr(0, 256);
  const std::string own = string(random->OneIn(4) ? "ab/+" : "ab/", 40).substr(0, 65'535);
  std::string payload = string("{} \n\t1", 200);
  if (random->OneIn(2)) payload.insert(0, "{");
  const bool is_traced = random->OneIn(2);
  if (is_traced) {
    AppendStoredTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" +
                          random->Text(random->In<size_t>(0, 512), "a=,"),
                      &payload);
  }
  const bool is_stamped = random->OneIn(2);
  if (is_stamped) payload += random->Bytes(kStampBytes);
  v.batch = Single(device, own, payload);
  if (random->OneIn(2)) v.batch.kind = BatchKind::kEnvelope;
  v.batch.record_class = random->In<uint8_t>(kCritical, kClasses);
  v.batch.flags = random->In<uint8_t>(0, 7);
  if (is_traced && v.batch.kind == BatchKind::kSingle) v.batch.flags |= kFlagTrace;
  if (is_stamped && v.batch.kind == BatchKind::kSingle) v.batch.flags |= kFlagStamp;
  v.batch.epoch = random->In<uint64_t>(0, uint64_t{1} << random->In(0, 63));
  v.batch.sequence = random->In<uint64_t>(0, uint64_t{1} << random->In(0, 63));
  v.batch.backlog = random->OneIn(2);
  v.stage.qos = random->OneIn(4) ? 0 : 1;
  v.stage.history = static_cast<History>(random->In(0, 2));
  v.stage.history_suffix = random->Text(random->In<size_t>(1, 20), "/h");
  v.part = random->OneIn(2) ? Message::kWhole : random->In<int64_t>(0, INT32_MAX);
  v.is_v5 = random->OneIn(2);
  v.retain_available = random->OneIn(2);
  v.dup = random->OneIn(2);
  v.id = random->In<uint16_t>(1, 65'535);
  return v;
}

TEST(PublishWriter, EqualsASlowWriter) {
  test::Random random;
  for (int round = 0; round < 2000; ++round) {
    const PublishVector v = AnyVector(&random);
    const std::string got =
        Written(MessageOf(v), v.stage, v.is_v5, v.retain_available, v.id, v.dup);
    ASSERT_EQ(Difference(got, WrittenSlowly(v)), "") << "round " << round;
  }
}

}  // namespace
}  // namespace seganet

#include "core/encoding/sparkplug/edge_node.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/record/encoder.h"
#include "test/support/support.h"

namespace seganet::sparkplug {
namespace {

using test::Hex;

EdgeNodeOptions Options() {
  EdgeNodeOptions options;
  options.group = "plant";
  options.node = "gw";
  options.run = 7;
  options.now_ms = [] { return int64_t{1763712000500}; };
  return options;
}

std::string Line(std::string_view device, std::string_view payload, uint32_t seq = 41) {
  Record record = test::MakeRecord(device, "t", payload);
  record.ts_ms = 1763712000123;
  record.seq = seq;
  std::string out;
  AppendNdjson(record, &out);
  return out;
}

// Prepares lines of one device, and sends them.
void Send(EdgeNode* node, std::string_view lines) {
  Records records;
  records.has_lines = true;
  records.bytes = lines;
  records.record_class = 3;
  node->Prepare(records);
  node->Commit();
}

// Returns the message types and devices of packets at QoS 0 of MQTT 3.1.1.
std::string Types(std::string_view packets) {
  std::string types;
  while (!packets.empty()) {
    size_t at = 1, remaining = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(packets[at++]);
      remaining |= static_cast<size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    const size_t topic_bytes =
        static_cast<uint8_t>(packets[at]) * 256u + static_cast<uint8_t>(packets[at + 1]);
    const std::string_view topic = packets.substr(at + 2, topic_bytes);
    EXPECT_TRUE(topic.starts_with("spBv1.0/plant/")) << topic;
    types.append(topic.substr(14)).append(" ");
    packets.remove_prefix(at + remaining);
  }
  return types;
}

std::string Births(EdgeNode* node) {
  std::string packets;
  while (node->AppendBirth(&packets)) {
  }
  return Types(packets);
}

TEST(EdgeNode, DataHasAliasesAndTheTimesOfRecords) {
  EdgeNode node(Options());
  node.Begin(0, false);
  Records records;
  records.has_lines = true;
  const std::string lines = Line("m", "{\"a\":-1,\"b\":true}");
  records.bytes = lines;
  node.Prepare(records);
  EXPECT_EQ(Types(node.before()), "NBIRTH/gw DBIRTH/gw/m ");
  EXPECT_EQ(node.device(), "m");
  EXPECT_EQ(Hex(node.payload()),
            // Time; the record's number 41, class 3, and run 7; -1 as Int64; true; sequence 2.
            "08f4c3b5abaa33"
            "12101003"
            "18fbc0b5abaa33"
            "5893858080800e"
            "12141001"
            "18fbc0b5abaa33"
            "58ffffffffffffffffff01"
            "120b1002"
            "18fbc0b5abaa33"
            "7001"
            "1802");
}

TEST(EdgeNode, PreparingAgainChangesNothing) {
  EdgeNode node(Options());
  node.Begin(0, false);
  Send(&node, Line("a", "1"));
  Records records;
  records.has_lines = true;
  const std::string lines = Line("b", "{\"x\":1}") + Line("b", "{\"x\":1.5}");
  records.bytes = lines;
  node.Prepare(records);
  const std::string before(node.before()), payload(node.payload());
  EXPECT_EQ(Types(before), "DBIRTH/gw/b ");
  const std::string other = Line("a", "2");
  records.bytes = other;
  node.Prepare(records);
  EXPECT_EQ(node.before(), "");
  records.bytes = lines;
  node.Prepare(records);
  EXPECT_EQ(node.before(), before);
  EXPECT_EQ(node.payload(), payload);
}

TEST(EdgeNode, DevicesThatWereNotUsedForTheLongestTimeDie) {
  EdgeNodeOptions options = Options();
  options.max_devices = 2;
  EdgeNode node(options);
  node.Begin(0, false);
  Send(&node, Line("a", "1"));
  Send(&node, Line("b", "1"));
  Send(&node, Line("a", "2"));
  Records records;
  records.has_lines = true;
  const std::string lines = Line("c", "1");
  records.bytes = lines;
  node.Prepare(records);
  EXPECT_EQ(Types(node.before()), "DDEATH/gw/b DBIRTH/gw/c ");
  node.Commit();
  EXPECT_EQ(node.devices(), 2u);
  // The death is sent once.
  Send(&node, Line("a", "3"));
  node.Rebirth();
  EXPECT_EQ(Births(&node), "NBIRTH/gw DBIRTH/gw/a DBIRTH/gw/c ");
}

TEST(EdgeNode, LinesOfALongerDeviceThanTheEnginesAreOnePayload) {
  EdgeNode node(Options());
  node.Begin(0, false);
  for (const size_t size : {kMaxDeviceBytes + 1, size_t{70'000}}) {
    Records records;
    records.has_lines = true;
    // As in an envelope of a flow.
    const std::string lines = R"({"d":")" + std::string(size, 'x') +
                              R"(","t":"t","ts":1,"s":1,"c":3,"p":1})"
                              "\n";
    records.bytes = lines;
    node.Prepare(records);
    EXPECT_EQ(node.device(), "flow");
    node.Commit();
  }
  node.Rebirth();
  EXPECT_EQ(Births(&node), "NBIRTH/gw DBIRTH/gw/flow ");
}

TEST(EdgeNode, MetricsOfAllDevicesHaveALimit) {
  EdgeNodeOptions options = Options();
  options.max_metrics = 10;
  EdgeNode node(options);
  node.Begin(0, false);
  for (int i = 0; i < 50; ++i) {
    Send(&node, Line("d" + std::to_string(i), "{\"a\":1,\"b\":2,\"c\":3}"));
    EXPECT_LE(node.metrics(), 10u);
  }
  EXPECT_EQ(node.devices(), 2u);
  // One device may have more, but not more than its own limit.
  std::string payload = "{";
  for (int i = 0; i < 128; ++i) payload += "\"m" + std::to_string(i) + "\":1,";
  payload.back() = '}';
  Send(&node, Line("big", payload));
  EXPECT_EQ(node.devices(), 1u);
  EXPECT_EQ(node.metrics(), 129u);
  for (int i = 0; i < 10; ++i)
    Send(&node, Line("big", "{\"more\":{\"" + std::to_string(i) + payload.substr(2) + "}"));
  EXPECT_LE(node.metrics(), Device::kMaxMetrics + 3);
}

TEST(EdgeNode, AnObjectOfTooManyMembersIsOneMetric) {
  EdgeNode node(Options());
  node.Begin(0, false);
  std::string payload = "{";
  for (int i = 0; i < 129; ++i) payload += "\"m" + std::to_string(i) + "\":1,";
  payload.back() = '}';
  Send(&node, Line("d", payload));
  EXPECT_EQ(node.metrics(), 2u);
}

TEST(EdgeNode, ABirthLeavesOutLongValues) {
  EdgeNode node(Options());
  node.Begin(0, false);
  Send(&node, Line("d", "\"" + std::string(100'000, 'x') + "\""));
  node.Rebirth();
  std::string packets;
  while (node.AppendBirth(&packets)) {
  }
  EXPECT_LT(packets.size(), 1'000u);
}

// Returns an object whose metrics have long names.
std::string LongNames() {
  std::string payload = "{";
  for (int i = 0; i < 100; ++i) {
    payload += "\"" + std::string(400, 'x') + std::to_string(i) + "\":" + std::to_string(i) + ",";
  }
  payload.back() = '}';
  return payload;
}

TEST(EdgeNode, ADeviceWhoseBirthIsTooLargeIsCarriedAsLines) {
  EdgeNode node(Options());
  node.Begin(0, false);
  const std::string lines = Line("d", LongNames());
  Records records;
  records.has_lines = true;
  records.bytes = lines;
  node.Prepare(records);
  const std::string before(node.before()), payload(node.payload());
  EXPECT_EQ(Types(before), "NBIRTH/gw DBIRTH/gw/d ");
  EXPECT_LT(before.size(), 1'000u);
  EXPECT_NE(payload.find(lines.substr(0, lines.size() - 1)), std::string::npos);
  node.Prepare(records);
  EXPECT_EQ(node.before(), before);
  EXPECT_EQ(node.payload(), payload);
  node.Commit();
  EXPECT_EQ(node.metrics(), 2u);
  Send(&node, Line("d", "{\"a\":1}"));
  EXPECT_EQ(node.metrics(), 2u);
  // Others are not affected.
  Send(&node, Line("e", "{\"a\":1}"));
  EXPECT_EQ(node.metrics(), 4u);
}

TEST(EdgeNode, BirthsKeepTheBrokersMaximumPacketSize) {
  EdgeNode node(Options());
  node.Begin(0, false);
  std::string payload = LongNames().substr(0, 20 * 408);
  payload.back() = '}';
  payload = payload.substr(0, payload.rfind(",\"")) + "}";
  Send(&node, Line("d", payload));
  Send(&node, Line("e", "1"));
  EXPECT_GT(node.metrics(), 15u);
  constexpr size_t kMaxPacket = 2'000;
  node.Begin(1, false, kMaxPacket);
  std::string packets;
  while (node.AppendBirth(&packets)) {
  }
  EXPECT_EQ(Types(packets), "NBIRTH/gw DBIRTH/gw/e ");
  EXPECT_LT(packets.size(), kMaxPacket);
  Records records;
  records.has_lines = true;
  const std::string lines = Line("d", payload);
  records.bytes = lines;
  node.Prepare(records);
  EXPECT_EQ(Types(node.before()), "DBIRTH/gw/d ");
  EXPECT_LT(node.before().size(), kMaxPacket);
}

TEST(EdgeNode, ABirthHasThePresentValuesAfterTheBacklog) {
  Device device("d");
  uint64_t next = 1;
  const size_t metric = device.Take(Meaning::kValue, "t", "", ValueType::kInt64, &next);
  const auto keep = [&](uint64_t integer, int64_t ts_ms, bool is_history) {
    Value value;
    value.kind = Value::Kind::kInteger;
    value.integer = integer;
    device.Keep(metric, value, ts_ms, is_history);
    return device.at(metric).last.integer;
  };
  EXPECT_EQ(keep(1, -5, true), 1u);
  EXPECT_EQ(keep(2, 100, true), 2u);
  EXPECT_EQ(keep(3, 200, false), 3u);
  EXPECT_EQ(keep(4, 150, true), 3u);
  EXPECT_EQ(device.at(metric).last_ms, 200);
  // The clock of a live record is the device's own.
  EXPECT_EQ(keep(5, 150, false), 5u);
  EXPECT_EQ(keep(6, 150, true), 6u);
  // A kept value of another type is gone.
  device.Take(Meaning::kValue, "t", "", ValueType::kDouble, &next);
  EXPECT_EQ(keep(7, 10, true), 7u);
}

TEST(EdgeNode, NamesAreUniqueInADevice) {
  Device device("d");
  uint64_t next = 1;
  device.Take(Meaning::kValue, "a/b", "/c", ValueType::kInt64, &next);
  device.Take(Meaning::kValue, "a", "/b/c", ValueType::kInt64, &next);
  device.Take(Meaning::kValue, "", "/a/b/c", ValueType::kInt64, &next);
  device.Take(Meaning::kValue, "", "", ValueType::kInt64, &next);
  device.Take(Meaning::kRaw, "", "", ValueType::kBytes, &next);
  std::vector<std::string> names;
  for (size_t i = 0; i < device.size(); ++i) names.push_back(device.at(i).name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"a/b/c", "a/b/c~2", "a/b/c~3", "payload", "payload~2"}));
}

TEST(EdgeNode, AnAliasNeverMeansTextAndThenJson) {
  Device device("d");
  uint64_t next = 1;
  const auto alias_of = [&](ValueType type) {
    return device.at(device.Take(Meaning::kValue, "t", "", type, &next)).alias;
  };
  EXPECT_EQ(alias_of(ValueType::kUnknown), 1u);
  EXPECT_EQ(alias_of(ValueType::kString), 1u);
  EXPECT_EQ(alias_of(ValueType::kUnknown), 1u);
  EXPECT_EQ(alias_of(ValueType::kBoolean), 2u);
  EXPECT_EQ(alias_of(ValueType::kString), 2u);
}

TEST(EdgeNode, ALevelHasNoSeparatorsAndNoWildcards) {
  EXPECT_EQ(LevelOf("pump-1"), "pump-1");
  EXPECT_EQ(LevelOf(std::string_view("a/+#%\0b", 7)), "a%2F%2B%23%25%00b");
  // Brokers close the connection on control characters and noncharacters.
  EXPECT_EQ(LevelOf("\x01\x1F\x7F"), "%01%1F%7F");
  EXPECT_EQ(LevelOf("\xC2\x85\xC3\xA4"), "%C2%85\xC3\xA4");
  EXPECT_EQ(LevelOf("\xEF\xB7\x90\xEF\xBF\xBE\xEF\xBF\xBD"), "%EF%B7%90%EF%BF%BE\xEF\xBF\xBD");
  EXPECT_EQ(LevelOf("\xF0\x9F\xBF\xBF\xF0\x9F\x98\x80"), "%F0%9F%BF%BF\xF0\x9F\x98\x80");
  EXPECT_EQ(LevelOf("\xFF\xC3"), "%FF%C3");
}

TEST(ValueType, TypesOfJson) {
  for (const std::string_view text : {"0", "-1", "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_EQ(TypeOfJson(text), ValueType::kInt64) << text;
  }
  for (const std::string_view text : {"-0", "1.0", "1e3", "9223372036854775808", "5e-324"}) {
    EXPECT_EQ(TypeOfJson(text), ValueType::kDouble) << text;
  }
  for (const std::string_view text : {"1e400", "-1e400", "[]", "{}", "\"\\ud800\""}) {
    EXPECT_EQ(TypeOfJson(text), ValueType::kJson) << text;
  }
  EXPECT_EQ(TypeOfJson("\"\\ud83d\\ude00\""), ValueType::kString);
  EXPECT_EQ(TypeOfBytes("ON\n"), ValueType::kText);
  for (const std::string_view bytes :
       {std::string_view("\0", 1), std::string_view("\xFF"), std::string_view()}) {
    EXPECT_EQ(TypeOfBytes(bytes), ValueType::kBytes);
  }
}

}  // namespace
}  // namespace seganet::sparkplug

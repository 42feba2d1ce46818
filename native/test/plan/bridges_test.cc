#include "core/plan/bridges.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/record/record.h"

namespace seganet {
namespace {

std::string DeviceOf(const std::vector<BridgeRow>& rows, std::string_view topic,
                     std::string_view payload = "") {
  EXPECT_TRUE(ValidateBridges(rows).ok()) << ValidateBridges(rows).message();
  const auto found = BridgeRows::Of(rows, "b");
  std::string buffer;
  const BridgedDevice device = found->DeviceOf(topic, payload, &buffer);
  return std::string(device.id) + "|" + std::string(device.prefix);
}

TEST(Bridges, FindTheLevelOfTheDevice) {
  const auto of = [](const char* pattern, const char* topic) {
    return DeviceOf({{"b", pattern, ""}}, topic);
  };
  EXPECT_EQ(of("zigbee2mqtt/{device}/#", "zigbee2mqtt/lamp"), "lamp|zigbee2mqtt/lamp");
  EXPECT_EQ(of("zigbee2mqtt/{device}/#", "zigbee2mqtt/desk lamp/set/x"),
            "desk lamp|zigbee2mqtt/desk lamp");
  EXPECT_EQ(of("zigbee2mqtt/{device}", "zigbee2mqtt/lamp/set"), "|");
  EXPECT_EQ(of("application/+/device/{device}/#", "application/1/device/70b3/event/up"),
            "70b3|application/1/device/70b3");
  EXPECT_EQ(of("{device}/#", "lamp/x"), "lamp|lamp");
  EXPECT_EQ(of("{device}", "$SYS"), "|");
  EXPECT_EQ(of("a/{device}/b", "a//b"), "|") << "an empty level";
  EXPECT_EQ(of("+/+/{device}", "//x"), "x|//x");
  const std::string longest(kMaxDeviceBytes, 'x');
  EXPECT_EQ(DeviceOf({{"b", "{device}", ""}}, longest), longest + "|" + longest);
  EXPECT_EQ(DeviceOf({{"b", "{device}", ""}}, longest + "x"), "|");
}

TEST(Bridges, TheFirstRowThatFindsADeviceApplies) {
  const std::vector<BridgeRow> rows{
      {"other", "{device}/#", ""}, {"b", "t/{device}", ""}, {"?", "", "id"}, {"*", "", "$.n[1]"}};
  EXPECT_EQ(DeviceOf(rows, "t/x", R"({"id":"y"})"), "x|t/x");
  EXPECT_EQ(DeviceOf(rows, "u/x", R"({"id":"y","n":[1,2]})"), "y|");
  EXPECT_EQ(DeviceOf(rows, "u/x", R"({"id":true,"n":[1,2.50]})"), "2.50|");
  EXPECT_EQ(DeviceOf(rows, "u/x", R"({"id":"\ud83d\ude00"})"), "\xF0\x9F\x98\x80|");
  EXPECT_EQ(DeviceOf(rows, "u/x", R"({"id":"y")"), "|");
  EXPECT_EQ(BridgeRows::Of({rows[0]}, "b"), nullptr);
  EXPECT_EQ(BridgeRows::Of({}, "b"), nullptr);
}

TEST(Bridges, AreRefusedWithTheReason) {
  const auto reason = [](BridgeRow row) { return ValidateBridges({std::move(row)}).message(); };
  EXPECT_EQ(reason({"", "{device}", ""}), "bridge 1: device must be 1 to 256 bytes");
  EXPECT_EQ(reason({std::string(257, 'b'), "{device}", ""}),
            "bridge 1: device must be 1 to 256 bytes");
  EXPECT_EQ(reason({"b", "", ""}), "bridge 1: it needs either a topic or a member");
  EXPECT_EQ(reason({"b", "{device}", "id"}), "bridge 1: it needs either a topic or a member");
  EXPECT_EQ(reason({"b", "", "a["}).substr(0, 17), "bridge 1: member:");
  for (const std::string& topic :
       {std::string("a/b"), std::string("a/{device}/{device}"), std::string("a/x{device}"),
        std::string("a/{device}x/#"), std::string("#/{device}"), std::string("a+/{device}"),
        std::string("a/{device}\0", 11),
        "{device}/" + std::string(kMaxBridgeTopicBytes - 8, 'x')}) {
    EXPECT_NE(reason({"b", topic, ""}).find("one whole level is {device}"), std::string::npos)
        << topic;
  }
  EXPECT_TRUE(
      ValidateBridges({{"b", "{device}/" + std::string(kMaxBridgeTopicBytes - 9, 'x'), ""}}).ok());
  std::vector<BridgeRow> rows(kMaxBridgeRows, {"b", "{device}", ""});
  EXPECT_TRUE(ValidateBridges(rows).ok());
  rows.push_back(rows[0]);
  EXPECT_EQ(ValidateBridges(rows).message(), "more than 64 bridges");
}

}  // namespace
}  // namespace seganet

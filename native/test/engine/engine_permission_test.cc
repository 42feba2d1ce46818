// Device permissions, and the answers to devices that lack them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/plan/permissions.h"
#include "core/record/class_name.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::DeviceClient;
using test::LogIn;
using test::Publish5;
using test::Subscribe;
using test::Until;

class EnginePermission : public test::EngineTest {
 protected:
  void StartWith(const SourceSettings& source) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source = source;
    Start({}, std::move(plan));
  }
};

TEST_F(EnginePermission, WhatIsNotAllowedIsNoRecord) {
  SourceSettings source;
  source.permissions = {{"d*", {"data/{device}/#"}, {"cmd/{device}/#"}}};
  StartWith(source);
  const uint16_t port = Listen();
  DeviceClient five(port), old(port), stranger(port);
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "d5", .level = 5})));
  ASSERT_TRUE(five.Send(Publish5("data/d4/x", 1, "1") + Publish5("data/d5/x", 2, "1")));
  EXPECT_EQ(five.ReceivePacket(), test::Lit("\x40\x03\0\x01\x87"));
  EXPECT_EQ(five.ReceivePacket(), mqtt_test::Puback(2));
  EXPECT_EQ(Subscribe(&five, "cmd/d5/+", 5), 1);
  EXPECT_EQ(Subscribe(&five, "#", 5), 0x87);
  ASSERT_TRUE(old.Connect("d4"));
  EXPECT_TRUE(old.Publish("data/d5/x", "1")) << "3.1.1 has no other answer";
  EXPECT_TRUE(old.Publish("data/d4", "1")) << "# has its parent level";
  EXPECT_EQ(Subscribe(&old, "cmd/d5/x"), 0x80);
  ASSERT_TRUE(stranger.Connect("x"));
  EXPECT_TRUE(stranger.Publish("data/x/x", "1")) << "no row matches: nothing is allowed";
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
  EXPECT_EQ(Count(Counter::kNotAllowed), 5u);
}

TEST_F(EnginePermission, ANewPlanHoldsForThoseThatAreConnected) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Publish("t", "1"));
  std::vector<StageSpec> plan = UsualPlan();
  plan[0].source.permissions = {{"d", {"u"}, {}}};
  Apply(plan);
  ASSERT_TRUE(device.Publish("t", "1"));
  EXPECT_EQ(Count(Counter::kNotAllowed), 1u);
  Apply(UsualPlan());
  ASSERT_TRUE(device.Publish("t", "1"));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

TEST_F(EnginePermission, ADeviceMayNameTheClassOfARecord) {
  SourceSettings source;
  source.class_property = "urgency";
  StartWith(source);
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.level = 5})));
  const std::pair<const char*, int> kCases[] = {{"critical", 1}, {"2", 2}, {"bulk", 4}, {"8", 8},
                                                {"9", 3},        {"", 3},  {"0", 3},    {"11", 3}};
  unsigned id = 1;
  for (const auto& [name, expected] : kCases) {
    ASSERT_TRUE(device.Send(Publish5("t", id, "1", test::UserProperty("urgency", name))));
    EXPECT_EQ(device.ReceivePacket(), mqtt_test::Puback(id++));
    EXPECT_EQ(engine_.Agents("", 1)[0].record_class, expected) << name;
  }
  ASSERT_TRUE(device.Send(Publish5("t", id, "1", test::UserProperty("priority", "1"))));
  EXPECT_EQ(device.ReceivePacket(), mqtt_test::Puback(id));
  EXPECT_EQ(engine_.Agents("", 1)[0].record_class, kNormal) << "another property";
}

TEST(Permissions, AFilterCoversWhatItMatchesAll) {
  const struct {
    const char* allowed;
    const char* filter;
    bool covers;
  } kCases[] = {{"#", "a/b", true},      {"#", "#", true},       {"#", "+", true},
                {"a/#", "a", true},      {"a/#", "a/#", true},   {"a/#", "a/+/b", true},
                {"a/#", "b", false},     {"a/#", "+/b", false},  {"a/+", "a/+", true},
                {"a/+", "a/b", true},    {"a/+", "a/#", false},  {"a/+", "a", false},
                {"a/+", "a/b/c", false}, {"a/b", "a/+", false},  {"a/b", "a/b", true},
                {"a/b", "a", false},     {"a", "a/b", false},    {"+/b", "a/b", true},
                {"+", "#", false},       {"a//b", "a//b", true}, {"a//b", "a/b", false}};
  for (const auto& c : kCases) {
    EXPECT_EQ(FilterCovers(c.allowed, c.filter), c.covers) << c.allowed << " " << c.filter;
  }
}

TEST(Permissions, AnIdMakesNoWildcardAndNoLevel) {
  const std::vector<Permission> rows = {{"*", {"data/{device}/x", "open"}, {"cmd/{device}/#"}}};
  for (const char* id : {"#", "+", "a/b", "+/x", "a#"}) {
    const auto its = DevicePermissions::Of(rows, id);
    EXPECT_FALSE(its->MayPublish("data/other/x")) << id;
    EXPECT_FALSE(its->MayPublish("data/" + std::string(id) + "/x")) << id;
    EXPECT_FALSE(its->MaySubscribe("cmd/other/x")) << id;
    EXPECT_TRUE(its->MayPublish("open")) << id;
  }
  const auto plain = DevicePermissions::Of(rows, "{device}");
  EXPECT_TRUE(plain->MayPublish("data/{device}/x"));
  EXPECT_EQ(DevicePermissions::Of({}, "a"), nullptr);
}

TEST(Permissions, TheFirstRowThatMatchesDecides) {
  const std::vector<Permission> rows = {{"a?", {"one"}, {}}, {"*", {"two"}, {}}};
  EXPECT_TRUE(DevicePermissions::Of(rows, "a1")->MayPublish("one"));
  EXPECT_FALSE(DevicePermissions::Of(rows, "a1")->MayPublish("two"));
  EXPECT_TRUE(DevicePermissions::Of(rows, "b")->MayPublish("two"));
}

TEST(Permissions, BadOnesAreNoPlan) {
  const std::vector<std::string> many(kMaxPermissionFilters + 1, "t");
  const std::vector<Permission> kBad[] = {
      {{"", {"t"}, {}}},
      {{std::string(257, 'd'), {"t"}, {}}},
      {{"d", {""}, {}}},
      {{"d", {"a/#/b"}, {}}},
      {{"d", {}, {"a+"}}},
      {{"d", {}, {"x{device}+"}}},
      {{"d", many, {}}},
      {{"d", {}, many}},
      std::vector<Permission>(kMaxPermissions + 1, {"d", {}, {}})};
  for (const auto& rows : kBad) EXPECT_FALSE(ValidatePermissions(rows).ok());
  EXPECT_TRUE(ValidatePermissions({{"d", {"{device}/#"}, {"+/{device}"}}}).ok());
}

}  // namespace
}  // namespace seganet

#include "core/devices/identities.h"

#include <gtest/gtest.h>

namespace seganet {
namespace {

constexpr int64_t kNow = 1'000'000'000;

TEST(Identities, AnotherBridgeWaitsUntilTheFirstIsSilentOrGone) {
  Identities identities;
  Identity* const lamp = identities.Join("lamp", 0);
  ASSERT_TRUE(identities.Claim(lamp, 1, "one", kNow));
  EXPECT_EQ(identities.BridgeOf("lamp"), "one");
  EXPECT_FALSE(identities.Claim(lamp, 2, "two", kNow + Identities::kSpokenUs));
  EXPECT_TRUE(identities.Claim(lamp, 1, "one", kNow));
  EXPECT_TRUE(identities.Claim(lamp, 2, "two", kNow + Identities::kSpokenUs + 1));
  EXPECT_EQ(identities.BridgeOf("lamp"), "two");
  lamp->spoken_us = Identity::kEnded;
  EXPECT_TRUE(identities.Claim(lamp, 1, "one", kNow));
  EXPECT_EQ(identities.BridgeOf("other"), "");
}

TEST(Identities, NoBridgeSpeaksForADeviceThatSpeaksForItself) {
  Identities identities;
  Identity* const lamp = identities.Join("lamp", 0);
  ASSERT_TRUE(identities.Claim(lamp, 1, "one", kNow));
  identities.SetOwn(lamp, true);
  EXPECT_EQ(lamp->speaker, 0u);
  EXPECT_EQ(identities.BridgeOf("lamp"), "");
  EXPECT_FALSE(identities.Claim(lamp, 1, "one", kNow));
  identities.SetOwn(lamp, false);
  EXPECT_EQ(identities.BridgeOf("lamp"), "") << "the bridge has to speak again";
  EXPECT_TRUE(identities.Claim(lamp, 1, "one", kNow));
}

TEST(Identities, ABridgeIsForgottenWithItsRow) {
  Identities identities;
  Identity* const lamp = identities.Join("lamp", 0);
  ASSERT_EQ(identities.Join("lamp", 0), lamp);
  ASSERT_TRUE(identities.Claim(lamp, 1, "one", kNow));
  identities.Leave(lamp, 2);
  EXPECT_EQ(identities.BridgeOf("lamp"), "one") << "that was the row of another";
  ASSERT_EQ(identities.Join("lamp", 0), lamp);
  identities.Leave(lamp, 1);
  EXPECT_EQ(identities.BridgeOf("lamp"), "");
  EXPECT_EQ(lamp->speaker, 0u);
}

TEST(Identities, NoIdGetsANumberTwice) {
  Identities identities;
  Identity* lamp = identities.Join("lamp", 7);
  EXPECT_EQ(lamp->next_seq++, 7u);
  ASSERT_EQ(identities.Join("lamp", 3), lamp);
  EXPECT_EQ(lamp->next_seq++, 8u);
  identities.Leave(lamp, 0);
  identities.Leave(lamp, 0);
  EXPECT_EQ(identities.Join("lamp", 0)->next_seq, 9u);
}

}  // namespace
}  // namespace seganet

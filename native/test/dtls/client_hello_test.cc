#include "core/dtls/client_hello.h"

#include <gtest/gtest.h>

#include <random>

#include "test/support/dtls_fixture.h"

namespace seganet::tls_test {
namespace {

std::string Hello() {
  DtlsClient client({});
  client.Start();
  return client.sent.front();
}

TEST(ClientHello, ReadsAnUnfragmentedHello) {
  const std::string bytes = Hello();
  const auto hello = ReadClientHello(BytesOf(bytes));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->random.size(), 32u);
  EXPECT_EQ(hello->record_sequence.size(), 6u);
  EXPECT_TRUE(hello->cookie.empty());
  EXPECT_FALSE(hello->suites_compression.empty());
}

TEST(ClientHello, RejectsEveryPrefixAndATrailingByte) {
  const std::string bytes = Hello();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadClientHello(BytesOf(std::string_view(bytes).substr(0, size)))) << size;
  }
  EXPECT_FALSE(ReadClientHello(BytesOf(bytes + "x")));
}

TEST(ClientHello, SurvivesRandomChanges) {
  const std::string bytes = Hello();
  std::mt19937 random(18);
  const HelloCookies cookies({1, 2, 3, 4});
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    const auto hello = ReadClientHello(BytesOf(changed));
    if (!hello) continue;
    EXPECT_LT(cookies.Challenge("a", *hello, 0).size(), changed.size());
    EXPECT_FALSE(cookies.IsValid("a", *hello, 0));
  }
}

TEST(ClientHello, RemovesEncryptedRecordsOverTheAllowance) {
  const std::string plain("\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x01x", 14);
  const std::string sealed("\x16\xfe\xfd\0\1\0\0\0\0\0\0\0\x01x", 14);
  const std::string datagram = plain + sealed + plain + sealed;
  size_t allowed = 1;
  EXPECT_EQ(LimitEncrypted(BytesOf(datagram), &allowed).size(), 42u);
  EXPECT_EQ(allowed, 0u);
  allowed = 2;
  EXPECT_EQ(LimitEncrypted(BytesOf(datagram), &allowed).size(), 56u);
  EXPECT_EQ(LimitEncrypted(BytesOf(""), &allowed).size(), 0u);
}

TEST(HelloCookies, DependOnAddressParametersSecretAndTime) {
  const std::string bytes = Hello();
  const std::string other = Hello();
  const auto hello = *ReadClientHello(BytesOf(bytes));
  const HelloCookies cookies({1, 2, 3, 4});
  const int64_t now_us = 600'000'000;
  const std::string answer = cookies.Challenge("a", hello, now_us);
  auto returned = hello;
  returned.cookie = std::string_view(answer).substr(answer.size() - HelloCookies::kBytes);
  EXPECT_TRUE(cookies.IsValid("a", returned, now_us));
  EXPECT_TRUE(cookies.IsValid("a", returned, now_us + 60'000'000));
  EXPECT_FALSE(cookies.IsValid("a", returned, now_us + 120'000'000));
  EXPECT_FALSE(cookies.IsValid("b", returned, now_us));
  EXPECT_FALSE(HelloCookies({1, 2, 3, 5}).IsValid("a", returned, now_us));
  auto foreign = *ReadClientHello(BytesOf(other));
  foreign.cookie = returned.cookie;
  EXPECT_FALSE(cookies.IsValid("a", foreign, now_us));
  returned.cookie.remove_suffix(1);
  EXPECT_FALSE(cookies.IsValid("a", returned, now_us));
}

}  // namespace
}  // namespace seganet::tls_test

#include "test/support/dtls_fixture.h"

namespace seganet::tls_test {
namespace {

class DtlsServing : public DtlsTest {};

std::string First(DtlsClient* client) {
  client->Start();
  std::string hello = client->sent.front();
  client->sent.pop_front();
  return hello;
}

TEST_F(DtlsServing, KeepsNothingAndSendsLessBeforeTheAddressIsProven) {
  Serve(keys_);
  for (int i = 0; i < 1000; ++i) {
    DtlsClient client(Pump());
    const std::string hello = First(&client);
    Give(hello, "spoofed:" + std::to_string(i));
    ASSERT_EQ(answers_.size(), 1u);
    EXPECT_LT(answers_[0].second.size(), hello.size());
    answers_.clear();
  }
  EXPECT_EQ(server_->handshakes(), 0u);
  EXPECT_EQ(server_->counters().challenges, 1000u);
}

TEST_F(DtlsServing, AcceptsACookieOnlyFromItsAddressAndForTwoMinutes) {
  Serve(keys_);
  DtlsClient client(Pump());
  Give(First(&client), "a:1");
  client.Receive(answers_.back().second);
  const std::string hello = client.sent.front();
  Give(hello, "b:1");
  EXPECT_EQ(server_->handshakes(), 0u);
  now_us_ += 121'000'000;
  Give(hello, "a:1");
  EXPECT_EQ(server_->handshakes(), 0u);
  now_us_ -= 121'000'000;
  Give(hello, "a:1");
  EXPECT_EQ(server_->handshakes(), 1u);
  // A repeated ClientHello belongs to the same handshake.
  Give(hello, "a:1");
  EXPECT_EQ(server_->handshakes(), 1u);
}

TEST_F(DtlsServing, IgnoresReplayedAndDamagedRecords) {
  Serve(keys_);
  const auto client = Connect(Pump(), "a:1");
  client->Write("once");
  const std::string record = client->sent.front();
  client->sent.clear();
  for (size_t at = 0; at < record.size(); ++at) {
    std::string damaged = record;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    Give(damaged, "a:1");
    Give(record.substr(0, at), "a:1");
  }
  EXPECT_EQ(TakeLog(), "");
  Give(record, "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 once]");
  Give(record, "a:1");
  Give(record, "b:1");
  EXPECT_EQ(TakeLog(), "");
  client->Write("twice");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 twice]");
}

TEST_F(DtlsServing, KeepsASessionUntilANewHandshakeOfItsAddressIsComplete) {
  Serve(keys_);
  const auto old = Connect(Pump(), "a:1");
  DtlsClient next(Pump());
  Give(First(&next), "a:1");
  next.Receive(std::exchange(answers_, {}).back().second);
  Give(next.sent.front(), "a:1");  // with the cookie
  next.sent.clear();
  old->Write("still here");
  Carry(old.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 still here]");
  Wait(11);
  EXPECT_EQ(server_->handshakes(), 0u);
  const auto restarted = Connect(Pump(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 ended]");
  restarted->Write("restarted");
  Carry(restarted.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 restarted]");
  EXPECT_EQ(server_->sessions(), 1u);
}

TEST_F(DtlsServing, EndsASessionByCloseNotifyOfEitherSide) {
  Serve(keys_);
  const auto client = Connect(Pump(), "a:1");
  client->Close();
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 ended]");
  const auto other = Connect(Pump(), "b:1");
  server_->Close();
  Pass(other.get(), "b:1");
  EXPECT_TRUE(other->closed_by_server());
}

TEST_F(DtlsServing, EndsSilentSessionsAndTheLongestSilentOneOfTooMany) {
  Serve(keys_, {.max_sessions = 2, .max_sessions_per_device = 9, .idle_us = 100'000'000});
  const auto a = Connect(Pump(), "a:1");
  Wait(1);
  const auto b = Connect(Pump(), "b:1");
  Wait(1);
  a->Write("hello");
  Carry(a.get(), "a:1");
  const auto c = Connect(Pump(), "c:1");
  EXPECT_EQ(TakeLog(), "[pump-1 hello][pump-1 ended]");
  EXPECT_EQ(server_->sessions(), 2u);
  Wait(99);
  EXPECT_EQ(server_->sessions(), 2u);
  Wait(1.5);
  EXPECT_EQ(server_->sessions(), 0u);
  EXPECT_EQ(server_->NextDeadline(), INT64_MAX);
}

TEST_F(DtlsServing, LimitsTheSessionsOfADevice) {
  Serve(keys_, {.max_sessions_per_device = 2});
  const auto a = Connect(Pump(), "a:1");
  Wait(1);
  const auto b = Connect(Pump(), "b:1");
  Wait(1);
  const auto c = Connect(Pump(), "c:1");
  EXPECT_EQ(server_->sessions(), 2u);
  c->Write("newest");
  Carry(c.get(), "c:1");
  EXPECT_EQ(TakeLog(), "[pump-1 ended][pump-1 newest]");
}

TEST_F(DtlsServing, EndsTheOldestOfTooManyHandshakes) {
  Serve(keys_, {.max_handshakes = 2});
  for (const char* from : {"a:1", "b:1", "c:1"}) {
    DtlsClient client(Pump());
    Give(First(&client), from);
    client.Receive(std::exchange(answers_, {}).back().second);
    Give(client.sent.front(), from);
  }
  EXPECT_EQ(server_->handshakes(), 2u);
  EXPECT_EQ(server_->counters().refused, 1u);
}

TEST_F(DtlsServing, LimitsFailedHandshakesOfAHostAndServesTheOthers) {
  Serve(keys_, {.host_burst = 5, .host_per_s = 1});
  for (int i = 0; i < 20; ++i) Connect(Pump("pump-3"), "bad:" + std::to_string(i));
  EXPECT_EQ(server_->counters().refused, 5u);
  EXPECT_EQ(server_->counters().limited, 15u);
  EXPECT_TRUE(Connect(Pump(), "good:1")->open());
  EXPECT_FALSE(Connect(Pump(), "bad:1")->open());
  Wait(2);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Connect(Pump(), "bad:" + std::to_string(i))->open())
        << i;  // completed ones are free
  }
}

TEST_F(DtlsServing, EndsAHandshakeThatSendsTooMuchOrTakesTooLong) {
  Serve(keys_, {.max_handshake_bytes = 4096});
  DtlsClient client(Pump());
  Give(First(&client), "a:1");
  client.Receive(std::exchange(answers_, {}).back().second);
  Give(client.sent.front(), "a:1");
  ASSERT_EQ(server_->handshakes(), 1u);
  std::string junk("\x16\xfe\xfd\0\x01\0\0\0\0\0\0\x03\xe8", 13);
  junk.append(1000, 'x');
  for (int i = 0; i < 5 && server_->handshakes() > 0; ++i) Give(junk, "a:1");
  EXPECT_EQ(server_->handshakes(), 0u);
  Give(client.sent.front(), "a:1");
  ASSERT_EQ(server_->handshakes(), 1u);
  Wait(9);
  EXPECT_EQ(server_->handshakes(), 1u);
  Wait(2);
  EXPECT_EQ(server_->handshakes(), 0u);
}

TEST_F(DtlsServing, RepeatsItsFlightThatWasLost) {
  Serve(certificates_);
  const Identity pump = authority_.Issue({.name = "pump-9"});
  DtlsClient client({.own = &pump});
  Give(First(&client), "a:1");
  client.Receive(std::exchange(answers_, {}).back().second);
  Give(client.sent.front(), "a:1");
  client.sent.clear();
  const size_t flight = std::exchange(answers_, {}).size();
  EXPECT_GT(flight, 0u);
  EXPECT_LE(server_->NextDeadline(), now_us_ + 1'000'000);
  // OpenSSL has its own clock.
  for (int i = 0; i < 100 && answers_.empty(); ++i) {
    usleep(20'000);
    Wait(0.02);
  }
  EXPECT_GE(answers_.size(), flight);
  Pass(&client, "a:1");
  Carry(&client, "a:1");
  EXPECT_TRUE(client.open());
}

TEST_F(DtlsServing, SendsHandshakesInDatagramsOfTheSmallestMtu) {
  Serve(certificates_);
  DtlsClient client({});
  Give(First(&client), "a:1");
  client.Receive(std::exchange(answers_, {}).back().second);
  Give(client.sent.front(), "a:1");
  for (const auto& [to, datagram] : answers_) EXPECT_LE(datagram.size(), 1232u);
}

}  // namespace
}  // namespace seganet::tls_test

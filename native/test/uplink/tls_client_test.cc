// An established connection: the data that it carries, and its ends.
#include <random>
#include <string>
#include <vector>

#include "test/support/tls_fixture.h"

namespace seganet {
namespace {

using tls_test::Carry;
using tls_test::ReadAll;
using tls_test::Server;
using tls_test::Span;
using tls_test::Take;

class TlsClientTest : public tls_test::TlsTest {};

// Of records in flight: type, then length without the head of 5.
std::vector<std::pair<int, size_t>> Records(std::string_view bytes) {
  std::vector<std::pair<int, size_t>> records;
  while (bytes.size() >= 5) {
    const auto* head = reinterpret_cast<const uint8_t*>(bytes.data());
    records.emplace_back(head[0], head[3] << 8 | head[4]);
    bytes.remove_prefix(std::min(bytes.size(), 5 + records.back().second));
  }
  return records;
}

TEST_F(TlsClientTest, BytesMayBeCutAnywhere) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Server server(broker_, {.max_version = version});
    TlsClient client = Client();
    client.Start();
    EXPECT_EQ(Carry(&client, &server, 1), "");
    ASSERT_EQ(client.state(), State::kOpen);
    client.Write("up");
    server.Write("down");
    server.Close();
    EXPECT_EQ(Carry(&client, &server, 1), "down");
    EXPECT_EQ(server.heard, "up");
    EXPECT_EQ(client.state(), State::kEnded);
  }
}

TEST_F(TlsClientTest, DataMayComeWithTheEndOfTheHandshake) {
  Server server(broker_, {.max_version = TLS1_2_VERSION});
  TlsClient client = Client();
  client.Start();
  server.Receive(Take(&client));
  client.Receive(Span(server.Take()));
  server.Receive(Take(&client));
  server.Write("early");
  client.Receive(Span(server.Take()));
  EXPECT_EQ(client.state(), State::kOpen);
  EXPECT_EQ(ReadAll(&client), "early");
}

TEST_F(TlsClientTest, AMessageOfUpTo16KiBIsOneRecord) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  for (const size_t size : {1, 300, 16384}) {
    client.Write(std::string(size, 'x'));
    const std::string sent = Take(&client);
    ASSERT_EQ(Records(sent).size(), 1u) << size;
    EXPECT_EQ(Records(sent)[0].first, SSL3_RT_APPLICATION_DATA);
    server.Receive(sent);
  }
  client.Write(std::string(16385, 'x'));
  EXPECT_EQ(Records(client.pending()).size(), 2u);
  client.Write({});
  EXPECT_EQ(Records(Take(&client)).size(), 2u);
}

TEST_F(TlsClientTest, AMebibyteArrivesWholeInBothDirections) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  std::string large(1 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7919 >> 5);
  client.Write(large);
  server.Write(large);
  EXPECT_EQ(Carry(&client, &server, 1460), large);
  EXPECT_EQ(server.heard, large);
}

TEST_F(TlsClientTest, PendingBytesLeaveInOrderHoweverFewTheNetworkTakes) {
  std::mt19937 random(20260917);
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  std::string said;
  for (int i = 0; i < 300; ++i) {
    const std::string text(random() % 3000, static_cast<char>('a' + i % 26));
    client.Write(text);
    said += text;
    const std::string_view pending = client.pending();
    const size_t size = std::min<size_t>(random() % 3000, pending.size());
    server.Receive(pending.substr(0, size));
    client.Sent(size);
  }
  Carry(&client, &server);
  EXPECT_EQ(server.heard, said);
}

TEST_F(TlsClientTest, NewKeysAndTicketsAreTakenInPassing) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  for (int i = 0; i < 3; ++i) {
    server.SendTicket();
    server.UpdateKeys();
    server.Write("down");
    EXPECT_EQ(Carry(&client, &server, 1), "down");
    client.Write("up");
    Carry(&client, &server);
  }
  EXPECT_EQ(server.heard, "upupup");
  EXPECT_EQ(client.state(), State::kOpen);
}

TEST_F(TlsClientTest, DoesNotRenegotiate) {
  Server server(broker_, {.max_version = TLS1_2_VERSION});
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  server.AskToRenegotiate();
  client.Receive(Span(server.Take()));
  EXPECT_EQ(ReadAll(&client), "");
  EXPECT_EQ(client.state(), State::kOpen);
  const auto answer = Records(client.pending());
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].first, SSL3_RT_ALERT);
}

TEST_F(TlsClientTest, EndsWithTheBrokersGoodbye) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  server.Write("last");
  server.Close();
  EXPECT_EQ(Carry(&client, &server), "last");
  EXPECT_EQ(client.state(), State::kEnded);
  EXPECT_TRUE(client.failure().code.empty());
  client.Write("too late");
  EXPECT_TRUE(client.pending().empty());
  client.Receive(Span("anything"));
  client.Close();
  EXPECT_EQ(Records(client.pending()).size(), 1u);
}

TEST_F(TlsClientTest, SaysGoodbyeOnceAndStillHearsTheBroker) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  client.Close();  // nothing was made yet
  Carry(&client, &server);
  ASSERT_EQ(client.state(), State::kOpen);
  client.Write("last");
  client.Close();
  client.Close();
  client.Write("too late");
  EXPECT_EQ(Records(client.pending()).size(), 2u);
  server.Receive(Take(&client));
  EXPECT_EQ(server.heard, "last");
  EXPECT_TRUE(server.closed_by_client());
  server.Write("heard");
  server.Close();
  EXPECT_EQ(Carry(&client, &server), "heard");
  EXPECT_EQ(client.state(), State::kEnded);
}

TEST_F(TlsClientTest, HalfARecordIsNotRead) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  server.Write("whole");
  server.Write("cut off");
  std::string sent = server.Take();
  sent.pop_back();
  client.Receive(Span(sent));
  EXPECT_EQ(ReadAll(&client), "whole");
  EXPECT_EQ(client.state(), State::kOpen);
}

}  // namespace
}  // namespace seganet

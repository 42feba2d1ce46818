// What the two ends agree on; refusals are in tls_refusal_test.cc.
#include <string>

#include "test/support/tls_fixture.h"

namespace seganet {
namespace {

using tls_test::Carry;
using tls_test::Context;
using tls_test::Identity;
using tls_test::kTls13;
using tls_test::ReadAll;
using tls_test::Server;
using tls_test::Span;

class TlsHandshakeTest : public tls_test::TlsTest {};

TEST_F(TlsHandshakeTest, SpeaksTls13) {
  Server server(broker_);
  TlsClient client = Client();
  EXPECT_TRUE(client.pending().empty());
  client.Start();
  EXPECT_EQ(client.state(), State::kHandshake);
  EXPECT_TRUE(client.protocol().empty());
  EXPECT_TRUE(client.PeerCertificate().empty());
  Carry(&client, &server);
  ASSERT_EQ(client.state(), State::kOpen);
  EXPECT_EQ(client.protocol(), "TLSv1.3");
  EXPECT_EQ(client.PeerCertificate(), broker_.Der());
  EXPECT_TRUE(client.failure().code.empty());
  client.Write("up");
  server.Write("down");
  EXPECT_EQ(Carry(&client, &server), "down");
  EXPECT_EQ(server.heard, "up");
}

TEST_F(TlsHandshakeTest, SpeaksTls12WhereThatIsAllowed) {
  Server server(broker_, {.max_version = TLS1_2_VERSION});
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  ASSERT_EQ(client.state(), State::kOpen);
  EXPECT_EQ(client.protocol(), "TLSv1.2");
  EXPECT_EQ(client.PeerCertificate(), broker_.Der());
  client.Write("up");
  server.Write("down");
  EXPECT_EQ(Carry(&client, &server), "down");
  EXPECT_EQ(server.heard, "up");
}

TEST_F(TlsHandshakeTest, TheBrokerNeedNotSendItsAuthority) {
  const Identity between = authority_.Issue({.name = "Between", .authority = true});
  Server server(between.Issue(), {.between = between.cert()});
  options_.min_version = kTls13;
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(client.state(), State::kOpen);
}

TEST_F(TlsHandshakeTest, BeginsAgainWhenTheBrokerWantsAnotherGroup) {
  Server server(broker_, {.groups = "P-384"});  // HelloRetryRequest (RFC 8446 4.1.4)
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server, 1);
  EXPECT_EQ(client.state(), State::kOpen);
}

TEST_F(TlsHandshakeTest, SaysTheNameOfTheServer) {
  options_.server_name = "broker.example";
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(server.server_name(), "broker.example");
  options_.server_name.clear();
  Server nameless(broker_);
  TlsClient quiet = Client();
  quiet.Start();
  Carry(&quiet, &nameless);
  EXPECT_EQ(quiet.state(), State::kOpen);
  EXPECT_EQ(nameless.server_name(), "");
}

TEST_F(TlsHandshakeTest, AgreesOnAProtocol) {
  options_.alpn = {"x-other", "mqtt"};
  Server server(broker_, {.alpn = "mqtt"});
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(client.alpn(), "mqtt");
  Server indifferent(broker_);
  TlsClient other = Client();
  other.Start();
  Carry(&other, &indifferent);
  EXPECT_EQ(other.state(), State::kOpen);
  EXPECT_EQ(other.alpn(), "");
}

TEST_F(TlsHandshakeTest, TakesTheCiphersThatAreGiven) {
  options_.ciphers = "ECDHE-ECDSA-AES256-SHA384";
  Server server(broker_, {.max_version = TLS1_2_VERSION});
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(client.state(), State::kOpen);
  EXPECT_EQ(server.cipher(), "ECDHE-ECDSA-AES256-SHA384");
}

TEST_F(TlsHandshakeTest, ShowsItsCertificateWhenItIsAsked) {
  const Identity own = authority_.Issue({.name = "gateway"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::string& key :
         {own.key(), own.EncryptedKey("open"), own.OldEncryptedKey("open")}) {
      options_.cert = own.cert();
      options_.key = key;
      options_.passphrase = "open";
      Server server(broker_, {.max_version = version, .client_ca = authority_.cert()});
      TlsClient client = Client();
      client.Start();
      Carry(&client, &server);
      EXPECT_EQ(client.state(), State::kOpen);
      EXPECT_TRUE(server.open());
      EXPECT_TRUE(server.client_has_certificate());
    }
  }
  Server incurious(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &incurious);
  EXPECT_EQ(client.state(), State::kOpen);
  EXPECT_FALSE(incurious.client_has_certificate());
}

TEST_F(TlsHandshakeTest, SendsWhatIsBetweenItsCertificateAndTheAuthority) {
  const Identity between = authority_.Issue({.name = "Between", .authority = true});
  const Identity own = between.Issue({.name = "gateway"});
  options_.cert = own.cert() + between.cert();
  options_.key = own.key();
  Server server(broker_, {.client_ca = authority_.cert()});
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_TRUE(server.open());
}

TEST_F(TlsHandshakeTest, NothingHappensBeforeTheStart) {
  TlsClient client = Client();
  client.Receive(Span("x"));
  client.Write("x");
  client.Close();
  EXPECT_EQ(ReadAll(&client), "");
  EXPECT_TRUE(client.pending().empty());
  EXPECT_TRUE(client.PeerCertificate().empty());
  EXPECT_EQ(client.state(), State::kHandshake);
}

TEST_F(TlsHandshakeTest, AContextServesManyConnectionsAndOutlivesItsMaker) {
  std::shared_ptr<TlsContext> context = Context(options_);
  TlsClient first(context);
  TlsClient second(std::move(context));
  for (TlsClient* client : {&first, &second}) {
    Server server(broker_);
    client->Start();
    Carry(client, &server);
    EXPECT_EQ(client->state(), State::kOpen);
  }
}

}  // namespace
}  // namespace seganet

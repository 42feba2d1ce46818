// Refused connections, with the codes that Node gives; files are in tls_files_test.cc.
#include <string>

#include "test/support/tls_fixture.h"

namespace seganet {
namespace {

using tls_test::Carry;
using tls_test::Context;
using tls_test::Identity;
using tls_test::kTls13;
using tls_test::Manners;
using tls_test::ReadAll;
using tls_test::Server;
using tls_test::Span;
using tls_test::Take;

constexpr long kDay = 86400;

// Returns how a connection fails. The broker gets an alert too.
TlsFailure Failure(const TlsOptions& options, const Identity& broker, const Manners& manners = {}) {
  Server server(broker, manners);
  TlsClient client(Context(options));
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(client.state(), TlsClient::State::kFailed);
  client.Write("never");
  client.Close();
  EXPECT_TRUE(client.pending().empty());
  EXPECT_EQ(server.heard, "");
  return client.failure();
}

class TlsRefusal : public tls_test::TlsTest {
 protected:
  // Cases of a broker that the client should not trust, in both versions.
  std::string Distrust(const Identity& broker, const std::string& between = "") {
    const TlsFailure older =
        Failure(options_, broker, {.max_version = TLS1_2_VERSION, .between = between});
    const TlsFailure failure = Failure(options_, broker, {.between = between});
    EXPECT_EQ(older.code, failure.code);
    EXPECT_FALSE(failure.message.empty());
    return failure.code;
  }
};

TEST_F(TlsRefusal, ACertificateOutsideItsTime) {
  EXPECT_EQ(Distrust(authority_.Issue({.from_s = -3 * kDay, .to_s = -kDay})), "CERT_HAS_EXPIRED");
  EXPECT_EQ(Distrust(authority_.Issue({.from_s = kDay, .to_s = 3 * kDay})), "CERT_NOT_YET_VALID");
  const TlsFailure failure =
      Failure(options_, authority_.Issue({.from_s = -3 * kDay, .to_s = -kDay}));
  EXPECT_EQ(failure.message, "certificate has expired");
}

TEST_F(TlsRefusal, AnAuthorityThatIsNotTrusted) {
  const Identity other = Identity::Authority("Another authority");
  EXPECT_EQ(Distrust(Identity::Own({})), "DEPTH_ZERO_SELF_SIGNED_CERT");
  EXPECT_EQ(Distrust(other.Issue()), "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  EXPECT_EQ(Distrust(other.Issue(), other.cert()), "SELF_SIGNED_CERT_IN_CHAIN");
  const Identity between = other.Issue({.name = "Between", .authority = true});
  EXPECT_EQ(Distrust(between.Issue(), between.cert()), "UNABLE_TO_GET_ISSUER_CERT_LOCALLY");
  const Identity namesake = Identity::Authority();
  EXPECT_EQ(Distrust(namesake.Issue()), "CERT_SIGNATURE_FAILURE");
  options_.ca = between.cert();
  EXPECT_EQ(Distrust(between.Issue()), "UNABLE_TO_GET_ISSUER_CERT");
  options_.ca.clear();
  EXPECT_EQ(Distrust(broker_), "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
}

TEST_F(TlsRefusal, ASelfSignedBrokerIsBelievedWhenItIsItsOwnAuthority) {
  const Identity own = Identity::Own({});
  options_.ca = authority_.cert() + own.cert();
  Server server(own);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  EXPECT_EQ(client.state(), State::kOpen);
}

TEST_F(TlsRefusal, ACertificateThatIsForSomethingElse) {
  EXPECT_EQ(Distrust(authority_.Issue({.usage = "clientAuth"})), "INVALID_PURPOSE");
  const Identity no_authority = authority_.Issue({.name = "Between"});
  EXPECT_EQ(Distrust(no_authority.Issue(), no_authority.cert()), "INVALID_PURPOSE");
}

TEST_F(TlsRefusal, EveryFaultCountsNotOnlyTheLast) {
  // The leaf, which is checked last, is correct.
  const Identity between =
      authority_.Issue({.name = "Between", .from_s = -3 * kDay, .to_s = -kDay, .authority = true});
  EXPECT_EQ(Distrust(between.Issue(), between.cert()), "CERT_HAS_EXPIRED");
}

TEST_F(TlsRefusal, TheBrokerIsToldWhy) {
  Server server(Identity::Own({}));
  TlsClient client = Client();
  client.Start();
  server.Receive(Take(&client));
  client.Receive(Span(server.Take()));
  ASSERT_EQ(client.state(), State::kFailed);
  // Alert, unknown_ca (RFC 8446 6.2), protected with the keys of the handshake.
  EXPECT_FALSE(client.pending().empty());
  server.Receive(Take(&client));
  EXPECT_FALSE(server.open());
}

TEST_F(TlsRefusal, ABrokerThatIsTooOld) {
  options_.min_version = kTls13;
  const TlsFailure failure = Failure(options_, broker_, {.max_version = TLS1_2_VERSION});
  EXPECT_EQ(failure.code, "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
  EXPECT_NE(failure.message.find("tlsv1 alert protocol version"), std::string::npos);
  options_.min_version = 0x0303;
  Manners ancient{.min_version = TLS1_VERSION, .max_version = TLS1_1_VERSION};
  ancient.ciphers = "ALL@SECLEVEL=0";
  EXPECT_EQ(Failure(options_, broker_, ancient).code, "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
}

TEST_F(TlsRefusal, ABrokerThatChoosesAVersionThatWasNotOffered) {
  options_.min_version = kTls13;
  // A ServerHello of TLS 1.2.
  std::string hello("\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03", 11);
  hello += std::string(32, 'r') + std::string("\x00\xc0\x2b\x00", 4);
  TlsClient client = Client();
  client.Start();
  client.Receive(Span(hello));
  EXPECT_EQ(client.failure().code, "ERR_SSL_UNSUPPORTED_PROTOCOL");
}

TEST_F(TlsRefusal, ABrokerThatWantsACertificate) {
  Manners curious{.client_ca = authority_.cert()};
  // In TLS 1.3 the client is done before the broker has seen it.
  EXPECT_EQ(Failure(options_, broker_, curious).code, "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED");
  curious.max_version = TLS1_2_VERSION;
  EXPECT_NE(Failure(options_, broker_, curious).code.find("ALERT_HANDSHAKE_FAILURE"),
            std::string::npos);
  const Identity stranger = Identity::Authority("Another authority").Issue();
  options_.cert = stranger.cert();
  options_.key = stranger.key();
  EXPECT_EQ(Failure(options_, broker_, curious).code, "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA");
}

TEST_F(TlsRefusal, NoProtocolInCommon) {
  options_.alpn = {"mqtt"};
  EXPECT_NE(Failure(options_, broker_, {.alpn = "h2"}).code.find("ALERT_NO_APPLICATION_PROTOCOL"),
            std::string::npos);
}

TEST_F(TlsRefusal, APortThatDoesNotSpeakTls) {
  for (const std::string_view answer :
       {std::string_view("HTTP/1.1 400 Bad Request\r\n\r\n"),
        std::string_view("\x20\x02\x00\x00", 4), std::string_view("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string_view("\0\0\0\0\0\0\0\0", 8)}) {
    TlsClient client = Client();
    client.Start();
    for (const char byte : answer) client.Receive(Span({&byte, 1}));
    if (answer.size() < 5) {
      EXPECT_EQ(client.state(), State::kHandshake);  // a record's head has 5
      continue;
    }
    ASSERT_EQ(client.state(), State::kFailed);
    // OpenSSL 3.0 and 3.5 differ here.
    const std::string& code = client.failure().code;
    EXPECT_TRUE(code == "ERR_SSL_WRONG_VERSION_NUMBER" || code == "ERR_SSL_PACKET_LENGTH_TOO_LONG")
        << code;
  }
}

TEST_F(TlsRefusal, AnAlertHasItsName) {
  TlsClient client = Client();
  client.Start();
  Take(&client);
  client.Receive(Span({"\x15\x03\x03\x00\x02\x02\x28", 7}));
  EXPECT_EQ(client.state(), State::kFailed);
  EXPECT_NE(client.failure().code.find("ALERT_HANDSHAKE_FAILURE"), std::string::npos);
  EXPECT_TRUE(client.pending().empty());
}

TEST_F(TlsRefusal, ABrokerThatSaysGoodbyeInTheHandshake) {
  TlsClient client = Client();
  client.Start();
  client.Receive(Span({"\x15\x03\x03\x00\x02\x01\x00", 7}));
  EXPECT_EQ(client.state(), State::kEnded);
  client.Close();
  EXPECT_TRUE(client.protocol().empty());
}

TEST_F(TlsRefusal, ARecordThatWasTouched) {
  Server server(broker_);
  TlsClient client = Client();
  client.Start();
  Carry(&client, &server);
  server.Write("good");
  server.Write("touched");
  std::string sent = server.Take();
  sent.back() ^= 1;
  client.Receive(Span(sent));
  EXPECT_EQ(ReadAll(&client), "good");
  EXPECT_EQ(client.state(), State::kFailed);
  EXPECT_EQ(client.failure().code, "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC");
  EXPECT_FALSE(client.pending().empty());
  Take(&client);
  client.Write("never");
  EXPECT_TRUE(client.pending().empty());
}

}  // namespace
}  // namespace seganet

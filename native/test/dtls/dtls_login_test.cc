#include "test/support/dtls_fixture.h"

namespace seganet::tls_test {
namespace {

class DtlsLogin : public DtlsTest {};

TEST_F(DtlsLogin, ProvesTheIdentityOfAKey) {
  Serve(keys_);
  const auto client = Connect(Pump(), "a:1");
  ASSERT_TRUE(client->open());
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 hello]");
  EXPECT_TRUE(server_->Send(last_, "answer"));
  Pass(client.get(), "a:1");
  EXPECT_EQ(client->received, "answer");
  EXPECT_EQ(server_->counters().handshakes, 1u);
}

TEST_F(DtlsLogin, TakesThePartOfAnIdFromTheIdentity) {
  keys_.keys = {{"acme/pump-1", "0123456789abcdef"},
                {"acme:pump-1", "0123456789abcdef"},
                {"acme/", "0123456789abcdef"},
                {"a:b/pump-1", "0123456789abcdef"},
                {"/pump-1", "0123456789abcdef"}};
  keys_.part_from = PartFrom::kIdentity;
  Serve(keys_);
  const auto client = Connect(Pump("acme/pump-1"), "a:1");
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[acme:pump-1 hello]");
  for (const char* identity : {"acme:pump-1", "acme/", "a:b/pump-1", "/pump-1"}) {
    const auto other = Connect(Pump(identity), "b:1");
    other->Write("hello");
    Carry(other.get(), "b:1");
    EXPECT_EQ(TakeLog(), "") << identity;
  }
  EXPECT_EQ(server_->sessions(), 1u);
}

TEST_F(DtlsLogin, TakesThePartOfAnIdFromTheOrganization) {
  certificates_.part_from = PartFrom::kOrganization;
  Serve(certificates_);
  const Identity pump = authority_.Issue({.name = "pump-9", .organizations = {"acme"}});
  const auto client = Connect({.own = &pump}, "a:1");
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[acme:pump-9 hello]");
  const Identity none = authority_.Issue({.name = "acme:pump-9"});
  const Identity two = authority_.Issue({.name = "pump-9", .organizations = {"acme", "other"}});
  const Identity odd = authority_.Issue({.name = "pump-9", .organizations = {"acme:x"}});
  for (const Identity* other : {&none, &two, &odd}) {
    const auto refused = Connect({.own = other}, "b:1");
    refused->Write("hello");
    Carry(refused.get(), "b:1");
    EXPECT_EQ(TakeLog(), "");
  }
}

TEST_F(DtlsLogin, PutsEachDeviceOfAListenerIntoItsPart) {
  keys_.part_from = PartFrom::kFixed;
  keys_.part = "acme";
  keys_.keys = {{"other/pump-1", "0123456789abcdef"}};
  Serve(keys_);
  const auto client = Connect(Pump("other/pump-1"), "a:1");
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[acme:other/pump-1 hello]");
  std::shared_ptr<const DtlsContext> context;
  TlsFailure why;
  keys_.part = "a:b";
  EXPECT_FALSE(DtlsContext::Make(keys_, &context, &why));
  EXPECT_EQ(why.code, "ERR_OUT_OF_RANGE");
}

TEST_F(DtlsLogin, SpeaksTheSuitesOfSmallDevices) {
  Serve(keys_);
  for (const char* suite : {"PSK-AES128-CCM8", "PSK-AES128-CCM", "PSK-AES128-GCM-SHA256"}) {
    DtlsWish wish = Pump();
    wish.ciphers = suite;
    const auto client = Connect(wish, "a:1");
    ASSERT_TRUE(client->open()) << suite;
    EXPECT_EQ(client->cipher(), suite);
  }
  Serve(certificates_);
  const Identity pump = authority_.Issue({.name = "pump-9"});
  DtlsWish wish{.own = &pump, .ciphers = "ECDHE-ECDSA-AES128-CCM8"};
  const auto client = Connect(wish, "a:1");
  EXPECT_TRUE(client->open());
}

TEST_F(DtlsLogin, RefusesAWrongKeyAndAnUnknownIdentity) {
  Serve(keys_);
  EXPECT_FALSE(Connect(Pump("pump-1", "0000000000000000"), "a:1")->open());
  EXPECT_FALSE(Connect(Pump("pump-3", "0123456789abcdef"), "b:1")->open());
  EXPECT_EQ(server_->sessions(), 0u);
  Wait(11);
  EXPECT_EQ(server_->handshakes(), 0u);
  EXPECT_EQ(server_->counters().refused, 2u);
  EXPECT_EQ(server_->counters().handshakes, 0u);
}

TEST_F(DtlsLogin, RefusesADeviceWithoutAKeyWhereKeysAreTheLogin) {
  Serve(keys_);
  const auto client = Connect({.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"}, "a:1");
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "");
  EXPECT_EQ(server_->sessions(), 0u);
  EXPECT_TRUE(client->closed_by_server());
}

TEST_F(DtlsLogin, ProvesTheNameOfACertificate) {
  Serve(certificates_);
  const Identity pump = authority_.Issue({.name = "pump-9"});
  const auto client = Connect({.own = &pump}, "a:1");
  ASSERT_TRUE(client->open());
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-9 hello]");
}

TEST_F(DtlsLogin, RefusesMissingForeignExpiredAndNamelessCertificates) {
  Serve(certificates_);
  const Identity foreign = Identity::Authority("Another").Issue({.name = "pump-9"});
  const Identity expired = authority_.Issue({.name = "pump-9", .from_s = -7200, .to_s = -3600});
  const Identity odd = authority_.Issue({.name = "pump\n9"});
  const Identity* const cases[] = {nullptr, &foreign, &expired, &odd};
  for (const Identity* own : cases) {
    const auto client = Connect({.own = own}, "a:1");
    client->Write("hello");
    Carry(client.get(), "a:1");
    EXPECT_EQ(TakeLog(), "");
    EXPECT_EQ(server_->sessions(), 0u);
  }
  EXPECT_EQ(server_->counters().refused, 4u);
}

TEST_F(DtlsLogin, ServesWithoutALoginWhereNoneIsRequired) {
  Serve(own_);
  const auto client = Connect({}, "a:1");
  client->Write("hello");
  Carry(client.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[ hello]");
}

TEST_F(DtlsLogin, ResumesASessionFromAnotherAddressWithItsIdentity) {
  Serve(keys_);
  for (const bool tickets : {true, false}) {
    DtlsWish wish = Pump();
    wish.tickets = tickets;
    const auto first = Connect(wish, tickets ? "a:1" : "a:2");
    ASSERT_TRUE(first->open());
    wish.session = first->session();
    first->Close();
    Carry(first.get(), tickets ? "a:1" : "a:2");
    EXPECT_EQ(TakeLog(), "[pump-1 ended]");
    const std::string moved = tickets ? "b:1" : "b:2";
    const auto second = Connect(wish, moved);
    SSL_SESSION_free(wish.session);
    ASSERT_TRUE(second->open());
    EXPECT_TRUE(second->resumed()) << tickets;
    second->Write("moved");
    Carry(second.get(), moved);
    EXPECT_EQ(TakeLog(), "[pump-1 moved]");
  }
  EXPECT_EQ(server_->counters().resumed, 2u);
}

TEST_F(DtlsLogin, ResumesTheIdentityOfACertificate) {
  Serve(certificates_);
  const Identity pump = authority_.Issue({.name = "pump-9"});
  DtlsWish wish{.own = &pump};
  const auto first = Connect(wish, "a:1");
  wish.session = first->session();
  const auto second = Connect(wish, "b:2");
  SSL_SESSION_free(wish.session);
  EXPECT_TRUE(second->resumed());
  second->Write("moved");
  Carry(second.get(), "b:2");
  EXPECT_EQ(TakeLog(), "[pump-9 moved]");
}

TEST_F(DtlsLogin, ResumesNothingAfterKeysWereReplaced) {
  Serve(keys_);
  DtlsWish wish = Pump();
  const auto first = Connect(wish, "a:1");
  wish.session = first->session();
  DtlsOptions fewer = keys_;
  fewer.keys = {{"pump-2", "fedcba9876543210"}};
  server_->SetContext(Context(fewer));
  const auto second = Connect(wish, "b:2");
  SSL_SESSION_free(wish.session);
  EXPECT_FALSE(second->open());
  first->Write("still open");
  Carry(first.get(), "a:1");
  EXPECT_EQ(TakeLog(), "[pump-1 still open]");
}

TEST_F(DtlsLogin, RejectsUnusableFilesAndKeys) {
  const auto fails = [](const DtlsOptions& options) {
    std::shared_ptr<const DtlsContext> context;
    TlsFailure why;
    return !DtlsContext::Make(options, &context, &why) && !why.code.empty();
  };
  DtlsOptions options = keys_;
  options.key = authority_.key();
  EXPECT_TRUE(fails(options));
  options = keys_;
  options.cert = "no certificate";
  EXPECT_TRUE(fails(options));
  options = certificates_;
  options.ca.clear();
  EXPECT_TRUE(fails(options));
  for (const auto& [identity, key] : std::vector<std::pair<std::string, std::string>>{
           {"", "0123456789abcdef"},
           {std::string(129, 'i'), "0123456789abcdef"},
           {std::string("a\0b", 3), "0123456789abcdef"},
           {"pump", ""},
           {"pump", std::string(65, 'k')}}) {
    options = keys_;
    options.keys = {{identity, key}};
    EXPECT_TRUE(fails(options));
  }
}

}  // namespace
}  // namespace seganet::tls_test

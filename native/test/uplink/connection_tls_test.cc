// A connection with TLS, and one that is closed at any moment.
#include <utility>

#include "test/support/connection_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Pattern;
using tls_test::Identity;
using tls_test::Manners;
using tls_test::Server;

const Identity& Authority() {
  static const Identity authority = Identity::Authority();
  return authority;
}
const Identity& Broker() {
  static const Identity broker = Authority().Issue();
  return broker;
}

class WireTlsTest : public test::WireTest {
 protected:
  std::unique_ptr<TlsClient> Client(const std::string& name = "broker.example") {
    TlsOptions options;
    options.ca = Authority().cert();
    options.server_name = name;
    std::shared_ptr<TlsContext> context;
    TlsFailure why;
    EXPECT_TRUE(TlsContext::Make(options, &context, &why)) << why.code;
    return std::make_unique<TlsClient>(std::move(context));
  }

  void Begin(const Identity& broker = Broker(), Manners manners = {}) {
    server_ = std::make_unique<Server>(broker, std::move(manners));
    far_end_ = [this] { Serve(); };
    Open(is_tcp_ ? test::TcpPair() : test::LocalPair(), Client());
  }
  void OpenTls(Manners manners = {}) {
    ASSERT_NO_FATAL_FAILURE(Begin(Broker(), std::move(manners)));
    ASSERT_TRUE(RunUntil([this] { return opens_ == 1 && server_->open(); }));
  }

  // The broker's turn.
  void Serve() {
    if (theirs_ < 0) return;
    if (const std::string bytes = Hear(); !bytes.empty()) server_->Receive(bytes);
    to_say_ += server_->Take();
    const ssize_t count = send(theirs_, to_say_.data(), to_say_.size(), MSG_NOSIGNAL);
    if (count > 0) to_say_.erase(0, static_cast<size_t>(count));
  }

  void ExpectEnd(const std::string& code) {
    EXPECT_TRUE(RunUntil([this] { return ends_ == 1; }));
    EXPECT_EQ(why_.code, code) << why_.message;
    RunIdle();
    EXPECT_EQ(ends_, 1);
  }

  std::unique_ptr<Server> server_;
  std::string to_say_;
  bool is_tcp_ = true;
};

TEST_F(WireTlsTest, CarriesBytesBothWays) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    OpenTls({.max_version = version});
    EXPECT_EQ(connection_->tls()->PeerCertificate(), Broker().Der());
    connection_->Write("up");
    EXPECT_EQ(connection_->unsent(), 0u);
    server_->Write("down");
    EXPECT_TRUE(RunUntil([&] { return heard_ == "down" && server_->heard == "up"; }));
    CloseWire();
    Hang();
    opens_ = ends_ = 0;
    heard_.clear();
  }
}

TEST_F(WireTlsTest, MayBeWrittenToFromOnOpen) {
  on_open_ = [this] { connection_->Write("at once"); };
  Begin();
  EXPECT_TRUE(RunUntil([&] { return server_->heard == "at once"; }));
}

TEST_F(WireTlsTest, MoreThanTheKernelTakesFollows) {
  is_tcp_ = false;
  OpenTls();
  const int bytes = 4096;
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  const std::string all = Pattern(10'000'000);
  connection_->Write(all);
  EXPECT_GT(connection_->unsent(), 1'000'000u);
  EXPECT_TRUE(RunUntil([&] { return server_->heard.size() >= all.size(); }));
  EXPECT_TRUE(server_->heard == all);
  EXPECT_TRUE(RunUntil([&] { return drains_ == 1; }));
}

TEST_F(WireTlsTest, WhileTlsIsMadeAPauseIsNone) {
  server_ = std::make_unique<Server>(Broker());
  far_end_ = [this] { Serve(); };
  Open(test::TcpPair(), Client());
  connection_->Pause(true);
  EXPECT_TRUE(RunUntil([this] { return opens_ == 1 && server_->open(); }));
  server_->Write("later");
  RunIdle();
  EXPECT_EQ(heard_, "");
  connection_->Pause(false);
  EXPECT_TRUE(RunUntil([this] { return heard_ == "later"; }));
}

TEST_F(WireTlsTest, FinishSaysSoInTlsToo) {
  OpenTls();
  connection_->Write("last");
  connection_->Finish();
  connection_->Write("nothing more");
  EXPECT_TRUE(RunUntil([this] { return server_->closed_by_client() && has_heard_end_; }));
  EXPECT_EQ(server_->heard, "last");
  server_->Write("still heard");
  EXPECT_TRUE(RunUntil([this] { return heard_ == "still heard"; }));
}

TEST_F(WireTlsTest, TheBrokersEndIsInOrder) {
  OpenTls();
  server_->Write("last words");
  server_->Close();
  ExpectEnd("");
  EXPECT_EQ(heard_, "last words");
}

TEST_F(WireTlsTest, SoIsOneOfTheSocketAlone) {
  OpenTls();
  server_->Write("last words");
  Serve();
  Hang();
  ExpectEnd("");
  EXPECT_EQ(heard_, "last words");
}

TEST_F(WireTlsTest, AResetHasItsCode) {
  OpenTls();
  server_->Write("last words");
  Serve();
  Reset();
  ExpectEnd("ECONNRESET");
  EXPECT_EQ(heard_, "last words");
}

TEST_F(WireTlsTest, AnEndBeforeTlsStoodIsAReset) {
  Begin();
  Hang();
  ExpectEnd("ECONNRESET");
  EXPECT_EQ(opens_, 0);
}

TEST_F(WireTlsTest, SoIsOneThatIsSaidInTls) {
  Begin();
  far_end_ = nullptr;
  Say(std::string("\x15\x03\x03\x00\x02\x01\x00", 7));  // close_notify (RFC 8446 6.1)
  ExpectEnd("ECONNRESET");
  EXPECT_EQ(opens_, 0);
}

TEST_F(WireTlsTest, ACertificateOfNobodyWeTrustHasNodesCode) {
  const Identity stranger = Identity::Own({});
  Begin(stranger);
  ExpectEnd("DEPTH_ZERO_SELF_SIGNED_CERT");
  EXPECT_EQ(opens_, 0);
}

TEST_F(WireTlsTest, AnExpiredOneToo) {
  Begin(Authority().Issue({.from_s = -7200, .to_s = -3600}));
  ExpectEnd("CERT_HAS_EXPIRED");
}

TEST_F(WireTlsTest, ABrokerThatSpeaksNoTlsHasACode) {
  Begin();
  far_end_ = nullptr;
  Say("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_TRUE(RunUntil([this] { return ends_ == 1; }));
  EXPECT_TRUE(why_.code.starts_with("ERR_SSL_")) << why_.code;
}

TEST_F(WireTlsTest, AConnectionThatCannotEvenBeginEnds) {
  Open(test::TcpPair(), Client(std::string(300, 'x')));  // SNI has 255 bytes at most
  EXPECT_EQ(ends_, 0);
  EXPECT_TRUE(RunUntil([this] { return ends_ == 1; }));
  EXPECT_NE(why_.code, "");
}

TEST_F(WireTlsTest, MayBeClosedFromEachCallback) {
  for (std::function<void()>* callback : {&on_open_, &on_data_, &on_end_}) {
    *callback = [this] { CloseWire(); };
    closed_ = 0;
    Begin();
    RunUntil([this] { return server_->open() || closed_ > 0; });
    server_->Write("data");
    if (callback == &on_end_) server_->Close();
    EXPECT_TRUE(RunUntil([this] { return closed_ == 1; }));
    EXPECT_TRUE(IsClosed());
    *callback = nullptr;
    Hang();
    opens_ = 0;
  }
}

// ASan detects an error here.
TEST_F(WireTlsTest, MayBeClosedAtAnyMoment) {
  test::Random random;
  const auto maybe_close = [&] {
    if (random.OneIn(12)) CloseWire();
  };
  on_open_ = on_data_ = on_drained_ = on_end_ = maybe_close;
  for (int round = 0; round < 60; ++round) {
    closed_ = ends_ = 0;
    const bool is_secure = random.OneIn(2);
    server_ = std::make_unique<Server>(Broker());
    Open(test::TcpPair(), is_secure ? Client() : nullptr);
    for (int turn = 0; turn < 40 && connection_ != nullptr; ++turn) {
      if (theirs_ >= 0 && random.OneIn(2)) {
        if (is_secure) {
          if (server_->open()) server_->Write(Pattern(random.In<size_t>(1, 100'000)));
          Serve();
        } else {
          Hear();
          send(theirs_, "data", 4, MSG_NOSIGNAL);
        }
      }
      if (random.OneIn(60)) Hang();
      if (random.OneIn(60)) Reset();
      if (connection_->is_open() && random.OneIn(2))
        connection_->Write(Pattern(random.In<size_t>(1, 400'000)));
      if (random.OneIn(20)) connection_->Pause(random.OneIn(2));
      if (random.OneIn(40)) connection_->Finish();
      uv_run(&loop_, UV_RUN_NOWAIT);
      if (random.OneIn(40)) CloseWire();
    }
    CloseWire();
    EXPECT_TRUE(RunUntil([this] { return closed_ == 1; }));
    EXPECT_TRUE(IsClosed());
    Hang();
    to_say_.clear();
  }
}

}  // namespace
}  // namespace seganet

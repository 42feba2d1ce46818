// A connection without TLS; connection_tls_test.cc has it with TLS.
#include <utility>

#include "test/support/connection_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Pattern;

class WirePlainTest : public test::WireTest {
 protected:
  // Makes the kernel take little.
  void OpenNarrow() {
    ASSERT_NO_FATAL_FAILURE(OpenPlain());
    const int bytes = 4096;
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  // All written bytes arrive, in order.
  void ExpectThatItComes(const std::string& all) {
    std::string got;
    far_end_ = [&] { got += Hear(); };
    EXPECT_TRUE(RunUntil([&] { return got.size() >= all.size(); }));
    EXPECT_TRUE(got == all);
    far_end_ = nullptr;
  }
};

TEST_F(WirePlainTest, TellsThatItIsOpenFromTheLoop) {
  Open(test::LocalPair());
  EXPECT_EQ(opens_, 0);
  EXPECT_FALSE(connection_->is_open());
  RunIdle();
  EXPECT_EQ(opens_, 1);
  EXPECT_TRUE(connection_->is_open());
  EXPECT_EQ(connection_->fd(), fd_);
  EXPECT_EQ(connection_->tls(), nullptr);
}

TEST_F(WirePlainTest, CarriesBytesBothWays) {
  OpenPlain();
  connection_->Write("up");
  EXPECT_EQ(connection_->unsent(), 0u) << "the kernel takes it at once";
  EXPECT_EQ(Hear(), "up");
  Say("down");
  EXPECT_TRUE(RunUntil([&] { return heard_ == "down"; }));
  EXPECT_EQ(drains_, 0) << "nothing was ever left";
}

TEST_F(WirePlainTest, MoreThanTheKernelTakesFollows) {
  OpenNarrow();
  const std::string all = Pattern(10'000'000);
  connection_->Write(all);
  EXPECT_GT(connection_->unsent(), 9'000'000u);
  RunIdle();
  EXPECT_EQ(drains_, 0);
  ExpectThatItComes(all);
  EXPECT_EQ(connection_->unsent(), 0u);
  RunIdle();
  EXPECT_EQ(drains_, 1);
}

TEST_F(WirePlainTest, WhatAWriteLeftAndALaterOneSentIsToldToo) {
  OpenNarrow();
  connection_->Write(Pattern(100'000));
  ASSERT_GT(connection_->unsent(), 0u);
  for (size_t heard = 0; connection_->unsent() > 0;) {
    heard += Hear().size();
    connection_->Write("x");
    ASSERT_LT(heard, 1'000'000u);
  }
  EXPECT_EQ(drains_, 0);
  far_end_ = [this] { Hear(); };
  EXPECT_TRUE(RunUntil([&] { return drains_ == 1; })) << "who waits for it waits for ever";
}

TEST_F(WirePlainTest, WhatTheKernelHasTakenDoesNotStayWhileItIsNeverDone) {
  OpenNarrow();
  std::string all = Pattern(300'000), got;
  connection_->Write(all);
  for (int i = 0; i < 500; ++i) {
    got += Hear(8192);
    uv_run(&loop_, UV_RUN_NOWAIT);
    const std::string more(8192, static_cast<char>(i));
    all += more;
    connection_->Write(more);
    ASSERT_GT(connection_->unsent(), 0u);
  }
  far_end_ = [&] { got += Hear(); };
  EXPECT_TRUE(RunUntil([&] { return drains_ > 0; }));
  got += Hear();
  EXPECT_TRUE(got == all);
}

TEST_F(WirePlainTest, WhilePausedNothingIsRead) {
  OpenPlain();
  connection_->Pause(true);
  Say("later");
  RunIdle();
  EXPECT_EQ(heard_, "");
  connection_->Write("goes");
  EXPECT_EQ(Hear(), "goes");
  connection_->Pause(false);
  EXPECT_TRUE(RunUntil([&] { return heard_ == "later"; }));
}

TEST_F(WirePlainTest, APauseFromInsideEndsTheReading) {
  OpenPlain();
  on_data_ = [&] { connection_->Pause(true); };
  far_end_ = [&] { send(theirs_, "0123456789", 10, MSG_NOSIGNAL); };
  EXPECT_TRUE(RunUntil([&] { return !heard_.empty(); }));
  const size_t heard = heard_.size();
  RunIdle();
  EXPECT_EQ(heard_.size(), heard);
}

TEST_F(WirePlainTest, FinishEndsOurDirectionWhenAllIsSent) {
  OpenNarrow();
  const std::string all = Pattern(500'000);
  connection_->Write(all);
  connection_->Finish();
  connection_->Finish();
  connection_->Write("nothing more");
  EXPECT_FALSE(has_heard_end_);
  ExpectThatItComes(all);
  EXPECT_EQ(Hear(), "");
  EXPECT_TRUE(has_heard_end_);
  connection_->Write("nor now");
  Say("still heard");
  EXPECT_TRUE(RunUntil([&] { return heard_ == "still heard"; }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(WirePlainTest, WhatCameWithTheEndIsHeardBeforeIt) {
  OpenPlain();
  Say("last words");
  Hang();
  EXPECT_TRUE(RunUntil([&] { return ends_ == 1; }));
  EXPECT_EQ(heard_, "last words");
  EXPECT_EQ(why_.code, "");
  EXPECT_FALSE(connection_->is_open());
  connection_->Write("nobody hears it");
  RunIdle();
  EXPECT_EQ(ends_, 1);
}

TEST_F(WirePlainTest, AResetHasItsCode) {
  OpenPlain(true);
  Reset();
  EXPECT_TRUE(RunUntil([&] { return ends_ == 1; }));
  EXPECT_EQ(why_.code, "ECONNRESET");
  EXPECT_NE(why_.message, "");
}

TEST_F(WirePlainTest, WhatCameBeforeAResetIsHeard) {
  OpenPlain(true);
  Say("last words");
  Reset();
  EXPECT_TRUE(RunUntil([&] { return ends_ == 1; }));
  EXPECT_EQ(heard_, "last words");
  EXPECT_EQ(why_.code, "ECONNRESET");
}

TEST_F(WirePlainTest, AResetWhilePausedHasItsCodeToo) {
  for (const bool is_writing : {false, true}) {
    OpenPlain(true);
    connection_->Pause(true);
    if (is_writing) connection_->Write(Pattern(20'000'000));
    Say("unread");
    RunIdle();
    Reset();
    RunIdle();
    if (!is_writing) {
      EXPECT_EQ(ends_, 0);
      connection_->Pause(false);
    }
    EXPECT_TRUE(RunUntil([&] { return ends_ == 1; }));
    EXPECT_EQ(why_.code, "ECONNRESET") << is_writing;
    CloseWire();
    opens_ = ends_ = 0;
  }
}

TEST_F(WirePlainTest, AWriteIntoAConnectionThatEndedFailsFromTheLoop) {
  OpenPlain();
  connection_->Pause(true);  // so that the end does not arrive
  Hang();
  connection_->Write("a");
  connection_->Write("b");
  EXPECT_EQ(ends_, 0);
  EXPECT_TRUE(RunUntil([&] { return ends_ == 1; }));
  EXPECT_EQ(why_.code, "EPIPE");
}

TEST_F(WirePlainTest, AFloodLeavesTheLoopToOthers) {
  OpenPlain();
  int turns = 0;
  const std::string flood(65536, 'x');
  // Each read makes room for more of it.
  on_data_ = [&] { send(theirs_, flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT); };
  for (int i = 0; i < 8; ++i) on_data_();
  for (; turns < 5; ++turns) uv_run(&loop_, UV_RUN_NOWAIT);
  EXPECT_EQ(turns, 5);
}

TEST_F(WirePlainTest, MayBeClosedFromEachCallback) {
  for (std::function<void()>* callback : {&on_open_, &on_data_, &on_drained_, &on_end_}) {
    *callback = [this] { CloseWire(); };
    Open(test::LocalPair());
    closed_ = 0;
    if (callback != &on_open_) {
      RunIdle();
      connection_->Write(Pattern(1'000'000));
      far_end_ = [this] { Hear(); };
      Say("data");
    }
    if (callback == &on_end_) {
      RunIdle();
      Hang();
    }
    EXPECT_TRUE(RunUntil([&] { return closed_ == 1; }));
    EXPECT_TRUE(IsClosed());
    far_end_ = *callback = nullptr;
    Hang();
  }
}

TEST_F(WirePlainTest, AfterCloseNothingIsTold) {
  OpenPlain();
  Say("unheard");
  connection_->Write(Pattern(1'000'000));
  CloseWire();
  EXPECT_FALSE(IsClosed()) << "the loop still watches it";
  EXPECT_TRUE(RunUntil([&] { return closed_ == 1; }));
  EXPECT_TRUE(IsClosed());
  EXPECT_EQ(heard_, "");
  EXPECT_EQ(ends_ + drains_, 0);
}

TEST_F(WirePlainTest, WhatCannotBeWaitedForIsStillTheCallers) {
  FILE* const file = tmpfile();
  ASSERT_NE(file, nullptr);
  Connection* connection = nullptr;
  const Status status = Connection::Make(&loop_, fileno(file), nullptr, this, &connection);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error(), 0);
  EXPECT_EQ(connection, nullptr);
  EXPECT_NE(fcntl(fileno(file), F_GETFD), -1);
  fclose(file);

  OpenPlain();
  EXPECT_FALSE(Connection::Make(&loop_, fd_, nullptr, this, &connection).ok())
      << "it is somebody else's";
  connection_->Write("alive");
  EXPECT_EQ(Hear(), "alive");
}

}  // namespace
}  // namespace seganet

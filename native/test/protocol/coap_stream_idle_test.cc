// The memory of streams that are idle.
#include <gtest/gtest.h>

#include <string>

#include "core/protocol/coap/handle_table.h"
#include "test/support/coap_bench.h"
#include "test/support/coap_desk_bench.h"

namespace seganet {
namespace {

using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::DeskBench;
using coap_test::Dotted;
using coap_test::Frame;
using coap_test::Get;
using coap_test::kPostCode;
using coap_test::Observe;
using coap_test::Path;
using coap_test::StreamBench;

constexpr int64_t kSecond = 1'000'000;
// Half of what an idle connection may take in all is left to its socket, agent and device.
constexpr size_t kMostIdleBytes = 1024;

// Lets the session be silent for two seconds.
template <typename Bench>
void Rest(Bench* bench) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(bench->session.OnTime(bench->now_us += kSecond / 4));
}

TEST(CoapStreamIdle, ASessionThatWasUsedIsAsSmallAsANewOne) {
  DeskBench bench;
  const size_t fresh = bench.session.memory_bytes();
  EXPECT_LT(fresh, kMostIdleBytes);
  bench.Feed(Csm());
  bench.session.Identify("dev");
  bench.Feed(Get("t", "a/b"));
  EXPECT_TRUE(bench.session.Answer("t", Dotted(205), {{12, "x"}}, Bytes(800, 'x')));
  bench.Sent();
  bench.Feed(Frame(kPostCode, "u", Path("r/dev/temp"), Bytes(500, 'x')));
  const Bytes split = Get("v", "a/c");
  bench.Feed(split.substr(0, 3));
  bench.Feed(split.substr(3));
  EXPECT_TRUE(bench.session.Answer("v", Dotted(204), {}, ""));
  bench.Sent();
  EXPECT_GT(bench.session.memory_bytes(), fresh + 800);
  Rest(&bench);
  EXPECT_LE(bench.session.memory_bytes(), fresh);
}

TEST(CoapStreamIdle, ABodyInBlocksIsFreedWithItsRequest) {
  DeskBench bench;
  bench.Feed(Csm());
  bench.session.Identify("dev");
  const size_t before = bench.session.memory_bytes();
  for (unsigned i = 0; i < 64; ++i) {
    bench.Feed(
        Frame(kPostCode, "t", Path("a/b", {{27, BlockValue(i, i < 63, 6)}}), Bytes(1024, 'x')));
  }
  EXPECT_EQ(bench.payload.size(), 65'536u);
  EXPECT_TRUE(bench.session.Answer("t", Dotted(204), {}, ""));
  bench.Sent();
  EXPECT_LT(bench.session.memory_bytes(), before + 2048);
}

TEST(CoapStreamIdle, AnIdleSessionKeepsWhatIsOpen) {
  DeskBench bench;
  bench.Feed(Csm());
  bench.session.Identify("dev");
  const Bytes split = Get("w", "a/c");
  bench.Feed(Observe("o", "a/b") + Get("t", "a/b"));
  EXPECT_TRUE(bench.session.Answer("o", Dotted(205), {{6, ""}}, "1"));
  EXPECT_EQ(bench.Feed(split.substr(0, 4)).size(), 1u) << "the first answer of the observation";
  Rest(&bench);
  EXPECT_TRUE(bench.session.Answer("o", Dotted(205), {{6, "\x01"}}, "2"));
  EXPECT_TRUE(bench.session.Answer("t", Dotted(205), {}, "3"));
  EXPECT_EQ(bench.Sent().size(), 2u);
  bench.TakeLog();
  bench.Feed(split.substr(4));
  EXPECT_EQ(bench.TakeLog(), "[1 /a/c ]");
}

TEST(CoapStreamIdle, ARecordThatIsNotSafeIsAnsweredAfterASilence) {
  StreamBench bench;
  bench.answer = {coap::Verdict::kTaken, 1, 0};
  bench.Ask(Csm() + Frame(kPostCode, "t", Path("r/dev/temp"), "1"));
  const uint64_t handle = bench.handles.back();
  Rest(&bench);
  EXPECT_TRUE(bench.session.Acknowledge(handle));
  EXPECT_EQ(bench.TakeSent().at(0).dotted(), 204u);
  Rest(&bench);
  EXPECT_FALSE(bench.session.Acknowledge(handle)) << "a stale handle after the table was freed";
}

TEST(CoapStreamIdle, CommandsWorkAfterASilence) {
  StreamBench bench;
  bench.Ask(Csm() + Observe("o", "cmd/dev"));
  Rest(&bench);
  EXPECT_TRUE(bench.session.listening());
  EXPECT_EQ(bench.session.Command(7, "valve", "open"), coap::CommandStart::kSent);
}

TEST(CoapStreamIdle, AFreedTableNeverUsesAHandleAgain) {
  coap::HandleTable<int> table;
  const uint64_t first = table.Add(1);
  table.ReleaseIfEmpty();
  ASSERT_NE(table.Find(first), nullptr) << "it is not empty";
  table.Erase(first);
  table.ReleaseIfEmpty();
  EXPECT_EQ(table.memory_bytes(), 0u);
  const uint64_t second = table.Add(2);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_EQ(*table.Find(second), 2);
}

}  // namespace
}  // namespace seganet

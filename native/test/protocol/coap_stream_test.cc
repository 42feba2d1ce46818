// One device's connection over TCP (RFC 8323): records, commands, signals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/protocol/coap/stream/stream_peek.h"
#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::CommandStart;
using coap::Limits;
using coap::Settings;
using coap::Verdict;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::Frame;
using coap_test::kAbortCode;
using coap_test::kCsmCode;
using coap_test::kGetCode;
using coap_test::kPingCode;
using coap_test::kPongCode;
using coap_test::kPostCode;
using coap_test::kReleaseCode;
using coap_test::Lit;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;
using coap_test::Span;
using coap_test::StreamBench;
using coap_test::Uint;

Bytes Post(std::string_view token, std::string_view payload, const Options& more = {}) {
  return Frame(kPostCode, token, Path("r/dev/temp", more), payload);
}

Bytes ObserveWith(std::string_view token, std::string_view path, const Bytes& value = "",
                  const Options& more = {}) {
  Options options{{6, value}};
  for (const auto& option : Path(path, more)) options.push_back(option);
  return Frame(kGetCode, token, options);
}

TEST(CoapStream, TheGreetingAnnouncesOurLimitAndBlocks) {
  Settings settings;
  settings.max_stream_message_bytes = 65536;
  EXPECT_EQ(coap::InitialBytes(settings), Lit("\x50\xe1\x23\x01\x00\x00\x20"));
}

TEST(CoapStream, RecordsAreAnsweredByTheirTokensInTheOrderOfSafety) {
  StreamBench bench;
  bench.answer.copies = 1;
  EXPECT_TRUE(bench.Ask(Csm() + Post("a", "1") + Post("b", "2", {{15, "c=high"}})).empty());
  EXPECT_EQ(bench.TakeLog(), "[dev r/dev/temp 0 con 1][dev r/dev/temp 2 con 2]");
  EXPECT_TRUE(bench.session.Acknowledge(bench.handles[1]));
  EXPECT_TRUE(bench.session.Acknowledge(bench.handles[0]));
  EXPECT_FALSE(bench.session.Acknowledge(bench.handles[0]));
  const auto sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].token, "b");
  EXPECT_EQ(sent[1].token, "a");
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(bench.session.unacknowledged(), 0u);
}

TEST(CoapStream, VerdictsAndNoResponseAreAsOverUdp) {
  StreamBench bench;
  bench.Ask(Csm());
  EXPECT_TRUE(bench.Ask(Post("t", "x", {{258, "\x02"}})).empty());
  EXPECT_EQ(bench.handles.back(), 0u);
  bench.answer = {Verdict::kTooFast, 0, 7};
  const auto sent = bench.Ask(Post("t", "x"));
  EXPECT_EQ(sent.at(0).dotted(), 429u);
  EXPECT_EQ(sent[0].Number(14), 7u);
  EXPECT_TRUE(bench.Ask(Post("t", "x", {{258, "\x08"}})).empty());
}

TEST(CoapStream, RequestsOfAnotherDeviceAreForbidden) {
  StreamBench bench;
  const auto sent = bench.Ask(Csm() + Frame(kPostCode, "t", Path("r/other"), "x"));
  EXPECT_EQ(sent.at(0).dotted(), 403u);
  EXPECT_EQ(bench.Ask(ObserveWith("t", "cmd/other")).at(0).dotted(), 403u);
  EXPECT_EQ(bench.TakeLog(), "");
  EXPECT_EQ(bench.reason, CloseReason::kNone);
}

TEST(CoapStream, ALargeMessageIsOneRecord) {
  StreamBench bench;
  const Bytes body(200'000, 'x');
  EXPECT_EQ(bench.Ask(Csm() + Post("t", body)).at(0).dotted(), 204u);
  EXPECT_EQ(bench.payload, body);
  EXPECT_LT(bench.session.memory_bytes(), 10'000u);
}

// RFC 8323 6.
TEST(CoapStream, ABodyMayComeInSeveralBlocksAMessage) {
  StreamBench bench;
  bench.Ask(Csm());
  Bytes body(100'000, '\0');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 >> 3);
  const size_t size = 4096;
  std::vector<Read> sent;
  for (size_t at = 0; at < body.size(); at += size) {
    const bool more = at + size < body.size();
    sent = bench.Ask(Post("t", body.substr(at, size),
                          {{27, BlockValue(static_cast<unsigned>(at / 1024), more, 7)}}));
    EXPECT_EQ(sent.at(0).dotted(), more ? 231u : 204u);
  }
  EXPECT_EQ(bench.payload, body);
  EXPECT_EQ(bench.handles.size(), 1u);
}

TEST(CoapStream, DiscoveryIsAnswered) {
  StreamBench bench;
  const auto sent = bench.Ask(Csm() + Frame(kGetCode, "t", Path(".well-known/core")));
  EXPECT_EQ(sent.at(0).payload, "</r>;rt=\"seganet.records\",</cmd>;rt=\"seganet.commands\";obs");
}

TEST(CoapStream, ACommandIsANotificationAndAPingWhosePongTakesIt) {
  StreamBench bench;
  auto sent = bench.Ask(Csm() + ObserveWith("obs", "cmd/dev"));
  EXPECT_EQ(sent.at(0).dotted(), 205u);
  EXPECT_TRUE(sent[0].Has(6));
  EXPECT_EQ(sent[0].payload, "");
  EXPECT_EQ(bench.TakeLog(), "[dev observes]");
  ASSERT_EQ(bench.session.Command(1, "cmd/dev/led", "on"), CommandStart::kSent);
  ASSERT_EQ(bench.session.Command(2, "cmd/dev/led", "off"), CommandStart::kSent);
  sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0].token, "obs");
  EXPECT_EQ(sent[0].payload, "on");
  EXPECT_EQ(sent[0].Text(8), "cmd");
  EXPECT_EQ(sent[1].code, kPingCode);
  EXPECT_TRUE(sent[1].Has(2));  // custody
  EXPECT_NE(sent[1].token, sent[3].token);
  bench.Ask(Frame(kPongCode, "else"));
  EXPECT_EQ(bench.TakeLog(), "");
  bench.Ask(Frame(kPongCode, sent[1].token));
  EXPECT_EQ(bench.TakeLog(), "[command 1 0]");
  bench.Ask(Frame(kPongCode, sent[1].token) + Frame(kPongCode, sent[3].token));
  EXPECT_EQ(bench.TakeLog(), "[command 2 0]");
}

TEST(CoapStream, APongWithoutATokenIsOfTheOldestPing) {
  StreamBench bench;
  bench.Ask(Csm() + ObserveWith("t", "cmd/dev"));
  bench.TakeLog();
  EXPECT_TRUE(bench.session.OnTime(0));
  EXPECT_TRUE(bench.session.OnTime(120'000'000));  // the Ping of an idle connection
  bench.session.Command(1, "cmd/dev", "x");
  bench.session.Command(2, "cmd/dev", "y");
  bench.Ask(Frame(kPongCode));
  EXPECT_EQ(bench.TakeLog(), "");
  bench.Ask(Frame(kPongCode));
  EXPECT_EQ(bench.TakeLog(), "[command 1 0]");
  bench.Ask(Frame(kPongCode) + Frame(kPongCode));
  EXPECT_EQ(bench.TakeLog(), "[command 2 0]");
}

TEST(CoapStream, CommandsInFlightAreBoundedAndGivenUp) {
  Limits limits;
  limits.max_commands_in_flight = 2;
  limits.idle_ping_s = 0;
  StreamBench bench({}, limits);
  EXPECT_EQ(bench.session.Command(1, "cmd/dev", "x"), CommandStart::kNotListening);
  bench.Ask(Csm() + ObserveWith("t", "cmd/dev"));
  bench.TakeLog();
  EXPECT_EQ(bench.session.Command(1, "cmd/dev", "x"), CommandStart::kSent);
  EXPECT_EQ(bench.session.Command(2, "cmd/dev", "x"), CommandStart::kSent);
  EXPECT_EQ(bench.session.Command(3, "cmd/dev", "x"), CommandStart::kBusy);
  EXPECT_TRUE(bench.session.OnTime(1'000'000));
  EXPECT_TRUE(bench.session.OnTime(93'000'000));
  EXPECT_EQ(bench.TakeLog(), "");
  EXPECT_TRUE(bench.session.OnTime(94'000'000));
  EXPECT_EQ(bench.TakeLog(), "[command 1 1][command 2 1]");
}

TEST(CoapStream, ADeregistrationEndsTheObservation) {
  StreamBench bench;
  bench.Ask(Csm() + ObserveWith("t", "cmd/dev") + ObserveWith("u", "cmd/dev/led"));
  bench.TakeLog();
  bench.Ask(ObserveWith("t", "cmd/dev", "\x01"));
  EXPECT_EQ(bench.TakeLog(), "");
  EXPECT_TRUE(bench.session.listening());
  bench.Ask(ObserveWith("u", "cmd/dev/led", "\x01"));
  EXPECT_EQ(bench.TakeLog(), "[dev left]");
  EXPECT_FALSE(bench.session.listening());
}

TEST(CoapStream, ACommandOverTheDevicesMessageSizeGoesInBlocks) {
  const Bytes body(5000, 'x');
  const Bytes small = Frame(kCsmCode, "", {{2, Uint(600)}, {4, ""}});
  StreamBench bench;
  bench.Ask(small + ObserveWith("t", "cmd/dev"));
  bench.TakeLog();
  ASSERT_EQ(bench.session.Command(1, "cmd/dev", body), CommandStart::kSent);
  const size_t before = bench.output.size();
  auto sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 1u);  // no Ping: the last block takes it
  EXPECT_LE(bench.output.size() - before, 600u);
  EXPECT_EQ(bench.session.Command(2, "cmd/dev", "y"), CommandStart::kBusy);
  Bytes got = sent[0].payload;
  unsigned value = sent[0].Number(23);
  while ((value & 8) != 0) {
    EXPECT_EQ(bench.TakeLog(), "");
    sent = bench.Ask(Frame(
        kGetCode, "n", Path("cmd/dev", {{23, BlockValue((value >> 4) + 1, false, value & 7)}})));
    ASSERT_EQ(sent.at(0).dotted(), 205u);
    got += sent[0].payload;
    value = sent[0].Number(23);
  }
  EXPECT_EQ(got, body);
  EXPECT_EQ(bench.TakeLog(), "[command 1 0]");

  StreamBench without_blocks;
  without_blocks.Ask(Frame(kCsmCode, "", {{2, Uint(600)}}) + ObserveWith("t", "cmd/dev"));
  EXPECT_EQ(without_blocks.session.Command(1, "cmd/dev", body), CommandStart::kTooLarge);
}

TEST(CoapStream, APingIsAnsweredAndCustodyOnlyWhenNothingWaits) {
  StreamBench bench;
  bench.answer.copies = 1;
  const Bytes ping = Frame(kPingCode, "p", {{2, ""}});
  auto sent = bench.Ask(Csm() + ping);
  EXPECT_EQ(sent.at(0).code, kPongCode);
  EXPECT_EQ(sent[0].token, "p");
  EXPECT_TRUE(sent[0].Has(2));
  sent = bench.Ask(Post("t", "x") + ping);
  EXPECT_FALSE(sent.at(0).Has(2));
  EXPECT_FALSE(bench.Ask(Frame(kPingCode, "p")).at(0).Has(2));
}

TEST(CoapStream, ReleaseEndsItWhenAllRequestsAreAnswered) {
  StreamBench at_once;
  at_once.Ask(Csm() + Frame(kReleaseCode));
  EXPECT_EQ(at_once.reason, CloseReason::kDisconnected);

  StreamBench bench;
  bench.answer.copies = 1;
  bench.Ask(Csm() + Post("t", "x") + Frame(kReleaseCode) + Post("u", "y"));
  EXPECT_EQ(bench.reason, CloseReason::kNone);
  EXPECT_EQ(bench.handles.size(), 1u);
  EXPECT_TRUE(bench.session.Acknowledge(bench.handles[0]));
  EXPECT_EQ(bench.TakeSent().at(0).dotted(), 204u);
  EXPECT_EQ(bench.session.close_reason(), CloseReason::kDisconnected);
}

TEST(CoapStream, OurReleaseRefusesLaterRequests) {
  StreamBench bench;
  bench.Ask(Csm());
  bench.session.Release();
  EXPECT_EQ(bench.TakeSent().at(0).code, kReleaseCode);
  EXPECT_EQ(bench.Ask(Post("t", "x")).at(0).dotted(), 503u);
}

TEST(CoapStream, ASilentDeviceIsPingedAndThenGivenUp) {
  StreamBench bench;
  bench.Ask(Csm());
  EXPECT_TRUE(bench.session.OnTime(0));
  EXPECT_TRUE(bench.session.OnTime(119'000'000));
  EXPECT_TRUE(bench.TakeSent().empty());
  EXPECT_TRUE(bench.session.OnTime(120'000'000));
  EXPECT_TRUE(bench.session.OnTime(121'000'000));
  auto sent = bench.TakeSent();
  ASSERT_EQ(sent.size(), 1u);
  bench.Ask(Frame(kPongCode, sent[0].token));
  EXPECT_TRUE(bench.session.OnTime(122'000'000));
  EXPECT_TRUE(bench.session.OnTime(242'000'000));
  EXPECT_EQ(bench.TakeSent().at(0).code, kPingCode);
  EXPECT_FALSE(bench.session.OnTime(362'000'000));
}

TEST(CoapStream, TooManyRecordsOrTooMuchOutputPauseTheReading) {
  Limits limits;
  limits.max_stream_unacknowledged = 2;
  limits.max_output_bytes = 20;
  StreamBench bench({}, limits);
  bench.answer.copies = 1;
  bench.Ask(Csm() + Post("a", "1"));
  EXPECT_FALSE(bench.session.WantsPause());
  bench.Ask(Post("b", "2"));
  EXPECT_TRUE(bench.session.WantsPause());
  EXPECT_TRUE(bench.session.Acknowledge(bench.handles[0]));
  EXPECT_FALSE(bench.session.WantsPause());
  for (int i = 0; i < 10; ++i) (void)bench.session.Feed(Span(Frame(kPingCode, "p")));
  EXPECT_TRUE(bench.session.WantsPause());
  bench.TakeSent();
  EXPECT_FALSE(bench.session.WantsPause());
}

TEST(CoapStream, BadInputAbortsTheConnectionOrIsRefused) {
  Settings settings;
  settings.max_stream_message_bytes = 1000;
  settings.max_body_bytes = 2048;
  struct {
    const char* what;
    Bytes bytes;
    CloseReason reason;
    unsigned code;  // of the last answer
  } const cases[] = {
      {"a request without CSM", Post("t", "x"), CloseReason::kCoapSignal, 705},
      {"a Ping without CSM", Frame(kPingCode), CloseReason::kCoapSignal, 705},
      {"an Empty message without CSM", Frame(0), CloseReason::kCoapSignal, 705},
      {"HTTP", "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n", CloseReason::kCoapSignal, 705},
      {"TLS", Lit("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), CloseReason::kCoapSignal, 705},
      {"a critical option in CSM", Frame(kCsmCode, "", {{3, "x"}}), CloseReason::kCoapSignal, 705},
      {"a critical option in Ping", Csm() + Frame(kPingCode, "", {{1, ""}}),
       CloseReason::kCoapSignal, 705},
      {"a critical option in Release", Csm() + Frame(kReleaseCode, "", {{7, ""}}),
       CloseReason::kCoapSignal, 705},
      {"a token of 9 bytes", Csm() + Lit("\x09\x02") + "123456789", CloseReason::kCoapMalformed,
       705},
      {"a length of 4 GB", Csm() + Lit("\xf0\xff\xff\xff\xff"), CloseReason::kTooLarge, 705},
      {"a byte over the limit", Csm() + Lit("\xe0\x02\xd8\x02"), CloseReason::kTooLarge, 705},
      {"options cut", Csm() + Lit("\x20\x02\xb9r"), CloseReason::kCoapMalformed, 705},
      {"a reserved delta", Csm() + Lit("\x10\x02\xf0"), CloseReason::kCoapMalformed, 705},
      {"a marker without payload", Csm() + Lit("\x10\x02\xff"), CloseReason::kCoapMalformed, 705},
      {"a reserved class", Csm() + Frame(0x21), CloseReason::kCoapMalformed, 705},
      {"Abort", Csm() + Frame(kAbortCode, "", {}, "why"), CloseReason::kCoapAborted, 0},
      {"Abort with a critical option", Csm() + Frame(kAbortCode, "", {{9, ""}}),
       CloseReason::kCoapSignal, 705},
      {"a response", Csm() + Frame(0x45, "t", {}, "x"), CloseReason::kNone, 0},
      {"an Empty message", Csm() + Frame(0), CloseReason::kNone, 0},
      {"a signal of the future", Csm() + Frame(0xE9), CloseReason::kNone, 0},
      {"an elective option in CSM", Frame(kCsmCode, "", {{6, "x"}}), CloseReason::kNone, 0},
      {"a second CSM", Csm() + Csm(), CloseReason::kNone, 0},
      {"a critical option", Csm() + Post("t", "x", {{21, ""}}), CloseReason::kNone, 402},
      {"no such resource", Csm() + Frame(kPostCode, "t", Path("x")), CloseReason::kNone, 404},
      {"DELETE", Csm() + Frame(4, "t", Path("r/dev")), CloseReason::kNone, 405},
      {"a block without the first", Csm() + Post("t", "x", {{27, "\x16"}}), CloseReason::kNone,
       408},
      {"blocks that are no multiple", Csm() + Post("t", Bytes(700, 'x'), {{27, "\x0f"}}),
       CloseReason::kNone, 400},
      {"a body that claims too much", Csm() + Post("t", "x", {{27, "\x08"}, {60, "\x08\x01"}}),
       CloseReason::kNone, 413},
  };
  for (const auto& c : cases) {
    StreamBench bench(settings);
    const auto sent = bench.Ask(c.bytes);
    EXPECT_EQ(bench.reason, c.reason) << c.what << " " << Name(bench.reason);
    EXPECT_EQ(bench.TakeLog(), "") << c.what;
    EXPECT_EQ(sent.empty() ? 0 : sent.back().dotted(), c.code) << c.what;
    if (c.reason != CloseReason::kNone) {
      bench.Ask(Csm() + Post("t", "x"));
      EXPECT_EQ(bench.reason, c.reason) << c.what;  // it stays, and takes no more
      EXPECT_EQ(bench.TakeLog(), "") << c.what;
    }
  }
}

TEST(CoapStream, TheResultDoesNotDependOnHowTheBytesWereCut) {
  Bytes stream =
      Csm() + Post("a", "21.5") + Frame(kPingCode, "p", {{2, ""}}) + ObserveWith("o", "cmd/dev") +
      Frame(0) + Frame(kGetCode, "w", Path(".well-known/core")) + Post("b", Bytes(300, 'x')) +
      Post("c", Bytes(16, 'y'), {{27, "\x08"}}) + Post("d", "z", {{27, "\x10"}}) +
      Frame(kPostCode, "e", Path("x")) + ObserveWith("o", "cmd/dev", "\x01") + Frame(kReleaseCode);
  StreamBench whole;
  whole.Ask(stream);
  EXPECT_EQ(whole.reason, CloseReason::kDisconnected);
  EXPECT_EQ(whole.handles.size(), 3u);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    StreamBench split;
    split.Ask(stream.substr(0, cut));
    split.Ask(stream.substr(cut));
    ASSERT_EQ(split.log, whole.log) << cut;
    ASSERT_EQ(split.output, whole.output) << cut;
    ASSERT_EQ(split.reason, whole.reason) << cut;
  }
  StreamBench bytes;
  for (const char byte : stream) bytes.Ask({&byte, 1});
  EXPECT_EQ(bytes.log, whole.log);
  EXPECT_EQ(bytes.output, whole.output);
}

TEST(CoapStream, MemoryGrowsWithArrivedBytesNotWithClaimedOnes) {
  StreamBench bench;
  bench.Ask(Csm() + Lit("\xf0\x00\x02\x00\x00\x02"));
  EXPECT_LT(bench.session.buffered_bytes(), 64u);
  bench.Ask(Bytes(5000, 'x'));
  EXPECT_LT(bench.session.buffered_bytes(), 11'000u);
}

TEST(CoapStream, AnUploadThatIsUnderWayWhenTheConnectionIsNewContinues) {
  StreamBench bench;
  bench.Ask(Csm());
  const auto block = [](unsigned number, bool more) {
    return Frame(kPostCode, "t", Path("r/dev/temp", {{27, BlockValue(number, more, 0)}}),
                 Bytes(16, 'x'));
  };
  EXPECT_EQ(bench.Ask(block(0, true)).at(0).dotted(), 231u);
  EXPECT_TRUE(bench.session.OnTime(bench.now_us + 250'000));
  EXPECT_EQ(bench.Ask(block(1, false)).at(0).dotted(), 204u);
}

TEST(CoapStream, CommandsToADeviceThatDoesNotReadAreBounded) {
  Limits limits;
  limits.max_output_bytes = 1000;
  StreamBench bench({}, limits);
  bench.Ask(Csm() + Frame(kGetCode, "w", {{6, ""}, {11, "cmd"}, {11, "dev"}}));
  uint64_t id = 0;
  while (bench.session.Command(++id, "cmd/dev/a", Bytes(100, 'x')) == CommandStart::kSent) {
    ASSERT_LT(id, 100u);
  }
  EXPECT_LE(bench.session.output().size(), 1000u);
  EXPECT_EQ(bench.session.Command(++id, "cmd/dev/a", "x"), CommandStart::kSent) << "it still fits";
  bench.TakeSent();
  EXPECT_EQ(bench.session.Command(++id, "cmd/dev/a", Bytes(900, 'x')), CommandStart::kSent);
}

}  // namespace
}  // namespace seganet

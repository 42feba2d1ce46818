// Requests of the peer for a desk, over one stream.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/support/coap_desk_bench.h"

namespace seganet {
namespace {

using coap::StreamOptions;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::DeskBench;
using coap_test::DeskStreamOptions;
using coap_test::Dotted;
using coap_test::Frame;
using coap_test::Get;
using coap_test::kPostCode;
using coap_test::Lit;
using coap_test::Observe;
using coap_test::Options;
using coap_test::Path;
using coap_test::Span;
using coap_test::Uint;

TEST(CoapDeskRequests, RequestsUnderAPrefixGoToTheDeskWhole) {
  DeskBench bench;
  const Options more{{12, Uint(10000)}, {15, "if=a"}, {15, "b"}, {17, ""}, {2049, Uint(2048)}};
  EXPECT_TRUE(bench.Feed(Frame(kPostCode, "t", Path("oic/sec/session", more), "body")).empty());
  EXPECT_EQ(bench.TakeLog(), Bytes("[2 /oic/sec/session?if=a?b 12=") + Uint(10000) +
                                 " 17= 2049=" + Uint(2048) + " body]");
  EXPECT_EQ(bench.session.asked(), 1u);
  EXPECT_TRUE(bench.session.Answer("t", Dotted(204), {{2053, "x"}, {12, "y"}}, "done"));
  const auto sent = bench.Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].good);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(sent[0].token, "t");
  EXPECT_EQ(sent[0].options, (Options{{12, "y"}, {2053, "x"}}));
  EXPECT_EQ(sent[0].payload, "done");
  EXPECT_FALSE(bench.session.Answer("t", Dotted(204), {}, "")) << "answered already";
  EXPECT_EQ(bench.session.asked(), 0u);
}

TEST(CoapDeskRequests, WithoutADeviceOtherRequestsGet401AndTheConnectionStays) {
  DeskBench bench;
  for (const char* path : {"r/dev/temp", "cmd/dev", "oic/res", "oic", "oic/secret", "ab"}) {
    const auto sent = bench.Feed(Get("t", path));
    ASSERT_EQ(sent.size(), 1u) << path;
    EXPECT_EQ(sent[0].dotted(), 401u) << path;
  }
  EXPECT_EQ(bench.Feed(Get("t", ".well-known/core")).at(0).dotted(), 205u);
  EXPECT_EQ(bench.reason, CloseReason::kNone);
  bench.session.Identify("dev");
  EXPECT_EQ(bench.Feed(Frame(kPostCode, "t", Path("r/dev/temp"), "1")).at(0).dotted(), 204u);
  EXPECT_EQ(bench.TakeLog(), "[record r/dev/temp]");
  bench.session.Forget();
  EXPECT_EQ(bench.Feed(Frame(kPostCode, "t", Path("r/dev/temp"), "1")).at(0).dotted(), 401u);
}

TEST(CoapDeskRequests, AMissingCsmClosesUnlessItIsOptional) {
  StreamOptions strict = DeskStreamOptions();
  strict.csm_optional = false;
  DeskBench bench(strict);
  bench.Feed(Get("t", "a"));
  EXPECT_EQ(bench.reason, CloseReason::kCoapSignal);
}

TEST(CoapDeskRequests, UnknownCriticalOptionsAreRefusedAndKnownOnesPass) {
  DeskBench bench;
  EXPECT_EQ(bench.Feed(Get("t", "a", {{2051, "x"}})).at(0).dotted(), 402u);
  EXPECT_EQ(bench.Feed(Get("t", "a", {{23, "abcd"}})).at(0).dotted(), 402u);
  EXPECT_EQ(bench.Feed(Get("t", "a", {{35, "coap://x"}})).at(0).dotted(), 505u);
  EXPECT_EQ(bench.Feed(Get("t", "a/..")).at(0).dotted(), 400u);
  EXPECT_EQ(bench.Feed(Get("t", Lit("a/\0x"))).at(0).dotted(), 400u);
  EXPECT_EQ(bench.Feed(Get("t", "a/\xFF")).at(0).dotted(), 400u);
  EXPECT_EQ(bench.Feed(Frame(8, "t", Path("a"))).at(0).dotted(), 405u);
  EXPECT_EQ(bench.TakeLog(), "");
  EXPECT_TRUE(bench.Feed(Get("t", "a", {{2053, "x"}, {65000, "y"}})).empty());
  EXPECT_EQ(bench.TakeLog(), "[1 /a 2053=x 65000=y ]");
  EXPECT_EQ(bench.reason, CloseReason::kNone);
}

TEST(CoapDeskRequests, RequestsBeyondTheLimitGet503WithMaxAge) {
  StreamOptions options = DeskStreamOptions();
  options.max_asked_before = 2;
  options.max_asked = 3;
  DeskBench bench(options);
  bench.Feed(Get("1", "a") + Get("2", "a"));
  const auto refused = bench.Feed(Get("3", "a"));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].dotted(), 503u);
  EXPECT_EQ(refused[0].Number(14), 1u);
  bench.session.Identify("dev");
  EXPECT_TRUE(bench.Feed(Get("3", "a")).empty());
  EXPECT_EQ(bench.Feed(Get("4", "a")).at(0).dotted(), 503u);
  EXPECT_EQ(bench.Feed(Get("1", "a")).at(0).dotted(), 400u) << "the token is in use";
  bench.session.Answer("1", Dotted(205), {}, "");
  bench.Sent();
  bench.taker = coap::Taker::kNone;
  EXPECT_EQ(bench.Feed(Get("5", "a")).at(0).dotted(), 503u) << "the desk is full";
  EXPECT_EQ(bench.session.asked(), 2u);
}

TEST(CoapDeskRequests, TooManyBytesWithoutADeviceCloseTheConnection) {
  DeskBench bench;
  bench.Feed(Frame(kPostCode, "t", Path("a"), Bytes(8000, 'x')));
  EXPECT_EQ(bench.reason, CloseReason::kNone);
  bench.Feed(Bytes(300, '\0'));
  EXPECT_EQ(bench.reason, CloseReason::kTooLarge);
  DeskBench known;
  known.session.Identify("dev");
  known.Feed(Frame(kPostCode, "t", Path("a"), Bytes(20000, 'x')));
  EXPECT_EQ(known.reason, CloseReason::kNone);
  EXPECT_EQ(known.payload.size(), 20000u);
}

TEST(CoapDeskRequests, ObservationsEndWithAnErrorOrAnAnswerWithoutObserve) {
  DeskBench bench;
  bench.Feed(Csm() + Observe("o", "a/x"));
  EXPECT_EQ(bench.TakeLog(), "[1 /a/x 6= ]");
  EXPECT_TRUE(bench.session.Answer("o", Dotted(205), {{6, "\x01"}}, "1"));
  EXPECT_TRUE(bench.session.Answer("o", Dotted(205), {{6, "\x02"}}, "2"));
  auto sent = bench.Sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].payload, "2");
  EXPECT_EQ(sent[1].Number(6), 2u);
  EXPECT_EQ(bench.session.asked(), 0u);
  // RFC 7641 3.6: the deregistration has the same token.
  bench.Feed(Observe("o", "a/x", "\x01"));
  EXPECT_EQ(bench.TakeLog(), "[1 /a/x 6=\x01 ]");
  EXPECT_TRUE(bench.session.Answer("o", Dotted(205), {{6, "\x03"}}, "3"));
  sent = bench.Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(sent[0].Has(6));
  EXPECT_FALSE(bench.session.Answer("o", Dotted(205), {{6, ""}}, "4"));
  bench.Feed(Observe("p", "a/x"));
  bench.session.Answer("p", Dotted(404), {}, "");
  EXPECT_FALSE(bench.session.Answer("p", Dotted(205), {{6, ""}}, "4"));
}

TEST(CoapDeskRequests, ObservationsBeyondTheLimitAreAnsweredWithoutObserve) {
  StreamOptions options = DeskStreamOptions();
  options.max_relations = 1;
  DeskBench bench(options);
  bench.Feed(Observe("1", "a") + Observe("2", "a"));
  bench.session.Answer("1", Dotted(205), {{6, ""}}, "x");
  bench.session.Answer("2", Dotted(205), {{6, ""}}, "x");
  const auto sent = bench.Sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(sent[0].Has(6));
  EXPECT_FALSE(sent[1].Has(6));
  EXPECT_FALSE(bench.session.Answer("2", Dotted(205), {{6, ""}}, "y"));
}

TEST(CoapDeskRequests, APeerThatDoesNotReadItsNotificationsIsClosed) {
  DeskBench bench;
  bench.Feed(Observe("o", "a"));
  bool open = true;
  int n = 0;
  while (open && n < 100) {
    open = bench.session.Answer("o", Dotted(205), {{6, ""}}, Bytes(100'000, 'x'));
    ++n;
  }
  EXPECT_EQ(n, 12);
  EXPECT_EQ(bench.session.close_reason(), CloseReason::kUnread);
}

// RFC 8323 6: several blocks of 1,024 bytes in a message, within the peer's Max-Message-Size.
TEST(CoapDeskRequests, LargeAnswersGoInBlocksWithinThePeersMessageSize) {
  Bytes body;
  for (size_t i = 0; body.size() < 100'000; ++i) body += std::to_string(i) + " ";
  for (const unsigned most : {2000u, 4096u, 70'000u}) {
    DeskBench bench;
    bench.Feed(Frame(0xE1, "", {{2, Uint(most)}, {4, ""}}));
    bench.Feed(Get("t", "a/large"));
    bench.session.Answer("t", Dotted(205), {{4, "tag"}}, body);
    Bytes got;
    for (unsigned i = 0; i < 200; ++i) {
      const Bytes output(bench.session.output());
      EXPECT_LE(output.size(), most);
      const auto sent = bench.Sent();
      ASSERT_EQ(sent.size(), 1u);
      got += sent[0].payload;
      const unsigned block = sent[0].Number(23);
      ASSERT_EQ(sent[0].Text(4), "tag");
      if ((block & 8) == 0) break;
      ASSERT_EQ(block & 7, most > 2048 ? 7u : 6u) << "BERT if two blocks fit";
      const Bytes next =
          Get("t" + std::to_string(i), "a/large",
              {{23, BlockValue(static_cast<unsigned>(got.size() / 1024), false, 7)}});
      ASSERT_EQ(bench.session.Feed(Span(next)), CloseReason::kNone);
    }
    EXPECT_EQ(got, body);
    EXPECT_EQ(bench.TakeLog(), "[1 /a/large ]") << "the later blocks come from the session";
  }
}

TEST(CoapDeskRequests, BlocksHaveTheRequestedSize) {
  DeskBench bench;
  bench.Feed(Csm() + Get("t", "a", {{23, BlockValue(0, false, 2)}}));
  bench.session.Answer("t", Dotted(205), {}, Bytes(100, 'x'));
  EXPECT_EQ(bench.Sent().at(0).payload.size(), 64u);
  const auto second = bench.Feed(Get("u", "a", {{23, BlockValue(1, false, 2)}}));
  EXPECT_EQ(second.at(0).payload.size(), 36u);
  EXPECT_EQ(second[0].Text(23), BlockValue(1, false, 2));
  // A block of a body that is not kept: the desk answers whole, and the session cuts.
  bench.TakeLog();
  bench.Feed(Get("v", "a/other", {{23, BlockValue(1, false, 2)}}));
  EXPECT_EQ(bench.TakeLog(), "[1 /a/other ]");
  bench.session.Answer("v", Dotted(205), {}, Bytes(100, 'y'));
  EXPECT_EQ(bench.Sent().at(0).payload.size(), 36u);
}

TEST(CoapDeskRequests, UploadsInBlocksReachTheDeskWhole) {
  DeskBench bench;
  bench.session.Identify("dev");
  bench.Feed(Csm());
  const auto block = [](unsigned n, bool more) {
    return Frame(kPostCode, "t", Path("a", {{27, BlockValue(n, more, 6)}}),
                 Bytes(more ? 1024 : 100, 'x'));
  };
  EXPECT_EQ(bench.Feed(block(0, true)).at(0).dotted(), 231u);
  EXPECT_EQ(bench.Feed(block(1, true)).at(0).dotted(), 231u);
  EXPECT_TRUE(bench.Feed(block(2, false)).empty());
  EXPECT_EQ(bench.payload.size(), 2148u);
  bench.session.Answer("t", Dotted(204), {}, "");
  EXPECT_EQ(bench.Sent().at(0).Text(27), BlockValue(2, false, 6));
  EXPECT_EQ(bench.Feed(block(2, false)).at(0).dotted(), 408u);
}

TEST(CoapDeskRequests, TheOwnerAnswersTheRequestsThatItTook) {
  DeskBench bench;
  bench.taker = coap::Taker::kOwner;
  EXPECT_TRUE(bench.Feed(Get("t", "a")).empty());
  const uint64_t id = bench.asked_id;
  EXPECT_EQ(bench.session.asked(), 0u);
  EXPECT_EQ(bench.session.unsettled(), 0u);
  EXPECT_FALSE(bench.session.Answer("t", Dotted(205), {}, "of the desk"));
  EXPECT_FALSE(bench.session.AnswerOwn("t", id + 1, Dotted(205), {}, "of another request"));
  EXPECT_EQ(bench.Feed(Get("t", "a")).at(0).dotted(), 400u) << "the token is in use";
  EXPECT_TRUE(bench.session.AnswerOwn("t", id, Dotted(205), {{12, "f"}}, "own"));
  const auto sent = bench.Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].token, "t");
  EXPECT_EQ(sent[0].payload, "own");
  EXPECT_FALSE(bench.session.AnswerOwn("t", id, Dotted(205), {}, "again"));
}

TEST(CoapDeskRequests, ARequestThatTheOwnerTookMayGoToTheDesk) {
  DeskBench bench;
  bench.taker = coap::Taker::kOwner;
  bench.Feed(Get("t", "a"));
  EXPECT_FALSE(bench.session.PassToDesk("u", bench.asked_id));
  EXPECT_TRUE(bench.session.PassToDesk("t", bench.asked_id));
  EXPECT_EQ(bench.session.asked(), 1u);
  EXPECT_EQ(bench.session.unsettled(), 1u);
  bench.session.Settle("t");
  bench.session.Settle("t");
  EXPECT_EQ(bench.session.unsettled(), 0u);
  EXPECT_TRUE(bench.session.Answer("t", Dotted(205), {}, "of the desk"));
  EXPECT_EQ(bench.session.asked(), 0u);
  EXPECT_EQ(bench.Sent().at(0).payload, "of the desk");
}

TEST(CoapDeskRequests, OwnRequestsCountAndEndWith503) {
  StreamOptions options = DeskStreamOptions();
  options.max_asked_before = 2;
  DeskBench bench(options);
  bench.Feed(Get("d", "a"));
  bench.taker = coap::Taker::kOwner;
  bench.Feed(Get("o", "a"));
  EXPECT_EQ(bench.session.unsettled(), 1u);
  EXPECT_EQ(bench.Feed(Get("x", "a")).at(0).dotted(), 503u);
  bench.session.EndOwn();
  const auto ended = bench.Sent();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].token, "o");
  EXPECT_EQ(ended[0].dotted(), 503u);
  EXPECT_EQ(bench.session.asked(), 1u);
}

TEST(CoapDeskRequests, ARequestWithTheTokenOfAnObservationIsMarked) {
  DeskBench bench;
  bench.Feed(Observe("t", "a"));
  EXPECT_FALSE(bench.reuses_token);
  EXPECT_TRUE(bench.session.Answer("t", Dotted(205), {{6, "\x01"}}, "1"));
  bench.Feed(Get("t", "a"));
  EXPECT_TRUE(bench.reuses_token);
  EXPECT_TRUE(bench.session.Answer("t", Dotted(205), {}, "2"));
  bench.Feed(Get("t", "a"));
  EXPECT_FALSE(bench.reuses_token);
}

}  // namespace
}  // namespace seganet

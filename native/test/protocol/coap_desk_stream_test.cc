// Requests for a desk, and requests to the device, over one stream.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::AskStart;
using coap::Limits;
using coap::OptionValues;
using coap::RequestSpec;
using coap::Settings;
using coap::StreamOptions;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::Dotted;
using coap_test::Frame;
using coap_test::kGetCode;
using coap_test::kPostCode;
using coap_test::Lit;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;
using coap_test::ReadFrames;
using coap_test::Span;
using coap_test::Uint;

StreamOptions DeskOptions() {
  StreamOptions options;
  options.identifies = true;
  options.csm_optional = true;
  options.prefixes = {"oic/sec", "a"};
  options.known_options = {2049, 2053};
  return options;
}

Settings WithBodies(size_t bytes) {
  Settings settings;
  settings.max_body_bytes = bytes;
  return settings;
}

// A stream whose owner takes requests and records them.
class DeskBench : public coap::Handler {
 public:
  explicit DeskBench(const StreamOptions& options = DeskOptions(), const Settings& settings = {})
      : session(this, settings, Limits{}, "", now_us, options) {}

  coap::Answer OnRecord(const coap::Incoming& record) override {
    log += "[record " + Bytes(record.topic) + "]";
    return {};
  }
  coap::Taker OnAsked(const coap::Asked& asked) override {
    log += "[" + std::to_string(asked.code) + " ";
    for (const auto segment : asked.path) log += "/" + Bytes(segment);
    for (const auto query : asked.query) log += "?" + Bytes(query);
    for (const auto& option : asked.options) {
      log += " " + std::to_string(option.number) + "=" + Bytes(option.value);
    }
    payload = asked.payload;
    log += payload.size() > 40 ? " " + std::to_string(payload.size()) + " bytes]"
                               : " " + payload + "]";
    asked_id = asked.id;
    reuses_token = asked.reuses_token;
    return taker;
  }
  void OnAskAnswer(uint64_t id, const coap::AskAnswer& answer) override {
    log += "[answer " + std::to_string(id) + " " + std::to_string(answer.code >> 5) + "." +
           std::to_string(answer.code & 31);
    for (const auto& option : answer.options) log += " " + std::to_string(option.number);
    log += answer.payload.size() > 60 ? " " + std::to_string(answer.payload.size()) + " bytes"
                                      : " " + answer.payload;
    log += answer.observed ? " observed]" : "]";
    payload = answer.payload;
  }

  std::vector<Read> Feed(std::string_view bytes) {
    reason = session.Feed(Span(bytes));
    return Sent();
  }
  std::vector<Read> Sent() {
    const Bytes bytes(session.output());
    session.ConsumeOutput(bytes.size());
    return ReadFrames(bytes);
  }
  Bytes TakeLog() { return std::exchange(log, {}); }

  int64_t now_us = int64_t{1} << 40;
  coap::StreamSession session;
  CloseReason reason = CloseReason::kNone;
  coap::Taker taker = coap::Taker::kDesk;
  uint64_t asked_id = 0;  // of the latest request
  bool reuses_token = false;
  Bytes log, payload;
};

Bytes Get(std::string_view token, std::string_view path, const Options& more = {}) {
  return Frame(kGetCode, token, Path(path, more));
}

Bytes Observe(std::string_view token, std::string_view path, const Bytes& value = "") {
  Options options{{6, value}};
  for (const auto& option : Path(path)) options.push_back(option);
  return Frame(kGetCode, token, options);
}

RequestSpec To(std::string path, bool observe = false, std::string payload = "") {
  RequestSpec request;
  request.code = payload.empty() ? kGetCode : kPostCode;
  request.path = {std::move(path)};
  request.payload = std::move(payload);
  request.observe = observe;
  return request;
}

TEST(CoapDeskStream, RequestsUnderAPrefixGoToTheDeskWhole) {
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

TEST(CoapDeskStream, WithoutADeviceOtherRequestsGet401AndTheConnectionStays) {
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

TEST(CoapDeskStream, AMissingCsmClosesUnlessItIsOptional) {
  StreamOptions strict = DeskOptions();
  strict.csm_optional = false;
  DeskBench bench(strict);
  bench.Feed(Get("t", "a"));
  EXPECT_EQ(bench.reason, CloseReason::kCoapSignal);
}

TEST(CoapDeskStream, UnknownCriticalOptionsAreRefusedAndKnownOnesPass) {
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

TEST(CoapDeskStream, RequestsBeyondTheLimitGet503WithMaxAge) {
  StreamOptions options = DeskOptions();
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

TEST(CoapDeskStream, TooManyBytesWithoutADeviceCloseTheConnection) {
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

TEST(CoapDeskStream, ObservationsEndWithAnErrorOrAnAnswerWithoutObserve) {
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

TEST(CoapDeskStream, ObservationsBeyondTheLimitAreAnsweredWithoutObserve) {
  StreamOptions options = DeskOptions();
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

TEST(CoapDeskStream, APeerThatDoesNotReadItsNotificationsIsClosed) {
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
TEST(CoapDeskStream, LargeAnswersGoInBlocksWithinThePeersMessageSize) {
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

TEST(CoapDeskStream, BlocksHaveTheSizeThatThePeerAskedFor) {
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

TEST(CoapDeskStream, UploadsInBlocksReachTheDeskWhole) {
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

TEST(CoapDeskStream, AnswersOfTheDeviceFindTheirRequests) {
  DeskBench bench;
  bench.session.Identify("dev");
  EXPECT_EQ(bench.session.Ask(7, To("light")), AskStart::kSent);
  EXPECT_EQ(bench.session.Ask(8, To("fan", false, "on")), AskStart::kSent);
  const auto sent = bench.Sent();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].options, (Options{{11, "light"}}));
  EXPECT_EQ(sent[1].code, kPostCode);
  EXPECT_EQ(sent[1].payload, "on");
  EXPECT_NE(sent[0].token, sent[1].token);
  bench.Feed(Frame(Dotted(204), sent[1].token, {}, ""));
  bench.Feed(Frame(Dotted(205), sent[0].token, {{12, "z"}}, "bright"));
  EXPECT_EQ(bench.TakeLog(), "[answer 8 2.4 ][answer 7 2.5 12 bright]");
  bench.Feed(Frame(Dotted(205), sent[0].token, {}, "again"));
  EXPECT_EQ(bench.TakeLog(), "") << "a late answer is dropped";
  EXPECT_EQ(bench.reason, CloseReason::kNone);
}

TEST(CoapDeskStream, TokensOfCanceledRequestsAreNotUsedAgain) {
  DeskBench bench;
  bench.session.Identify("dev");
  bench.session.Ask(1, To("light"));
  const Bytes late = bench.Sent().at(0).token;
  bench.session.Cancel(1);
  EXPECT_TRUE(bench.Sent().empty());
  bench.session.Ask(2, To("light"));
  EXPECT_NE(bench.Sent().at(0).token, late);
  bench.Feed(Frame(Dotted(205), late, {}, "old"));
  EXPECT_EQ(bench.TakeLog(), "");
}

TEST(CoapDeskStream, NotificationsComeUntilTheObservationIsCanceled) {
  DeskBench bench;
  bench.session.Identify("dev");
  bench.session.Ask(1, To("light", true));
  const auto asked = bench.Sent().at(0);
  EXPECT_EQ(asked.options, (Options{{6, ""}, {11, "light"}}));
  for (const char* value : {"1", "2", "3"}) {
    bench.Feed(Frame(Dotted(205), asked.token, {{6, value}}, value));
  }
  EXPECT_EQ(bench.TakeLog(),
            "[answer 1 2.5 6 1 observed][answer 1 2.5 6 2 observed][answer 1 2.5 6 3 observed]");
  bench.session.Cancel(1);
  const auto ended = bench.Sent().at(0);
  EXPECT_EQ(ended.options, (Options{{6, "\x01"}, {11, "light"}}));
  EXPECT_EQ(ended.token, asked.token) << "RFC 7641 3.6";
  bench.Feed(Frame(Dotted(205), asked.token, {}, "4"));
  EXPECT_EQ(bench.TakeLog(), "");
  bench.session.Ask(2, To("light", true));
  const Bytes token = bench.Sent().at(0).token;
  bench.Feed(Frame(Dotted(404), token, {}, "no"));
  EXPECT_EQ(bench.TakeLog(), "[answer 2 4.4 no]");
}

TEST(CoapDeskStream, BlocksOfTheDevicesAnswerArePutTogether) {
  for (const bool observe : {false, true}) {
    DeskBench bench;
    bench.session.Identify("dev");
    bench.session.Ask(1, To("large", observe));
    const Bytes token = bench.Sent().at(0).token;
    Options first{{23, BlockValue(0, true, 6)}};
    if (observe) first.insert(first.begin(), {6, "\x05"});
    auto next = bench.Feed(Frame(Dotted(205), token, first, Bytes(1024, 'a'))).at(0);
    EXPECT_EQ(next.options, (Options{{11, "large"}, {23, BlockValue(1, false, 6)}}));
    EXPECT_NE(next.token, token);
    next =
        bench.Feed(Frame(Dotted(205), next.token, {{23, BlockValue(1, true, 6)}}, Bytes(1024, 'b')))
            .at(0);
    bench.Feed(Frame(Dotted(205), next.token, {{23, BlockValue(2, false, 6)}}, "c"));
    EXPECT_EQ(bench.TakeLog(),
              observe ? "[answer 1 2.5 6 2049 bytes observed]" : "[answer 1 2.5 2049 bytes]");
    EXPECT_EQ(bench.payload, Bytes(1024, 'a') + Bytes(1024, 'b') + "c");
  }
}

TEST(CoapDeskStream, BlocksThatDoNotFitTogetherFailWith502) {
  const auto run = [](const Options& second, const Bytes& payload) {
    DeskBench bench({}, WithBodies(4096));
    bench.session.Ask(1, To("large"));
    const Bytes token = bench.Sent().at(0).token;
    const auto next =
        bench.Feed(Csm() + Frame(Dotted(205), token, {{4, "e"}, {23, BlockValue(0, true, 6)}},
                                 Bytes(1024, 'a')));
    bench.Feed(Frame(Dotted(205), next.at(0).token, second, payload));
    return bench.TakeLog().substr(0, 13);
  };
  EXPECT_EQ(run({{4, "f"}, {23, BlockValue(1, false, 6)}}, "x"), "[answer 1 5.2");
  EXPECT_EQ(run({{23, BlockValue(2, false, 6)}}, "x"), "[answer 1 5.2");
  EXPECT_EQ(run({{23, BlockValue(1, true, 6)}}, "x"), "[answer 1 5.2");
  EXPECT_EQ(run({{23, BlockValue(1, true, 7)}}, Bytes(4096, 'x')), "[answer 1 5.2");
  EXPECT_EQ(run({}, "x"), "[answer 1 5.2");
  EXPECT_EQ(run({{4, "e"}, {23, BlockValue(1, false, 6)}}, "x"), "[answer 1 2.5");
}

TEST(CoapDeskStream, LargeBodiesGoToTheDeviceInBlocks) {
  const Bytes body(5000, 'b');
  for (const bool bert : {false, true}) {
    DeskBench bench;
    bench.session.Identify("dev");
    bench.Feed(Frame(0xE1, "", {{2, Uint(bert ? 3000 : 1152)}, {4, ""}}));
    bench.session.Ask(1, To("large", false, body));
    Bytes got;
    for (int i = 0; i < 10; ++i) {
      const auto sent = bench.Sent();
      ASSERT_EQ(sent.size(), 1u);
      got += sent[0].payload;
      const unsigned block = sent[0].Number(27);
      EXPECT_EQ(block & 7, bert ? 7u : 6u);
      EXPECT_EQ(sent[0].Has(60), i == 0);
      if ((block & 8) == 0) {
        (void)bench.session.Feed(Span(Frame(Dotted(204), sent[0].token)));
        break;
      }
      (void)bench.session.Feed(Span(Frame(Dotted(231), sent[0].token, {{27, sent[0].Text(27)}})));
    }
    EXPECT_EQ(got, body);
    EXPECT_EQ(bench.TakeLog(), "[answer 1 2.4 ]");
  }
}

TEST(CoapDeskStream, RequestsToTheDeviceAreLimited) {
  StreamOptions options = DeskOptions();
  options.max_asks = 2;
  options.max_observations = 1;
  DeskBench bench(options);
  bench.session.Identify("dev");
  EXPECT_EQ(bench.session.Ask(1, To("x", true)), AskStart::kSent);
  const Bytes token = bench.Sent().at(0).token;
  EXPECT_EQ(bench.session.Ask(2, To("x")), AskStart::kSent);
  EXPECT_EQ(bench.session.Ask(3, To("x")), AskStart::kBusy);
  bench.Feed(Frame(Dotted(205), token, {{6, "1"}}, "1"));
  EXPECT_EQ(bench.session.Ask(3, To("x")), AskStart::kSent) << "an observation is not open";
  bench.session.Cancel(2);
  EXPECT_EQ(bench.session.Ask(4, To("x", true)), AskStart::kBusy) << "one observation";
  RequestSpec large = To("x");
  for (int i = 0; i < 20; ++i) large.query.push_back(Bytes(255, 'q'));
  bench.Feed(Csm() + Frame(0xE1, "", {{2, Uint(1152)}}));
  EXPECT_EQ(bench.session.Ask(5, large), AskStart::kTooLarge);
  bench.session.Release();
  EXPECT_EQ(bench.session.Ask(6, To("x")), AskStart::kClosed);
}

TEST(CoapDeskStream, TheOwnerAnswersTheRequestsThatItTook) {
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

TEST(CoapDeskStream, ARequestThatTheOwnerTookMayGoToTheDesk) {
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

TEST(CoapDeskStream, OwnRequestsCountAndEndWith503) {
  StreamOptions options = DeskOptions();
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

TEST(CoapDeskStream, ARequestWithTheTokenOfAnObservationIsMarked) {
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

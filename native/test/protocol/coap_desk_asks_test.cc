// Requests to the device of a stream with a desk.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/support/coap_desk_bench.h"

namespace seganet {
namespace {

using coap::AskStart;
using coap::RequestSpec;
using coap::StreamOptions;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::DeskBench;
using coap_test::DeskStreamOptions;
using coap_test::Dotted;
using coap_test::Frame;
using coap_test::kGetCode;
using coap_test::kPostCode;
using coap_test::Options;
using coap_test::Span;
using coap_test::Uint;
using coap_test::WithBodies;

RequestSpec To(std::string path, bool observe = false, std::string payload = "") {
  RequestSpec request;
  request.code = payload.empty() ? kGetCode : kPostCode;
  request.path = {std::move(path)};
  request.payload = std::move(payload);
  request.observe = observe;
  return request;
}

TEST(CoapDeskAsks, AnswersOfTheDeviceFindTheirRequests) {
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

TEST(CoapDeskAsks, TokensOfCanceledRequestsAreNotUsedAgain) {
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

TEST(CoapDeskAsks, NotificationsComeUntilTheObservationIsCanceled) {
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

TEST(CoapDeskAsks, BlocksOfTheDevicesAnswerArePutTogether) {
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

TEST(CoapDeskAsks, BlocksThatDoNotFitTogetherFailWith502) {
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

TEST(CoapDeskAsks, LargeBodiesGoToTheDeviceInBlocks) {
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

TEST(CoapDeskAsks, RequestsToTheDeviceAreLimited) {
  StreamOptions options = DeskStreamOptions();
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

}  // namespace
}  // namespace seganet

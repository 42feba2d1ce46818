// A server's answers to bad input over UDP, and their limits for an unproved address.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::Limits;
using coap_test::Bench;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kGetCode;
using coap_test::kNon;
using coap_test::kPostCode;
using coap_test::kRst;
using coap_test::Lit;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;

constexpr unsigned kReset = 0;  // as an expected code: an RST
constexpr unsigned kSilence = 1;

TEST(CoapRefusal, BadInputGetsItsAnswerAndMakesNoRecord) {
  struct {
    const char* what;
    Bytes datagram;
    unsigned code;
  } const cases[] = {
      {"nothing", "", kSilence},
      {"a byte", "\x40", kSilence},
      {"version 2", Lit("\x80\x02\x00\x01"), kSilence},
      {"CON, token length 9", Lit("\x49\x02\x00\x01") + "123456789", kReset},
      {"NON, token length 9", Lit("\x59\x02\x00\x01") + "123456789", kSilence},
      {"CON, option cut", Lit("\x40\x02\x00\x01\xb9") + "r", kReset},
      {"CON, delta 15", Lit("\x40\x02\x00\x01\xf1\x01"), kReset},
      {"CON, marker without payload", Datagram(kCon, kPostCode, 1, "", Path("r/dev")) + "\xFF",
       kReset},
      {"NON, marker without payload", Datagram(kNon, kPostCode, 1, "", Path("r/dev")) + "\xFF",
       kSilence},
      {"a ping", Datagram(kCon, 0, 1), kReset},
      {"an Empty NON", Datagram(kNon, 0, 1), kSilence},
      {"an unexpected ACK", Datagram(kAck, 0, 1), kSilence},
      {"an unexpected RST", Datagram(kRst, 0, 1), kSilence},
      {"an ACK with a request", Datagram(kAck, kPostCode, 1, "", Path("r/dev"), "x"), kSilence},
      {"an RST with a request", Datagram(kRst, kPostCode, 1, "", Path("r/dev"), "x"), kSilence},
      {"CON response", Datagram(kCon, 0x45, 1, "t"), kReset},
      {"code of class 1", Datagram(kCon, 0x21, 1, "t"), kReset},
      {"code of class 6", Datagram(kCon, 0xC1, 1, "t"), kReset},
      {"a signal", Datagram(kCon, 0xE1, 1, "t"), kReset},
      {"NON of class 7", Datagram(kNon, 0xE1, 1, "t"), kSilence},
      {"DELETE", Datagram(kCon, 4, 1, "", Path("r/dev")), 405},
      {"FETCH", Datagram(kCon, 5, 1, "", Path("r/dev")), 405},
      {"code 0.31", Datagram(kCon, 31, 1, "", Path("r/dev")), 405},
      {"GET of records", Datagram(kCon, kGetCode, 1, "", Path("r/dev")), 405},
      {"POST of a command", Datagram(kCon, kPostCode, 1, "", Path("cmd/dev"), "x"), 405},
      {"POST of discovery", Datagram(kCon, kPostCode, 1, "", Path(".well-known/core")), 405},
      {"another path", Datagram(kCon, kPostCode, 1, "", Path("x/dev"), "x"), 404},
      {"a command that never was", Datagram(kCon, kGetCode, 1, "", Path("cmd/dev")), 404},
      {"a device that may not", Datagram(kCon, kGetCode, 1, "", Path("cmd/blind")), 403},
      {"no device", Datagram(kNon, kPostCode, 1, "", Path("r"), "x"), 400},
      {"bad UTF-8", Datagram(kCon, kPostCode, 1, "", Path("r/\xFF"), "x"), 400},
      {"critical option", Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{21, ""}}), "x"), 402},
      {"proxy", Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{39, "http"}}), "x"), 505},
      {"format", Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{12, "\xFF\xFF"}}), "x"), 415},
      {"accept", Datagram(kCon, kGetCode, 1, "", Path(".well-known/core", {{17, "\x32"}})), 406},
      {"a block without the first",
       Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{27, BlockValue(1, false, 6)}}), "x"), 408},
      {"a block that is too short",
       Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{27, BlockValue(0, true, 6)}}), "x"), 400},
      {"a block that is too long",
       Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{27, BlockValue(0, false, 0)}}),
                Bytes(17, 'x')),
       400},
      {"a block of a stream",
       Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{27, BlockValue(0, false, 7)}}), "x"), 400},
      {"a block far away",
       Datagram(kCon, kPostCode, 1, "", Path("r/dev", {{27, BlockValue(0xFFFFF, false, 6)}}), "x"),
       413},
  };
  for (const auto& c : cases) {
    Bench bench;
    const std::vector<Read> sent = bench.Ask(c.datagram);
    EXPECT_EQ(bench.TakeLog(), "") << c.what;
    if (c.code == kSilence) {
      EXPECT_TRUE(sent.empty()) << c.what;
      continue;
    }
    ASSERT_EQ(sent.size(), 1u) << c.what;
    EXPECT_TRUE(sent[0].good) << c.what;
    if (c.code == kReset) {
      EXPECT_EQ(sent[0].type, kRst) << c.what;
      EXPECT_EQ(bench.raw[0].size(), 4u) << c.what;
    } else {
      EXPECT_EQ(sent[0].dotted(), c.code) << c.what;
    }
    EXPECT_LE(bench.raw[0].size(), 3 * c.datagram.size()) << c.what;
  }
}

TEST(CoapRefusal, EachCutOfAPostIsRefusedOrARecordOfItsOwn) {
  const Bytes whole =
      Datagram(kCon, kPostCode, 1, "token", Path("r/dev/t", {{60, "\x04"}}), "21.5");
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    Bench bench;
    bench.Ask(whole.substr(0, cut));
    const Bytes log = bench.TakeLog();
    EXPECT_TRUE(log.empty() || log.starts_with("[dev ")) << cut;
  }
}

TEST(CoapRefusal, MulticastIsIgnored) {
  Bench bench;
  const Bytes ask = Datagram(kNon, kGetCode, 1, "", Path(".well-known/core"));
  bench.server.OnDatagram({"p", 1}, coap_test::Span(ask), bench.now_us, true);
  EXPECT_TRUE(bench.sent.empty());
  EXPECT_EQ(bench.server.counters().multicast, 1u);
}

TEST(CoapRefusal, ErrorsToOneFarEndAreBoundedAndOthersGetTheirs) {
  Limits limits;
  limits.max_errors_per_s = 10;
  Bench bench({}, limits);
  size_t errors = 0;
  for (unsigned id = 0; id < 100; ++id) {
    errors += bench.Ask(Datagram(kCon, kPostCode, id, "", Path("x"))).size();
  }
  EXPECT_EQ(errors, 10u);
  EXPECT_EQ(bench.server.counters().silenced, 90u);
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 200, "", Path("r/dev"))).at(0).dotted(), 204u);
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 1, "", Path("x")), "other").size(), 1u);
  bench.Wait(0.1);
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 300, "", Path("x"))).size(), 1u);
}

// Follows the blocks of a GET like a client; no answer may exceed three times its request.
Bytes Fetch(Bench* bench, const Options& path, std::string_view token, bool* in_blocks) {
  Bytes body;
  Bytes block = "";
  for (unsigned i = 0; i < 100; ++i) {
    Options options = path;
    if (!block.empty()) options.emplace_back(23, block);
    const Bytes ask = Datagram(kCon, kGetCode, 900 + i, token, options);
    const std::vector<Read> sent = bench->Ask(ask);
    EXPECT_LE(bench->raw.at(0).size(), 3 * ask.size());
    if (sent[0].dotted() != 205) return std::to_string(sent[0].dotted());
    body += sent[0].payload;
    if ((sent[0].Number(23) & 8) == 0 || !sent[0].Has(23)) return body;
    *in_blocks = true;
    const unsigned value = sent[0].Number(23);
    block = BlockValue((value >> 4) + 1, false, value & 7);
  }
  return body;
}

// RFC 9175 2.4, RFC 7252 11.3.
TEST(CoapRefusal, DiscoveryIsSentInBlocksToUnprovedAddresses) {
  Bench bench;
  const Bytes links = "</r>;rt=\"seganet.records\",</cmd>;rt=\"seganet.commands\";obs";
  bool in_blocks = false;
  EXPECT_EQ(Fetch(&bench, Path(".well-known/core"), "", &in_blocks), links);
  EXPECT_TRUE(in_blocks);

  bench.Observe("cmd/dev", "t");  // its ACK proves it
  const auto sent = bench.Ask(Datagram(kCon, kGetCode, 1, "", Path(".well-known/core")));
  EXPECT_EQ(sent.at(0).payload, links);
  EXPECT_EQ(sent[0].Number(12), 40u);
  EXPECT_FALSE(sent[0].Has(23));
}

TEST(CoapRefusal, IfNoBlockFitsThePeerMustEcho) {
  Bench bench;
  bench.Observe("cmd/d", "t");
  ASSERT_EQ(bench.Command(1, "d", "cmd/d/x", Bytes(500, 'c')), coap::CommandStart::kSent);
  bench.TakeSent();
  const Bytes ask = Datagram(kCon, kGetCode, 1, "", Path("cmd/d"));
  const auto sent = bench.Ask(ask, "spoofed");
  ASSERT_EQ(sent.at(0).dotted(), 401u);
  EXPECT_EQ(bench.server.counters().echoes, 1u);
  EXPECT_LE(bench.raw[0].size(), 3 * ask.size());
  const Bytes echo = sent[0].Text(252);
  const auto guess =
      bench.Ask(Datagram(kCon, kGetCode, 2, "", Path("cmd/d", {{252, "12345678"}})), "spoofed");
  EXPECT_LT(guess.at(0).payload.size(), 100u);
  const auto proved =
      bench.Ask(Datagram(kCon, kGetCode, 3, "", Path("cmd/d", {{252, echo}})), "spoofed");
  EXPECT_EQ(proved.at(0).dotted(), 205u);
  EXPECT_EQ(proved[0].payload, Bytes(500, 'c'));
}

TEST(CoapRefusal, FarEndsAreForgottenWhenThereAreTooMany) {
  Limits limits;
  limits.max_peers = 100;
  limits.max_exchanges = 100;
  Bench bench({}, limits);
  for (unsigned i = 0; i < 5000; ++i) {
    bench.Ask(Datagram(kCon, kPostCode, 1, "", Path("r/dev"), "x"), std::to_string(i));
  }
  EXPECT_EQ(bench.handles.size(), 5000u);
  EXPECT_LT(bench.server.memory_bytes(), 100'000u);
}

}  // namespace
}  // namespace seganet

// The acceptor's knowledge from the first bytes of a connection.
#include <gtest/gtest.h>

#include <string>

#include "core/protocol/coap/stream/stream_peek.h"
#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::PeekStream;
using coap::Settings;
using coap::StreamPeek;
using coap_test::Bytes;
using coap_test::Csm;
using coap_test::Frame;
using coap_test::kAbortCode;
using coap_test::kGetCode;
using coap_test::kPingCode;
using coap_test::kPongCode;
using coap_test::kPostCode;
using coap_test::Lit;
using coap_test::Path;
using coap_test::Span;

constexpr size_t kMaxBytes = 4096;

StreamPeek Peek(std::string_view bytes, size_t answered = 0) {
  return PeekStream(Span(bytes), Settings{}, kMaxBytes, answered);
}

TEST(CoapPeek, TheFirstRequestIdentifiesTheDeviceAsSoonAsItsPathIsThere) {
  const Bytes head = Csm();
  const Bytes post = Frame(kPostCode, "t", Path("r/dev/temp", {{27, "\x0e"}}), Bytes(1024, 'x'));
  const Bytes stream = head + post;
  size_t known = 0;
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    const StreamPeek peek = Peek(stream.substr(0, cut));
    ASSERT_NE(peek.status, StreamPeek::Status::kRefuse) << cut;
    EXPECT_EQ(peek.answer, "") << cut;
    if (peek.status == StreamPeek::Status::kOk) {
      EXPECT_EQ(peek.device, "dev") << cut;
      if (known == 0) known = cut;
    } else {
      EXPECT_EQ(known, 0u) << cut;
    }
  }
  EXPECT_LT(known, head.size() + 30);
}

TEST(CoapPeek, ADeviceInTheQueryIsNotMissed) {
  const StreamPeek peek = Peek(Csm() + Frame(kPostCode, "", Path("r/x", {{15, "d=dev"}}), "y"));
  EXPECT_EQ(peek.device, "dev");
  EXPECT_EQ(Peek(Csm() + Frame(kGetCode, "", Path("cmd/dev2"))).device, "dev2");
}

TEST(CoapPeek, RequestsBeforeADeviceIsKnownAreAnsweredOnce) {
  const Bytes ping = Frame(kPingCode, "p");
  const Bytes discovery = Frame(kGetCode, "w", Path(".well-known/core"));
  const Bytes nonsense = Frame(kGetCode, "n", Path("x"));
  Bytes stream = Csm() + ping;
  StreamPeek peek = Peek(stream);
  EXPECT_EQ(peek.status, StreamPeek::Status::kNeedMore);
  EXPECT_EQ(coap_test::ReadFrames(peek.answer).at(0).code, kPongCode);
  EXPECT_EQ(peek.answered, stream.size());
  Bytes answers = peek.answer;

  stream += discovery + nonsense;
  peek = Peek(stream, peek.answered);
  const auto sent = coap_test::ReadFrames(peek.answer);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].dotted(), 205u);
  EXPECT_EQ(sent[1].dotted(), 404u);
  answers += peek.answer;

  stream += Frame(kPostCode, "t", Path("r/dev"), "x");
  peek = Peek(stream, peek.answered);
  EXPECT_EQ(peek.status, StreamPeek::Status::kOk);
  EXPECT_EQ(peek.answer, "");

  // The session gets all bytes and answers the rest.
  coap_test::StreamBench split;
  split.session.SkipAnswered(peek.answered);
  const auto rest = split.Ask(stream);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].token, "t");
  coap_test::StreamBench whole;
  whole.Ask(stream);
  EXPECT_EQ(whole.output, answers + split.output);
}

TEST(CoapPeek, BadBeginningsAreRefusedWithAnAbort) {
  struct {
    const char* what;
    Bytes bytes;
    CloseReason reason;
  } const cases[] = {
      {"HTTP", "GET / HTTP/1.1\r\n\r\n", CloseReason::kCoapSignal},
      {"TLS", Lit("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), CloseReason::kCoapSignal},
      {"MQTT", Lit("\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04") + "dev1" + Bytes(8, 'x'),
       CloseReason::kCoapSignal},
      {"a request first", Frame(kPostCode, "", Path("r/dev"), "x"), CloseReason::kCoapSignal},
      {"a token of 15 bytes", Csm() + Lit("\x0f"), CloseReason::kCoapMalformed},
      {"4 GB", Csm() + Lit("\xf0\xff\xff\xff\xff"), CloseReason::kTooLarge},
      {"Abort", Csm() + Frame(kAbortCode), CloseReason::kCoapAborted},
      {"Release", Csm() + Frame(0xE4), CloseReason::kDisconnected},
      {"a critical option", Frame(0xE1, "", {{1, ""}}), CloseReason::kCoapSignal},
      {"Pings without end",
       Csm() +
           [] {
             Bytes pings;
             while (pings.size() < kMaxBytes) pings += Frame(kPingCode, "p");
             return pings;
           }(),
       CloseReason::kTooLarge},
  };
  for (const auto& c : cases) {
    const StreamPeek peek = Peek(c.bytes);
    EXPECT_EQ(peek.status, StreamPeek::Status::kRefuse) << c.what;
    EXPECT_EQ(peek.reason, c.reason) << c.what << " " << Name(peek.reason);
    EXPECT_EQ(peek.device, "") << c.what;
  }
}

}  // namespace
}  // namespace seganet

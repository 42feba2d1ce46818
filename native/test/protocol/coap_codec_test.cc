// Messages and options as bytes (RFC 7252 3, RFC 8323 3.2), with bytes of the specifications.
#include <gtest/gtest.h>

#include <string>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/option_reader.h"
#include "core/protocol/coap/reply.h"
#include "test/support/coap_bytes.h"

namespace seganet {
namespace {

using coap::Message;
using coap::OptionReader;
using coap::ParseDatagram;
using coap::ParseStatus;
using coap::Reply;
using coap::StreamFrame;
using coap_test::Bytes;
using coap_test::Lit;
using coap_test::Span;

TEST(CoapCodec, ReadsTheRequestOfRfc7252Figure16) {
  const Bytes bytes = Lit("\x40\x01\x7d\x34\xbb") + "temperature";
  Message message;
  ASSERT_EQ(ParseDatagram(Span(bytes), &message), ParseStatus::kOk);
  EXPECT_EQ(message.type, coap::Type::kConfirmable);
  EXPECT_EQ(message.code, coap::kGet);
  EXPECT_EQ(message.id, 0x7d34);
  EXPECT_TRUE(message.token.empty());
  EXPECT_TRUE(message.payload.empty());
  OptionReader reader(message.options);
  ASSERT_EQ(reader.Next(), OptionReader::Step::kOption);
  EXPECT_EQ(reader.number(), coap::kUriPath);
  EXPECT_EQ(reader.value(), "temperature");
  EXPECT_EQ(reader.Next(), OptionReader::Step::kEnd);
}

TEST(CoapCodec, WritesTheResponsesOfRfc7252Figures16And17) {
  Reply reply;
  reply.code = coap::kContent;
  reply.payload = "22.3 C";
  EXPECT_EQ(coap::EncodeDatagram(coap::Type::kAcknowledgement, 0x7d34, "", reply),
            Lit("\x60\x45\x7d\x34\xff") + "22.3 C");
  EXPECT_EQ(coap::EncodeDatagram(coap::Type::kAcknowledgement, 0x7d35, "\x20", reply),
            Lit("\x61\x45\x7d\x35\x20\xff") + "22.3 C");
  EXPECT_EQ(coap::EmptyDatagram(coap::Type::kReset, 0x7d38), Lit("\x70\x00\x7d\x38"));
}

TEST(CoapCodec, WritesTheObserveAndBlockOptionsInTheirShortestForm) {
  Reply reply;
  reply.code = coap::kContent;
  reply.observe = 0;
  reply.max_age = 256;
  reply.block2 = coap::Block{2, true, 3};
  // RFC 7959 2.2: NUM 2, M, SZX 3 is 0x2b.
  EXPECT_EQ(coap::EncodeDatagram(coap::Type::kConfirmable, 1, "", reply),
            Lit("\x40\x45\x00\x01\x60\x82\x01\x00\x91\x2b"));
}

TEST(CoapCodec, WritesNumbersAndLengthsThatNeedMoreBytes) {
  std::string out;
  coap::OptionWriter writer(&out);
  writer.Add(12, "");
  writer.Add(25, "x");  // delta 13
  writer.Add(25 + 268, std::string(12, 'a'));
  writer.Add(25 + 268 + 269, std::string(269, 'b'));
  EXPECT_EQ(out, Lit("\xc0\xd1\x00") + "x" + Lit("\xdc\xff") + std::string(12, 'a') +
                     Lit("\xee\x00\x00\x00\x00") + std::string(269, 'b'));
  OptionReader reader(Span(out));
  for (const unsigned number : {12, 25, 293, 562}) {
    ASSERT_EQ(reader.Next(), OptionReader::Step::kOption);
    EXPECT_EQ(reader.number(), number);
  }
  EXPECT_EQ(reader.value().size(), 269u);
  EXPECT_EQ(reader.Next(), OptionReader::Step::kEnd);
}

TEST(CoapCodec, WhatIsNoCoapIsIgnoredAndWhatIsBadlyFormedIsNot) {
  struct {
    const char* what;
    Bytes bytes;
    ParseStatus status;
  } const cases[] = {
      {"nothing", "", ParseStatus::kNoMessage},
      {"three bytes", Lit("\x40\x01\x00"), ParseStatus::kNoMessage},
      {"version 0", Lit("\x00\x01\x00\x01"), ParseStatus::kNoMessage},
      {"version 2", Lit("\x80\x01\x00\x01"), ParseStatus::kNoMessage},
      {"text", "GET / HTTP/1.1", ParseStatus::kMalformed},
      {"token length 9", Lit("\x49\x01\x00\x01") + "123456789", ParseStatus::kMalformed},
      {"token length 15", Lit("\x4f\x01\x00\x01") + "123456789012345", ParseStatus::kMalformed},
      {"token cut", Lit("\x44\x01\x00\x01") + "123", ParseStatus::kMalformed},
      {"Empty with a token", Lit("\x41\x00\x00\x01\x01"), ParseStatus::kMalformed},
      {"Empty with a token length", Lit("\x41\x00\x00\x01"), ParseStatus::kMalformed},
      {"Empty with more", Lit("\x40\x00\x00\x01\xff\x01"), ParseStatus::kMalformed},
      {"marker without payload", Lit("\x40\x01\x00\x01\xff"), ParseStatus::kMalformed},
      {"delta 15", Lit("\x40\x01\x00\x01\xf0"), ParseStatus::kMalformed},
      {"length 15", Lit("\x40\x01\x00\x01\x1f"), ParseStatus::kMalformed},
      {"extended delta cut", Lit("\x40\x01\x00\x01\xe0\x01"), ParseStatus::kMalformed},
      {"extended length cut", Lit("\x40\x01\x00\x01\x1d"), ParseStatus::kMalformed},
      {"value cut", Lit("\x40\x01\x00\x01\xb3") + "ab", ParseStatus::kMalformed},
      {"number over 65535", Lit("\x40\x01\x00\x01\xe0\xff\xff"), ParseStatus::kMalformed},
      {"a ping", Lit("\x40\x00\x00\x01"), ParseStatus::kOk},
      {"NUL in the payload", Lit("\x40\x02\x00\x01\xff\x00"), ParseStatus::kOk},
  };
  for (const auto& c : cases) {
    Message message;
    EXPECT_EQ(ParseDatagram(Span(c.bytes), &message), c.status) << c.what;
  }
}

TEST(CoapCodec, StreamHeadersOfAllLengthsAreReadAsTheyAreWritten) {
  for (const size_t size : {0u, 1u, 12u, 13u, 14u, 268u, 269u, 270u, 65804u, 65805u, 65806u}) {
    std::string out;
    coap::AppendFrame(coap::kPost, "tok", std::string(size, 'x'), &out);
    const StreamFrame frame = coap::DecodeFrame(Span(out));
    ASSERT_EQ(frame.status, StreamFrame::Status::kOk) << size;
    EXPECT_EQ(frame.total, out.size());
    EXPECT_EQ(frame.total - frame.header, size);
    EXPECT_EQ(frame.token, "tok");
    EXPECT_EQ(frame.code, coap::kPost);
    for (size_t cut = 0; cut < frame.header; ++cut) {
      EXPECT_EQ(coap::DecodeFrame(Span(out).first(cut)).status, StreamFrame::Status::kNeedMore);
    }
  }
}

TEST(CoapCodec, ReadsTheStreamMessageOfRfc8323Section32) {
  // A 2.03 response with a token and neither options nor payload.
  const Bytes bytes = Lit("\x01\x43\x7f");
  const StreamFrame frame = coap::DecodeFrame(Span(bytes));
  ASSERT_EQ(frame.status, StreamFrame::Status::kOk);
  EXPECT_EQ(frame.code, 0x43);
  EXPECT_EQ(frame.token, "\x7f");
  EXPECT_EQ(frame.total, 3u);
}

TEST(CoapCodec, TheTotalOfAStreamMessageIsKnownBeforeItsToken) {
  const StreamFrame huge = coap::DecodeFrame(Span(Lit("\xf8\xff\xff\xff\xff")));
  EXPECT_EQ(huge.status, StreamFrame::Status::kNeedMore);
  EXPECT_GT(huge.total, size_t{0xFFFFFFFF});
  EXPECT_EQ(coap::DecodeFrame(Span(Lit("\x09"))).status, StreamFrame::Status::kMalformed);
}

TEST(CoapCodec, TheKeyedHashHasTheValuesOfItsPaper) {
  std::string input;
  EXPECT_EQ(KeyedHash(0x0706050403020100, 0x0f0e0d0c0b0a0908, input), 0x726fdb47dd0e0e31u);
  for (char c = 0; c < 15; ++c) input.push_back(c);
  EXPECT_EQ(KeyedHash(0x0706050403020100, 0x0f0e0d0c0b0a0908, input), 0xa129ca6149be45e5u);
}

// A body in blocks of any size comes out unchanged, and no message exceeds its limit.
TEST(CoapCodec, ABodyIsCarriedInBlocksThatFit) {
  const std::string body(1000, 'b');
  for (size_t room = 40; room < 1200; room += 13) {
    std::string got;
    std::optional<coap::Block> wanted;
    for (;;) {
      Reply reply;
      reply.code = coap::kContent;
      ASSERT_TRUE(coap::CarryBody(body, wanted, 12, room, &reply)) << room;
      got += reply.payload;
      EXPECT_LE(coap::EncodeDatagram(coap::Type::kConfirmable, 1, "12345678", reply).size(), room);
      if (!reply.block2 || !reply.block2->more) break;
      wanted = coap::Block{reply.block2->number + 1, false, reply.block2->exponent};
    }
    EXPECT_EQ(got, body);
  }
  Reply reply;
  EXPECT_FALSE(coap::CarryBody(body, std::nullopt, 12, 30, &reply));
  EXPECT_FALSE(coap::CarryBody(body, coap::Block{1, false, 6}, 12, 1152, &reply));
}

}  // namespace
}  // namespace seganet

// Records over UDP: when 2.04 is sent, duplicates, late answers, block-wise bodies.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/coap_bench.h"

namespace seganet {
namespace {

using coap::Limits;
using coap::Settings;
using coap::Verdict;
using coap_test::Bench;
using coap_test::BlockValue;
using coap_test::Bytes;
using coap_test::Datagram;
using coap_test::kAck;
using coap_test::kCon;
using coap_test::kGetCode;
using coap_test::kNon;
using coap_test::kPostCode;
using coap_test::kPutCode;
using coap_test::kRst;
using coap_test::Options;
using coap_test::Path;
using coap_test::Read;

Bytes Post(unsigned type, unsigned id, std::string_view payload = "21.5",
           const Options& more = {}) {
  return Datagram(type, kPostCode, id, "tk", Path("r/dev/temp", more), payload);
}

TEST(CoapRecord, APostIsAnsweredInItsAcknowledgementOnceItIsSafe) {
  Bench bench;
  bench.answer.copies = 2;
  EXPECT_TRUE(bench.Ask(Post(kCon, 7)).empty());
  EXPECT_EQ(bench.TakeLog(), "[dev r/dev/temp 0 con 21.5]");
  EXPECT_EQ(bench.server.unacknowledged(), 1u);
  EXPECT_TRUE(bench.Acknowledge(bench.handles[0]).empty());
  const std::vector<Read> sent = bench.Acknowledge(bench.handles[0]);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(sent[0].id, 7u);
  EXPECT_EQ(sent[0].token, "tk");
  EXPECT_EQ(bench.server.unacknowledged(), 0u);
  EXPECT_EQ(bench.server.NextDeadline(), INT64_MAX);
  EXPECT_TRUE(bench.Acknowledge(bench.handles[0]).empty());  // once more than announced
}

TEST(CoapRecord, ARecordSafeAtOnceIsAnsweredAtOnceAndPutIsTheSame) {
  Bench bench;
  const auto sent = bench.Ask(Datagram(kCon, kPutCode, 7, "", Path("r/dev", {{15, "c=2"}}), "x"));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(bench.TakeLog(), "[dev r/dev 2 con x]");
}

// A fast log may make a record safe before OnRecord() returned.
TEST(CoapRecord, AcknowledgementsMayComeInsideOfTheCall) {
  class Fast : public Bench {
   public:
    coap::Answer OnRecord(const coap::Incoming& record) override {
      Bench::OnRecord(record);
      server.Acknowledge(record.handle, now_us);
      return {Verdict::kTaken, 1, 0};
    }
  } bench;
  const auto sent = bench.Ask(Post(kCon, 7));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].dotted(), 204u);
}

// RFC 7252 5.2.2.
TEST(CoapRecord, ASlowRecordGetsAnEmptyAcknowledgementAndASeparateAnswer) {
  Bench bench;
  bench.answer.copies = 1;
  bench.Ask(Post(kCon, 7));
  EXPECT_TRUE(bench.Wait(1.4).empty());
  auto sent = bench.Wait(0.2);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].code, 0u);
  EXPECT_EQ(sent[0].id, 7u);
  sent = bench.Ask(Post(kCon, 7));  // the device missed it
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].code, 0u);

  sent = bench.Acknowledge(bench.handles[0]);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kCon);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(sent[0].token, "tk");
  const unsigned id = sent[0].id;
  sent = bench.Wait(3);  // no acknowledgement: once more
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id, id);
  EXPECT_TRUE(bench.Ask(Datagram(kAck, 0, id)).empty());
  EXPECT_TRUE(bench.Wait(300).empty());
  EXPECT_EQ(bench.handles.size(), 1u);
}

// RFC 7252 4.5.
TEST(CoapRecord, ADuplicateIsAnsweredAgainAndHandedOverOnce) {
  Bench bench;
  bench.answer.copies = 1;
  bench.Ask(Post(kCon, 7));
  EXPECT_TRUE(bench.Ask(Post(kCon, 7)).empty());  // the first one's answer is in flight
  bench.Acknowledge(bench.handles[0]);
  const Bytes first = bench.raw.at(0);
  bench.Ask(Post(kCon, 7));
  EXPECT_EQ(bench.raw.at(0), first);
  bench.Wait(246);
  EXPECT_EQ(bench.Ask(Post(kCon, 7)).size(), 1u);
  EXPECT_EQ(bench.handles.size(), 1u);
  EXPECT_EQ(bench.server.counters().duplicates, 3u);

  bench.Wait(2);  // EXCHANGE_LIFETIME is over: another message
  bench.Ask(Post(kCon, 7));
  EXPECT_EQ(bench.handles.size(), 2u);
}

// Otherwise a spoofed far end would get an answer of over three times the bytes sent in its name.
TEST(CoapRecord, AShortMessageDoesNotCallForTheAnswerOfALongOneWithItsId) {
  Bench bench;
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 7, "", Path("x/dev/temp"), "21.5")).size(), 1u);
  EXPECT_GT(bench.raw.at(0).size(), 12u);
  EXPECT_EQ(bench.Ask(Datagram(kCon, kPostCode, 7)).size(), 1u);
  EXPECT_LE(bench.raw.at(0).size(), 12u);
}

TEST(CoapRecord, TheSameIdOfAnotherFarEndIsNoDuplicate) {
  Bench bench;
  EXPECT_EQ(bench.Ask(Post(kCon, 7), "a").size(), 1u);
  EXPECT_EQ(bench.Ask(Post(kCon, 7), "b").size(), 1u);
  EXPECT_EQ(bench.handles.size(), 2u);
}

TEST(CoapRecord, ExchangesAreForgottenInTheirOrderWhenThereAreTooMany) {
  Limits limits;
  limits.max_exchanges = 3;
  Bench bench({}, limits);
  for (unsigned id = 1; id <= 4; ++id) bench.Ask(Post(kCon, id));
  bench.Ask(Post(kCon, 4));
  bench.Ask(Post(kCon, 2));
  EXPECT_EQ(bench.handles.size(), 4u);
  bench.Ask(Post(kCon, 1));  // forgotten
  EXPECT_EQ(bench.handles.size(), 5u);
}

TEST(CoapRecord, ANonConfirmablePostIsAnsweredAsOneOnceItIsSafe) {
  Bench bench;
  bench.answer.copies = 1;
  EXPECT_TRUE(bench.Ask(Post(kNon, 7)).empty());
  EXPECT_EQ(bench.TakeLog(), "[dev r/dev/temp 0 non 21.5]");
  EXPECT_TRUE(bench.Ask(Post(kNon, 7)).empty());  // a duplicate
  EXPECT_TRUE(bench.Wait(10).empty());            // and no empty ACK
  const auto sent = bench.Acknowledge(bench.handles[0]);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type, kNon);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(bench.handles.size(), 1u);
}

// RFC 7967.
TEST(CoapRecord, AnUnwantedAnswerIsNotSent) {
  Bench bench;
  EXPECT_TRUE(bench.Ask(Post(kNon, 1, "x", {{258, "\x02"}})).empty());
  EXPECT_EQ(bench.handles.back(), 0u);
  bench.answer.verdict = Verdict::kFull;
  EXPECT_EQ(bench.Ask(Post(kNon, 2, "x", {{258, "\x02"}})).at(0).dotted(), 503u);
  EXPECT_TRUE(bench.Ask(Post(kNon, 3, "x", {{258, "\x1A"}})).empty());
  bench.answer.verdict = Verdict::kTaken;
  const auto sent = bench.Ask(Post(kCon, 4, "x", {{258, "\x02"}}));
  ASSERT_EQ(sent.size(), 1u);  // a CON needs its ACK, an Empty one
  EXPECT_EQ(sent[0].type, kAck);
  EXPECT_EQ(sent[0].code, 0u);
}

TEST(CoapRecord, AVerdictOfTheOwnerIsAnsweredWithMaxAge) {
  struct {
    Verdict verdict;
    unsigned code;
    unsigned max_age;
  } const cases[] = {{Verdict::kFull, 503, 9},
                     {Verdict::kTooFast, 429, 9},
                     {Verdict::kNotAllowed, 403, ~0u},
                     {Verdict::kNotTaken, 503, 9}};
  unsigned id = 1;
  for (const auto& c : cases) {
    Bench bench;
    bench.answer = {c.verdict, 0, 9};
    const auto sent = bench.Ask(Post(kCon, id++));
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].dotted(), c.code);
    EXPECT_EQ(sent[0].Number(14), c.max_age);
    EXPECT_FALSE(sent[0].payload.empty());
  }
}

TEST(CoapRecord, AWithheldRecordIsAnswered503WithMaxAge) {
  for (const bool late : {false, true}) {
    Bench bench;
    bench.answer.copies = 2;
    EXPECT_TRUE(bench.Ask(Post(kCon, 1)).empty());
    if (late) bench.Wait(3);  // an empty ACK left
    bench.server.Withhold(bench.handles.back(), 9, bench.now_us);
    const auto sent = bench.TakeSent();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].dotted(), 503u);
    EXPECT_EQ(sent[0].Number(14), 9u);
    EXPECT_EQ(sent[0].type, late ? kCon : kAck);
    EXPECT_TRUE(bench.Acknowledge(bench.handles.back()).empty()) << "it is answered";
  }
}

TEST(CoapRecord, MoreRecordsThanMayWaitAreAnswered503) {
  Limits limits;
  limits.max_unacknowledged = 2;
  Bench bench({}, limits);
  bench.answer.copies = 1;
  for (unsigned id = 1; id <= 2; ++id) EXPECT_TRUE(bench.Ask(Post(kCon, id)).empty());
  EXPECT_EQ(bench.Ask(Post(kCon, 3)).at(0).dotted(), 503u);
  bench.Wait(248);  // the devices have given up
  EXPECT_EQ(bench.server.unacknowledged(), 0u);
}

std::vector<Read> Upload(Bench* bench, const Bytes& body, unsigned exponent, unsigned* id,
                         std::string_view from = "peer", size_t skip = SIZE_MAX) {
  std::vector<Read> last;
  const size_t size = size_t{16} << exponent;
  for (size_t at = 0; at < body.size(); at += size) {
    if (at / size == skip) continue;
    const bool more = at + size < body.size();
    last = bench->Ask(Post(kCon, (*id)++, body.substr(at, size),
                           {{27, BlockValue(static_cast<unsigned>(at / size), more, exponent)}}),
                      from);
    if (!more) return last;
    EXPECT_EQ(last.size(), 1u);
    if (skip == SIZE_MAX) {
      EXPECT_EQ(last[0].dotted(), 231u);
      EXPECT_EQ(last[0].Text(27), BlockValue(static_cast<unsigned>(at / size), true, exponent));
    }
  }
  return last;
}

// RFC 7959 2.5.
TEST(CoapRecord, ABodyOf100KilobytesInBlocksOfEachSizeIsOneRecord) {
  Bytes body(100'000, '\0');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 >> 3);
  unsigned id = 1;
  for (unsigned exponent = 2; exponent <= 6; ++exponent) {
    Bench bench;
    bench.answer.copies = 1;
    EXPECT_TRUE(Upload(&bench, body, exponent, &id).empty());
    ASSERT_EQ(bench.handles.size(), 1u);
    EXPECT_EQ(bench.payload, body);
    const auto sent = bench.Acknowledge(bench.handles[0]);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].dotted(), 204u);
    EXPECT_EQ(sent[0].Number(27) & 8u, 0u);
  }
}

TEST(CoapRecord, ABodyIsWholeOrNothing) {
  unsigned id = 1;
  const Bytes body(64, 'b');
  for (size_t skip = 0; skip < 3; ++skip) {
    Bench bench;
    const auto sent = Upload(&bench, body, 0, &id, "peer", skip);
    EXPECT_EQ(sent.at(0).dotted(), 408u) << skip;
    EXPECT_TRUE(bench.handles.empty());
  }
}

TEST(CoapRecord, ABlockThatComesTwiceWithAnotherIdCountsOnce) {
  Bench bench;
  const auto block = [](unsigned id, unsigned number, bool more, const Bytes& text) {
    return Post(kCon, id, text, {{27, BlockValue(number, more, 0)}});
  };
  EXPECT_EQ(bench.Ask(block(1, 0, true, Bytes(16, 'a'))).at(0).dotted(), 231u);
  EXPECT_EQ(bench.Ask(block(2, 1, true, Bytes(16, 'b'))).at(0).dotted(), 231u);
  EXPECT_EQ(bench.Ask(block(3, 1, true, Bytes(16, 'b'))).at(0).dotted(), 231u);
  EXPECT_EQ(bench.Ask(block(4, 2, false, "c")).at(0).dotted(), 204u);
  EXPECT_EQ(bench.payload, Bytes(16, 'a') + Bytes(16, 'b') + "c");
}

// RFC 9175 3; far ends and topics are separate anyway.
TEST(CoapRecord, RequestTagsDistinguishTwoBodiesOfOneFarEnd) {
  Bench bench;
  unsigned id = 1;
  for (unsigned number = 0; number < 2; ++number) {
    for (const char* tag : {"1", "2"}) {
      bench.Ask(Post(kCon, id++, Bytes(number == 0 ? 16 : 3, *tag),
                     {{27, BlockValue(number, number == 0, 0)}, {292, tag}}));
    }
  }
  EXPECT_EQ(bench.TakeLog(),
            "[dev r/dev/temp 0 con 1111111111111111111]"
            "[dev r/dev/temp 0 con 2222222222222222222]");
}

TEST(CoapRecord, ABodyOverTheLimitIsRefusedWithTheLimit) {
  Settings settings;
  settings.max_body_bytes = 2048;
  Bench bench(settings);
  unsigned id = 1;
  const auto claimed = bench.Ask(
      Post(kCon, id++, Bytes(1024, 'x'), {{27, BlockValue(0, true, 6)}, {60, "\x08\x01"}}));
  EXPECT_EQ(claimed.at(0).dotted(), 413u);
  EXPECT_EQ(claimed[0].Number(60), 2048u);
  const Options third{{27, BlockValue(2, false, 6)}};
  for (unsigned number = 0; number < 2; ++number) {
    bench.Ask(Post(kCon, id++, Bytes(1024, 'x'), {{27, BlockValue(number, true, 6)}}));
  }
  EXPECT_EQ(bench.Ask(Post(kCon, id++, "x", third)).at(0).dotted(), 413u);
  EXPECT_EQ(bench.Ask(Post(kCon, id++, "", third)).at(0).dotted(), 408u);  // it was dropped
  EXPECT_TRUE(bench.handles.empty());
}

TEST(CoapRecord, ADatagramOverTheLimitIsAnsweredWithTheBlockSize) {
  Bench bench;
  const auto sent = bench.Ask(Post(kCon, 1, Bytes(1400, 'x')));
  EXPECT_EQ(sent.at(0).dotted(), 413u);
  EXPECT_EQ(sent[0].Number(27), 6u);
  EXPECT_TRUE(bench.handles.empty());
}

TEST(CoapRecord, HalfFinishedBodiesAreBounded) {
  Limits limits;
  limits.max_uploads = 8;
  limits.max_upload_bytes = 65536;
  Bench bench({}, limits);
  unsigned id = 1;
  for (unsigned device = 0; device < 1000; ++device) {
    const Bytes path = "r/dev" + std::to_string(device);
    for (unsigned number = 0; number < 4; ++number) {
      bench.Ask(Datagram(kCon, kPostCode, id++, "", Path(path, {{27, BlockValue(number, true, 6)}}),
                         Bytes(1024, 'x')));
    }
  }
  const size_t held = bench.server.memory_bytes();
  bench.Wait(300);
  EXPECT_LT(held - bench.server.memory_bytes(), 70'000u);
  EXPECT_GT(held - bench.server.memory_bytes(), 4096u);
}

TEST(CoapRecord, ADeviceHasTwoBodiesUnderWayAtMost) {
  Bench bench;
  for (unsigned i = 0; i < 3; ++i) {
    bench.Ask(Datagram(kCon, kPostCode, i, "", Path("r/dev/" + std::to_string(i), {{27, "\x08"}}),
                       Bytes(16, 'x')));
  }
  for (unsigned i = 0; i < 3; ++i) {
    const auto sent = bench.Ask(Datagram(kCon, kPostCode, 10 + i, "",
                                         Path("r/dev/" + std::to_string(i), {{27, "\x10"}}), "y"));
    EXPECT_EQ(sent.at(0).dotted(), i == 0 ? 408u : 204u);
  }
}

TEST(CoapRecord, OurMessageIdsIdentifyTheWorker) {
  for (uint32_t worker = 0; worker < 3; ++worker) {
    Bench bench({}, {}, worker, 3);
    for (unsigned id = 0; id < 2000; ++id) {
      const auto sent = bench.Ask(Post(kNon, id));
      ASSERT_EQ(sent.at(0).id % 3, worker);
    }
  }
}

TEST(CoapRecord, AnotherMessageUnderTheSameIdIsANewRecord) {
  Bench bench;
  const auto post = [](const char* token, const char* payload) {
    return Datagram(kCon, kPostCode, 1, token, Path("r/dev/temp"), payload);
  };
  EXPECT_EQ(bench.Ask(post("t1", "before")).at(0).token, "t1");
  bench.Wait(200);  // the device was restarted and counts its message ids from the beginning
  const auto sent = bench.Ask(post("t2", "after"));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].dotted(), 204u);
  EXPECT_EQ(sent[0].token, "t2");
  EXPECT_EQ(bench.TakeLog(), "[dev r/dev/temp 0 con before][dev r/dev/temp 0 con after]");
  EXPECT_EQ(bench.Ask(post("t2", "after")).at(0).token, "t2") << "sent again";
  EXPECT_EQ(bench.TakeLog(), "") << "and no record";
  EXPECT_EQ(bench.server.counters().duplicates, 1u);
}

}  // namespace
}  // namespace seganet

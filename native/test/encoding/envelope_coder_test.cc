#include "core/encoding/envelope_coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "core/record/encoder.h"
#include "core/record/json.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Hex;

constexpr Format kEncoded[] = {Format::kJson, Format::kCbor, Format::kSenmlJson,
                               Format::kSenmlCbor};
constexpr char kRefused[] = "refused";

std::string Encoded(Format format, std::string_view lines) {
  const std::unique_ptr<EnvelopeCoder> coder = MakeEnvelopeCoder(format);
  std::string out = "before";
  const bool is_done = coder->Encode(lines, &out);
  EXPECT_TRUE(out.starts_with("before"));
  if (!is_done) EXPECT_EQ(out, "before");
  return is_done ? out.substr(6) : kRefused;
}

std::string Line(std::string_view device, std::string_view topic, std::string_view payload,
                 int64_t ts_ms, uint32_t seq) {
  Record record = test::MakeRecord(device, topic, payload);
  record.ts_ms = ts_ms;
  record.seq = seq;
  std::string out;
  AppendNdjson(record, &out);
  return out;
}

// Two records of a device, one of another.
std::string Lines() {
  return "{\"k\":\"gw/1/3/7\"," +
         Line("m-7", "hall", "{\"t\":21.5,\"on\":true}", 1763712000123, 41).substr(1) +
         Line("m-7", "hall", "{\"t\":21.6,\"on\":false}", 1763712000133, 42) +
         Line("cam", "gate", "\x01\x02", 1763712000133, 0);
}

TEST(EnvelopeCoder, NdjsonNeedsNone) { EXPECT_EQ(MakeEnvelopeCoder(Format::kNdjson), nullptr); }

TEST(EnvelopeCoder, AJsonArrayHasTheObjectsOfTheLines) {
  std::string wanted = "[" + Lines();
  wanted.back() = ']';
  std::replace(wanted.begin(), wanted.end(), '\n', ',');
  EXPECT_EQ(Encoded(Format::kJson, Lines()), wanted);
}

TEST(EnvelopeCoder, ACborSequenceLeavesOutWhatTheRecordBeforeHas) {
  EXPECT_EQ(Hex(Encoded(Format::kCbor, Lines())),
            // Key, device, topic, ms since 1970, sequence, class, payload.
            "a7006867772f312f332f3701636d2d37026468616c6c031b0000019aa56d607b0418290503"
            "06a26174f94d60626f6ef5"
            // 10 ms later; 21.6 is a decimal fraction.
            "a30b0a04182a06a26174c4822018d8626f6ef4"
            // Another device, topic and 0 ms; bytes.
            "a5016363616d0264676174650b00040007420102");
}

TEST(EnvelopeCoder, SenmlNamesMembersByDeviceAndTopic) {
  EXPECT_EQ(Encoded(Format::kSenmlJson, Lines()),
            "[{\"bn\":\"m-7/hall/\",\"bt\":1763712000.123,\"key\":\"gw/1/3/7\",\"sq\":41,\"cl\":3,"
            "\"n\":\"t\",\"v\":21.5},{\"n\":\"on\",\"vb\":true},"
            "{\"bt\":1763712000.133,\"sq\":42,\"n\":\"t\",\"v\":21.6},{\"n\":\"on\",\"vb\":false},"
            "{\"bn\":\"cam/gate\",\"sq\":0,\"vd\":\"AQI\"}]");
}

TEST(EnvelopeCoder, SenmlCborHasTheNumbersOfLabels) {
  EXPECT_EQ(Hex(Encoded(Format::kSenmlCbor, Lines())),
            "85a721696d2d372f68616c6c2f22fb41da48070007df3b636b65796867772f312f332f37627371182962"
            "636c0300617402f94d60a200626f6e04f5"
            "a422fb41da480700088312627371182a00617402c4822018d8a200626f6e04f4"
            "a3216863616d2f676174656273710008420102");
}

TEST(EnvelopeCoder, SenmlKeepsNamesThatItForbidsInFieldsOfOurs) {
  EXPECT_EQ(Encoded(Format::kSenmlJson, Line("a/b", "x y", "1", 1763712000000, 1)),
            "[{\"bn\":\"a/b/x_y\",\"bt\":1763712000,\"dev\":\"a/b\",\"top\":\"x y\",\"sq\":1,"
            "\"cl\":3,\"v\":1}]");
  EXPECT_EQ(Encoded(Format::kSenmlJson, Line("_", "\xC3\xA4", "1", 1763712000000, 1)),
            "[{\"bn\":\"d_/__\",\"bt\":1763712000,\"dev\":\"_\",\"top\":\"\xC3\xA4\",\"sq\":1,"
            "\"cl\":3,\"v\":1}]");
}

TEST(EnvelopeCoder, SenmlCarriesOtherPayloadsAsData) {
  const auto value_of = [](std::string_view payload) {
    const std::string pack = Encoded(Format::kSenmlJson, Line("d", "t", payload, 1763712000000, 1));
    constexpr std::string_view kHead = "[{\"bn\":\"d/t\",\"bt\":1763712000,\"sq\":1,\"cl\":3,";
    EXPECT_TRUE(pack.starts_with(kHead)) << pack;
    return pack.substr(std::min(kHead.size(), pack.size()));
  };
  EXPECT_EQ(value_of("21.50"), "\"v\":21.50}]");
  EXPECT_EQ(value_of("\"on\""), "\"vs\":\"on\"}]");
  EXPECT_EQ(value_of("\xFF"), "\"vd\":\"_w\"}]");
  for (const std::string_view json :
       {"null", "{}", "[]", "{\"a\":null}", "{\"a\":[1]}", "{\"a\":1,\"a\":2}", "{\"\":1}"}) {
    std::string base64;
    AppendBase64(json, &base64);
    while (base64.ends_with('=')) base64.pop_back();
    EXPECT_EQ(value_of(json), "\"ct\":\"50\",\"vd\":\"" + base64 + "\"}]");
  }
}

TEST(EnvelopeCoder, SenmlCarriesAnObjectOfManyMembersAsData) {
  std::string members;
  for (int i = 0; i < 256; ++i) members += ",\"m" + std::to_string(i) + "\":1";
  const auto encoded = [](const std::string& members_of) {
    return Encoded(Format::kSenmlJson,
                   Line("d", "t", "{" + members_of.substr(1) + "}", 1763712000000, 1));
  };
  EXPECT_EQ(encoded(members).find("\"vd\""), std::string::npos);
  EXPECT_NE(encoded(members + ",\"m\":1").find("\"ct\":\"50\",\"vd\""), std::string::npos);
}

TEST(EnvelopeCoder, SenmlCarriesTimesThatItReadsOtherwiseInAFieldOfOurs) {
  EXPECT_EQ(Encoded(Format::kSenmlJson, Line("d", "t", "1", 268'435'455'999, 1)),
            "[{\"bn\":\"d/t\",\"bt\":0,\"ms\":268435455999,\"sq\":1,\"cl\":3,\"v\":1}]");
  EXPECT_EQ(Encoded(Format::kSenmlJson, Line("d", "t", "1", 268'435'456'000, 1)),
            "[{\"bn\":\"d/t\",\"bt\":268435456,\"sq\":1,\"cl\":3,\"v\":1}]");
}

TEST(EnvelopeCoder, EveryRecordOfTheEngineIsEncoded) {
  test::Random random;
  for (int round = 0; round < 500; ++round) {
    std::string lines;
    for (int i = random.In(1, 5); i > 0; --i) {
      const std::string device = random.Bytes(random.In<size_t>(1, 8));
      const std::string topic = random.Text(random.In<size_t>(0, 8), "ab/\"\\\n\xC3\xA4");
      const std::string payload =
          random.OneIn(2)
              ? random.Text(random.In<size_t>(0, 20), "{}[]\":,10.e-\n")
              : "{\"v\": [" + std::to_string(random.In<int>(-1'000'000'000, 1'000'000'000)) + "]}";
      lines += Line(device, topic, payload, random.In<int64_t>(-5, 1'800'000'000'000),
                    random.In<uint32_t>(0, UINT32_MAX));
    }
    for (const Format format : kEncoded) {
      const std::string once = Encoded(format, lines);
      ASSERT_NE(once, kRefused) << lines;
      ASSERT_EQ(Encoded(format, lines), once) << "a packet that is sent again must not differ";
    }
  }
}

TEST(EnvelopeCoder, OneObjectEncodesManyEnvelopes) {
  const std::string other = Line("x", "y", "{\"a\":1}", 1763712000123, 1);
  for (const Format format : kEncoded) {
    const std::unique_ptr<EnvelopeCoder> coder = MakeEnvelopeCoder(format);
    for (const std::string& lines : {Lines(), other, std::string("{}\n"), Lines(), Lines()}) {
      std::string out;
      EXPECT_EQ(coder->Encode(lines, &out) ? out : kRefused, Encoded(format, lines));
    }
  }
}

TEST(EnvelopeCoder, LinesOfAnotherFormAreRefused) {
  const std::string good = Line("d", "t", "1", 5, 1);
  EXPECT_EQ(good, "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}\n");
  for (const std::string_view bad : {
           "",
           "\n",
           "{}\n",
           "7\n",
           "{\"d\":\"\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5.5,\"s\":1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":05,\"s\":1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":-0,\"s\":1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":-1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":4294967296,\"c\":3,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":9,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":0,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1,\"x\":2}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"x\":2,\"p\":1}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1,\"b\":\"\"}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"b\":\"AAA\"}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"b\":\"AAB=\"}",
           "{\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"b\":\"A===\"}",
           "{\"d\":\"d\\x\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
           "{\"d\":\"d\xFF\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
           "{\"t\":\"t\",\"d\":\"d\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
           "{ \"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
           "{\"k\":\"g/1/3/1\",\"d\":\"d\",\"t\":\"t\",\"ts\":5,\"s\":1,\"c\":3,\"p\":1}",
       }) {
    for (const Format format : kEncoded) {
      // As the second line: a key is allowed in the first one only.
      EXPECT_EQ(Encoded(format, good + std::string(bad) + "\n"), kRefused) << bad;
    }
  }
  for (const Format format : kEncoded) {
    EXPECT_EQ(Encoded(format, ""), kRefused);
    EXPECT_NE(Encoded(format, good.substr(0, good.size() - 1)), kRefused);
    for (size_t size = 0; size + 1 < good.size(); ++size) {
      EXPECT_EQ(Encoded(format, good.substr(0, size)), kRefused);
    }
  }
}

}  // namespace
}  // namespace seganet

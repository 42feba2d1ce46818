#include "core/encoding/envelope_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "test/support/fake_compression.h"

namespace seganet {
namespace {

using test::FakeCompressed;

std::string Line(const std::string& topic, int n = 0) {
  return "{\"d\":\"d\\\"1\",\"t\":\"" + topic + "\",\"ts\":1,\"s\":" + std::to_string(n) +
         ",\"c\":3,\"p\":{\"value\":1,\"more\":\"0123456789\"}}\n";
}

class EnvelopePackerTest : public testing::Test {
 protected:
  EnvelopePacker Make(std::vector<std::string> never = {}) {
    return {&library_, {.compression = Compression::kZstd, .never = std::move(never)}};
  }
  CompressionLibrary library_ = test::FakeLibrary();
  std::string out_;
};

TEST_F(EnvelopePackerTest, CountsWhatItCompresses) {
  EnvelopePacker packer = Make();
  const std::string lines = Line("a") + Line("b");
  ASSERT_TRUE(packer.MayPack(lines));
  ASSERT_TRUE(packer.Pack(lines, 6, &out_));
  EXPECT_EQ(out_, FakeCompressed(lines));
  EXPECT_EQ(packer.numbers().packed, 1u);
  EXPECT_EQ(packer.numbers().before, lines.size());
  EXPECT_EQ(packer.numbers().after, out_.size());
}

TEST_F(EnvelopePackerTest, SendsUnchangedWhatDoesNotShrinkOrFails) {
  EnvelopePacker packer = Make();
  EXPECT_FALSE(packer.Pack("LARGE", 0, &out_));
  EXPECT_FALSE(packer.Pack("FAIL" + Line("a"), 0, &out_));
  const std::string lines = Line("a");
  const size_t gain = lines.size() - FakeCompressed(lines).size();
  EXPECT_FALSE(packer.Pack(lines, gain, &out_));
  EXPECT_TRUE(packer.Pack(lines, gain - 1, &out_));
  EXPECT_EQ(packer.numbers().larger, 2u);
  EXPECT_EQ(packer.numbers().failures, 1u);
  EXPECT_EQ(packer.numbers().packed, 1u);
}

TEST_F(EnvelopePackerTest, KeepsOutAnEnvelopeWithARecordOfAFilteredTopic) {
  EnvelopePacker packer = Make({"login/#", "+/position"});
  EXPECT_TRUE(packer.MayPack(Line("hall/meter") + Line("positions")));
  for (const char* topic : {"login", "login/7", "car/position"}) {
    EXPECT_FALSE(packer.MayPack(Line("hall/meter") + Line(topic) + Line("hall"))) << topic;
  }
  EXPECT_EQ(packer.numbers().kept_out, 3u);
}

TEST_F(EnvelopePackerTest, KeepsOutWhatItCannotCheckIfThereAreFilters) {
  EnvelopePacker packer = Make({"login/#"}), all = Make();
  for (const std::string& lines :
       {std::string("{\"t\":\"login\",\"d\":\"1\"}\n"), std::string("[1]\n"),
        std::string("{\"d\":\""), std::string("{\"d\":\"1\",\"t\":\"\\u006cogin\"}\n"),
        std::string("{\"d\":\"1\\"), Line("hall") + "\n",
        std::string("{ \"d\":\"1\",\"t\":\"a\"}\n")}) {
    EXPECT_FALSE(packer.MayPack(lines)) << lines;
    EXPECT_TRUE(all.MayPack(lines)) << lines;
  }
}

TEST_F(EnvelopePackerTest, CompressesNothingWhileItIsOff) {
  EnvelopePacker packer = Make({"login/#"});
  packer.SetOn(false);
  EXPECT_FALSE(packer.MayPack(Line("a")));
  EXPECT_FALSE(packer.MayPack(Line("login")));
  EXPECT_EQ(packer.numbers().kept_out, 0u);
  packer.SetOn(true);
  EXPECT_TRUE(packer.MayPack(Line("a")));
  EXPECT_FALSE(packer.MayPack(""));
}

TEST_F(EnvelopePackerTest, UsesADictionaryUntilItIsRemoved) {
  EnvelopePacker packer = Make();
  const DictionaryHash hash = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(packer.dictionary(), nullptr);
  ASSERT_TRUE(packer.SetDictionary(hash, "words"));
  ASSERT_NE(packer.dictionary(), nullptr);
  EXPECT_EQ(*packer.dictionary(), hash);
  ASSERT_TRUE(packer.Pack(Line("a"), 0, &out_));
  EXPECT_EQ(out_, FakeCompressed(Line("a"), "words"));
  ASSERT_TRUE(packer.SetDictionary(hash, ""));
  EXPECT_EQ(packer.dictionary(), nullptr);
  ASSERT_TRUE(packer.Pack(Line("a"), 0, &out_));
  EXPECT_EQ(out_, FakeCompressed(Line("a")));
}

TEST_F(EnvelopePackerTest, ProposesTheLatestWholeLinesThatFit) {
  EnvelopePacker packer = Make();
  for (int i = 0; i < 200; ++i) packer.Pack(Line("a", i), 0, &out_);
  const std::string all = packer.Propose(Compressor::kMaxDictionaryBytes);
  EXPECT_TRUE(all.ends_with(Line("a", 199)));
  EXPECT_EQ(packer.fresh_lines(), 0u);
  EXPECT_EQ(static_cast<size_t>(std::count(all.begin(), all.end(), '\n')), EnvelopePacker::kLines);
  const size_t line_bytes = Line("a", 199).size();
  EXPECT_EQ(packer.Propose(2 * line_bytes), Line("a", 198) + Line("a", 199));
  EXPECT_EQ(packer.Propose(line_bytes - 1), "");
  packer.Pack(std::string(5'000, 'x') + "\n", 0, &out_);
  EXPECT_EQ(packer.Propose(line_bytes), Line("a", 199)) << "a long line is left out";
}

TEST_F(EnvelopePackerTest, TriesADictionaryOnARecentEnvelope) {
  EnvelopePacker packer = Make();
  EXPECT_EQ(packer.Try("words").plain, 0u);
  packer.Pack(Line("a"), 0, &out_);
  const Trial trial = packer.Try("words");
  EXPECT_EQ(trial.plain, Line("a").size());
  EXPECT_EQ(trial.current, FakeCompressed(Line("a")).size());
  EXPECT_EQ(trial.proposed, FakeCompressed(Line("a"), "words").size());
  EXPECT_EQ(packer.Try("").plain, 0u);
  EXPECT_EQ(packer.dictionary(), nullptr);
}

}  // namespace
}  // namespace seganet

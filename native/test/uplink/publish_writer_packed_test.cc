// The packets of compressed envelopes, byte for byte, with a library whose output is the same on
// each machine.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/uplink/publish_writer.h"
#include "test/support/fake_compression.h"
#include "test/support/mqtt_bytes.h"

namespace seganet {
namespace {

using mqtt_test::Lit;
using mqtt_test::Str;
using test::FakeCompressed;

constexpr DictionaryHash kHash = {1, 2, 3, 4, 5, 6, 7, 8};

std::string Line() { return "{\"d\":\"1\",\"t\":\"a\",\"p\":\"" + std::string(200, 'x') + "\"}\n"; }

class PackedTest : public testing::Test {
 protected:
  PackedTest() {
    stage_.topic.fill({{TopicPart::Kind::kText, "e"}});
    stage_.record_topic.fill({{TopicPart::Kind::kTopic, {}}});
    stage_.key_raw = stage_.key_json = "g";
    stage_.packer = std::make_shared<EnvelopePacker>(
        &library_, PackerOptions{.compression = Compression::kZstd, .never = {"login/#"}});
  }

  std::string Written(const std::string& lines, bool is_v5) {
    Batch batch;
    batch.kind = BatchKind::kEnvelope;
    batch.record_class = kNormal;
    batch.epoch = 1;
    batch.sequence = 2;
    batch.bytes = lines;
    const size_t size = writer_.Prepare(MessageOf(batch), stage_, is_v5, true);
    std::string out;
    if (size > 0) writer_.Write(5, false, &out);
    EXPECT_EQ(out.size(), size);
    return out;
  }

  // With its fixed header; all of them are shorter than 128 bytes.
  static std::string Packet(const std::string& rest) {
    return std::string("\x32") + static_cast<char>(rest.size()) + rest;
  }

  static std::string Keyed(const std::string& lines) {
    return "{\"k\":\"g/1/3/2\"," + lines.substr(1);
  }

  CompressionLibrary library_ = test::FakeLibrary();
  UplinkStage stage_;
  PublishWriter writer_;
  const std::string id_ = Lit("\0\x05");
};

TEST_F(PackedTest, Mqtt5NamesTheEncodingByAProperty) {
  const std::string properties =
      '\x26' + Str("seganet-key") + Str("g/1/3/2") + '\x26' + Str("content-encoding") + Str("zstd");
  EXPECT_EQ(Written(Line(), true), Packet(Str("e") + id_ + static_cast<char>(properties.size()) +
                                          properties + FakeCompressed(Keyed(Line()))));
}

TEST_F(PackedTest, Mqtt311HasAPrefix) {
  EXPECT_EQ(Written(Line(), false),
            Packet(Str("e") + id_ + Lit("\xFESG\x01\0\x01") + FakeCompressed(Keyed(Line()))));
}

TEST_F(PackedTest, ADictionaryIsNamedByAPrefixInBothVersions) {
  stage_.packer->SetDictionary(kHash, "words");
  const std::string payload = Lit("\xFESG\x01\0\x81\x01\x02\x03\x04\x05\x06\x07\x08") +
                              FakeCompressed(Keyed(Line()), "words");
  EXPECT_EQ(Written(Line(), false), Packet(Str("e") + id_ + payload));
  EXPECT_EQ(Written(Line(), true), Packet(Str("e") + id_ + Lit("\0") + payload));
}

TEST_F(PackedTest, OtherEnvelopesAreAsWithoutCompression) {
  const std::string kept_out =
      "{\"d\":\"1\",\"t\":\"login/7\",\"p\":\"" + std::string(200, 'x') + "\"}\n";
  for (const bool is_v5 : {false, true}) {
    for (const std::string& lines :
         {kept_out, "{\"d\":\"1\",\"t\":\"a\",\"p\":\"LARGE" + std::string(90, 'x') + "\"}\n",
          "{\"d\":\"1\",\"t\":\"a\",\"p\":\"FAIL" + std::string(90, 'x') + "\"}\n",
          std::string()}) {
      const std::string got = Written(lines, is_v5);
      const auto packer = std::move(stage_.packer);
      stage_.packer = nullptr;
      EXPECT_EQ(got, Written(lines, is_v5));
      stage_.packer = packer;
    }
  }
}

}  // namespace
}  // namespace seganet

// Reads golden/publish-vectors.txt: batches and their packets, which must never change. A field
// that a case does not have is that of the case before.
#ifndef SEGANET_TEST_SUPPORT_PUBLISH_VECTORS_H_
#define SEGANET_TEST_SUPPORT_PUBLISH_VECTORS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/uplink/publish_writer.h"

namespace seganet::test {

// Pieces separated by dots, each in hex, or xx*n.
inline std::string FromDotted(const std::string& text) {
  std::string bytes;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, '.');) {
    const size_t star = piece.find('*');
    const size_t times =
        star == std::string::npos ? 1 : std::strtoul(piece.c_str() + star + 1, nullptr, 10);
    for (size_t i = 0; i + 1 < std::min(star, piece.size()); i += 2) {
      const auto byte = std::strtoul(piece.substr(i, 2).c_str(), nullptr, 16);
      bytes.append(times, static_cast<char>(byte));
    }
  }
  return bytes;
}

struct PublishVector {
  std::string name;
  Batch batch;
  UplinkStage stage;
  bool is_v5 = false;
  bool retain_available = false;
  bool dup = false;
  uint16_t id = 0;
  int64_t part = Message::kWhole;
  std::string packet;  // empty: there is none
};

inline Message MessageOf(const PublishVector& v) {
  Message message = seganet::MessageOf(v.batch);
  message.part = v.part;
  return message;
}

inline std::vector<TopicPart> TopicFrom(const std::string& text) {
  std::vector<TopicPart> parts;
  std::istringstream names(text);
  for (std::string name; names >> name;) {
    if (name == "device") {
      parts.push_back({TopicPart::Kind::kDevice, {}});
    } else if (name == "topic") {
      parts.push_back({TopicPart::Kind::kTopic, {}});
    } else {
      parts.push_back({TopicPart::Kind::kText, FromDotted(name)});
    }
  }
  return parts;
}

inline PublishVector VectorFrom(const std::map<std::string, std::string>& fields) {
  const auto text = [&](const char* name) {
    const auto it = fields.find(name);
    EXPECT_NE(it, fields.end()) << name;
    return it == fields.end() ? std::string() : it->second;
  };
  const auto number = [&](const char* name) {
    return std::strtoull(text(name).c_str(), nullptr, 10);
  };
  PublishVector v;
  v.name = text("case") + ", MQTT " + text("protocol");
  v.is_v5 = number("protocol") == 5;
  v.retain_available = number("retain-available") == 1;
  v.dup = number("dup") == 1;
  v.id = static_cast<uint16_t>(number("id"));
  v.batch.record_class = static_cast<uint8_t>(number("class"));
  v.batch.kind = static_cast<BatchKind>(number("kind"));
  v.batch.flags = static_cast<uint8_t>(number("flags"));
  v.batch.epoch = number("epoch");
  v.batch.sequence = number("sequence");
  v.batch.device_bytes = static_cast<uint32_t>(number("device-bytes"));
  v.batch.topic_bytes = static_cast<uint32_t>(number("topic-bytes"));
  v.batch.bytes = FromDotted(text("bytes"));
  v.stage.topic.fill(TopicFrom("00"));  // of another class: must never appear
  v.stage.record_topic.fill(TopicFrom("00"));
  v.stage.topic[v.batch.record_class] = TopicFrom(text("topic"));
  v.stage.record_topic[v.batch.record_class] = TopicFrom(text("record-topic"));
  v.stage.key_raw = FromDotted(text("key-raw"));
  v.stage.key_json = FromDotted(text("key-json"));
  v.packet = FromDotted(text("packet"));
  return v;
}

inline std::vector<PublishVector> ReadPublishVectors() {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path().parent_path() / "golden" /
                     "publish-vectors.txt");
  std::vector<PublishVector> vectors;
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (!line.empty()) {
      const size_t blank = line.find(' ');
      fields[line.substr(0, blank)] = line.substr(blank + 1);
    }
    // The last line of a block.
    if (line.starts_with("packet")) vectors.push_back(VectorFrom(fields));
  }
  return vectors;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_PUBLISH_VECTORS_H_

// Writes live batches as MQTT PUBLISH packets, the same bytes as
// nodes/lib/uplink/sending/publish-packet.js: what one of the two sent, the other may send again.
// native/test/golden/publish-vectors.txt holds both to it.
#ifndef SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_
#define SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/batch.h"

namespace seganet {

// A piece of a topic that nodes/lib/base/topic-template.js compiled.
struct TopicPart {
  enum class Kind : uint8_t {
    kText,    // `text` as it stands
    kDevice,  // the record's device
    kTopic,   // the record's own topic
  };
  Kind kind = Kind::kText;
  std::string text;
};

// What an uplink node says about the batches that wait at it. The topics are those of a class;
// index 0 is unused.
struct UplinkStage {
  uint32_t id = 0;
  std::array<std::vector<TopicPart>, kClasses + 1> topic;  // of envelopes
  std::array<std::vector<TopicPart>, kClasses + 1> record_topic;
  // The gateway as it stands in a property, and as it stands in a JSON string.
  std::string key_raw;
  std::string key_json;
};

// The next PUBLISH at QoS 1 [MQTT 3.3]: Prepare() measures it, Write() writes it. It carries the
// batch's de-duplication key, <gateway>/<epoch in base 36>/<class>/<sequence>: in MQTT 5 as a user
// property, and as the field "k" in the first line of an envelope. One object for all packets:
// nothing is allocated but what *out grows by.
//
// Thread safety: none.
class PublishWriter {
 public:
  // Bytes of the whole packet. 0 = no PUBLISH can hold it: its topic is empty, longer than 65,535
  // bytes, or the record's own has + # or NUL [MQTT-3.3.2-2]; its key is longer than 65,535 bytes;
  // or the packet is longer than 268,435,460 bytes [MQTT 2.2.3].
  //
  // REQUIRES: batch.kind is kSingle or kEnvelope, batch.backlog is false (backlog is marked as
  // history, which JavaScript does), ValidClass(batch.record_class), and the lanes have named it
  // (epoch and sequence, below 2^53).
  size_t Prepare(const Batch& batch, const UplinkStage& stage, bool is_v5, bool retain_available);

  // Appends the packet. `dup`: it was sent before. REQUIRES: the last Prepare() gave its size, and
  // its batch and stage are as they were.
  void Write(uint16_t id, bool dup, std::string* out) const;

 private:
  using Topic = std::vector<TopicPart>;

  size_t TopicBytes(const Topic& topic) const;
  bool MeasureTopic(const Batch& batch, const UplinkStage& stage);
  void MeasureField(bool is_envelope, const UplinkStage& stage);
  void MakeTail(const Batch& batch);
  std::string_view tail() const { return {tail_.data(), tail_bytes_}; }

  void WriteTopic(std::string* out) const;
  void WriteProperties(std::string* out) const;

  // 13 digits of base 36, 20 of a sequence, the class and three slashes are at most 37.
  static constexpr size_t kMaxTailBytes = 48;

  const UplinkStage* stage_ = nullptr;
  const Topic* topic_ = nullptr;
  // Into the batch.
  std::string_view device_, own_topic_, payload_;
  std::array<char, kMaxTailBytes> tail_;  // of the key: /<epoch>/<class>/<sequence>
  size_t tail_bytes_ = 0;
  size_t topic_bytes_ = 0;
  size_t field_bytes_ = 0;  // of "k" in the first line, 0 = there is none
  size_t property_bytes_ = 0;
  size_t remaining_ = 0;
  bool field_has_comma_ = false;
  bool is_v5_ = false;
  bool retain_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_

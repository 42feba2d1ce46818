// Writes live batches as MQTT PUBLISH packets, with the same bytes as
// nodes/lib/uplink/sending/publish-packet.js, because either may resend a packet of the other.
// native/test/golden/publish-vectors.txt tests both.
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

// A piece of a topic template, as compiled by nodes/lib/base/topic-template.js.
struct TopicPart {
  enum class Kind : uint8_t {
    kText,    // `text` unchanged
    kDevice,  // the record's device
    kTopic,   // the record's own topic
  };
  Kind kind = Kind::kText;
  std::string text;
};

// The settings of an uplink node for the batches that wait at it. Topics are by class; index 0 is
// unused.
struct UplinkStage {
  uint32_t id = 0;
  std::array<std::vector<TopicPart>, kClasses + 1> topic;         // of envelopes
  std::array<std::vector<TopicPart>, kClasses + 1> record_topic;  // of single records
  // The gateway's name in the key: for an MQTT property, and escaped for a JSON string.
  std::string key_raw;
  std::string key_json;
};

// Writes PUBLISH packets at QoS 1 [MQTT 3.3], one at a time: Prepare() measures a packet, Write()
// writes it. The packet carries the batch's deduplication key, <gateway>/<epoch in base
// 36>/<class>/<sequence>, as a user property in MQTT 5, and as the field "k" in the first line of
// an envelope. Use one object for all packets: only *out allocates memory.
//
// Thread safety: none.
class PublishWriter {
 public:
  // Returns the size of the whole packet in bytes. Returns 0 if the batch does not fit into a
  // PUBLISH: the topic is empty or longer than 65,535 bytes, the record's own topic has + # or NUL
  // [MQTT-3.3.2-2], the key is longer than 65,535 bytes, or the packet is longer than 268,435,460
  // bytes [MQTT 2.2.3].
  //
  // REQUIRES: batch.kind is kSingle or kEnvelope, batch.backlog is false (only JavaScript marks
  // backlog as history), ValidClass(batch.record_class), and the lanes have set epoch and sequence,
  // which are below 2^53.
  size_t Prepare(const Batch& batch, const UplinkStage& stage, bool is_v5, bool retain_available);

  // Appends the packet to `out`. `dup`: it was sent before. REQUIRES: the last Prepare() returned
  // its size, and the batch and stage are unchanged.
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

  // 13 digits of base 36, 20 digits of a sequence, the class and three slashes: at most 37 bytes.
  static constexpr size_t kMaxTailBytes = 48;

  const UplinkStage* stage_ = nullptr;
  const Topic* topic_ = nullptr;
  std::string_view device_, own_topic_, payload_;  // point into the batch
  std::array<char, kMaxTailBytes> tail_;           // of the key: /<epoch>/<class>/<sequence>
  size_t tail_bytes_ = 0;
  size_t topic_bytes_ = 0;
  size_t field_bytes_ = 0;  // of "k" in the first line, 0 = none
  size_t property_bytes_ = 0;
  size_t remaining_ = 0;
  bool field_has_comma_ = false;
  bool is_v5_ = false;
  bool retain_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_

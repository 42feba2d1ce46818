// Writes batches, or parts of them, as MQTT PUBLISH packets, for the express path and for
// JavaScript's feeder. native/test/golden/publish-vectors.txt keeps their bytes as they are: a
// packet has the same bytes each time it is sent, also by a later version.
#ifndef SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_
#define SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding/envelope_coder.h"
#include "core/encoding/envelope_packer.h"
#include "core/encoding/sparkplug/edge_node.h"
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

// How a batch from the log is marked.
enum class History : uint8_t {
  kNone,
  kProperty,  // user property seganet-history (MQTT 5 only)
  kSuffix,    // of the topic
};

// What was written of some stages, in bytes, since the start. The cost of a message follows from
// it.
//
// Thread safety: any thread. Relaxed: a reader needs recent sums, and each of them for itself.
struct SentTotals {
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> head{0};     // of the packets, besides their payloads
  std::atomic<uint64_t> payload{0};  // as sent
  std::atomic<uint64_t> plain{0};    // the same before compression
};

// The settings of an uplink node for the batches that wait at it. Topics are by class; index 0 is
// unused.
struct UplinkStage {
  uint32_t id = 0;
  uint8_t qos = 1;                  // 0 or 1
  Format format = Format::kNdjson;  // of lines of JSON
  History history = History::kNone;
  std::string history_suffix;
  std::array<std::vector<TopicPart>, kClasses + 1> topic;         // of envelopes
  std::array<std::vector<TopicPart>, kClasses + 1> record_topic;  // of single records
  // The gateway's name in the key: for an MQTT property, and escaped for a JSON string.
  std::string key_raw;
  std::string key_json;
  // Compresses envelopes; null = none are compressed. Copies of a stage share it.
  std::shared_ptr<EnvelopePacker> packer = nullptr;
  // Counts what is written; null = nothing does. Copies of a stage share it.
  std::shared_ptr<SentTotals> sent = nullptr;
};

// What one PUBLISH carries: a batch, one of its records, or some of its lines.
struct Message {
  std::string_view device, topic;  // of the record; empty for an envelope of ours
  std::string_view payload;
  std::string_view trace;  // Record::trace, as user properties in MQTT 5
  uint8_t record_class = 0;
  uint32_t records = 1;      // 0 = unknown
  bool is_envelope = false;  // a batch of lines; its topic is the stage's
  bool has_lines = false;    // lines of JSON; the first one gets the key
  bool retain = false;
  bool is_history = false;
  uint64_t epoch = 0, sequence = 0;
  int64_t part = kWhole;  // of its batch, the end of its key
  // Of the record; of a batch, or of a record that was stored without them, the time of the first
  // record and 0.
  int64_t ts_ms = 0;
  uint32_t seq = 0;

  static constexpr int64_t kWhole = -1;
};

// Returns the whole batch as one message. REQUIRES: batch.kind is kSingle or kEnvelope.
Message MessageOf(const Batch& batch);

// Writes PUBLISH packets [MQTT 3.3], one at a time: Prepare() measures a packet, Write() writes it.
// The packet carries the deduplication key, <gateway>/<epoch in base 36>/<class>/<sequence> and,
// for a part of a batch, .<part>, as a user property in MQTT 5, and as the field "k" in the first
// line of an envelope. The trace of a single record follows the key as user properties.
//
// An envelope in another format than NDJSON has its media type as Content Type in MQTT 5; lines
// that its coder refuses stay NDJSON. A compressed envelope is marked by the user property
// content-encoding, or, with MQTT 3.1.1 and with a dictionary, by a prefix
// (encoding/payload_prefix.h), which is shorter. With a prefix the key is only in the first line.
//
// In the format of Sparkplug, the message becomes a DDATA of the edge node, also a single record.
// The caller must send the edge node's packets before it (EdgeNode::before()), then call
// EdgeNode::Commit(). Without an edge node, lines stay NDJSON.
//
// Use one object for all packets: only *out, coders and the compression allocate memory.
//
// Thread safety: none.
class PublishWriter {
 public:
  // Returns the size of the whole packet in bytes. Returns 0 if the message does not fit into a
  // PUBLISH: the topic is empty or longer than 65,535 bytes, the record's own topic has + # or NUL
  // [MQTT-3.3.2-2], the key is longer than 65,535 bytes, or the packet is longer than 268,435,460
  // bytes [MQTT 2.2.3]. Compresses the payload if the stage does so.
  //
  // REQUIRES: ValidClass(message.record_class).
  size_t Prepare(const Message& message, const UplinkStage& stage, bool is_v5,
                 bool retain_available);

  // Sets the edge node of the session; null = none. It must outlive the writer.
  void SetEdgeNode(sparkplug::EdgeNode* edge_node) { edge_node_ = edge_node; }
  // True if the prepared packet is a message of the edge node.
  bool is_sparkplug() const { return is_sparkplug_; }

  // Appends the packet to `out`. `id`: ignored at QoS 0. `dup`: it was sent before. REQUIRES: the
  // last Prepare() returned its size, and the bytes of the message and the stage are unchanged.
  void Write(uint16_t id, bool dup, std::string* out) const;

  // Return where the topic is in the packet; at QoS 1 the identifier follows. REQUIRES for all
  // three: Prepare() returned a size.
  size_t topic_at() const;
  size_t topic_bytes() const { return topic_bytes_; }
  // True if the topic contains something of the record.
  bool HasDeviceTopic() const;

 private:
  using Parts = std::vector<TopicPart>;

  size_t TopicBytes(const Parts& topic) const;
  bool MeasureTopic();
  bool PrepareSparkplug();
  void MeasureField();
  void MakeTail();
  // Encodes the lines in the stage's format. Returns false if they are sent as they are.
  bool Encode();
  void PackPayload();
  bool NeedsPrefix() const;
  size_t PayloadBytes() const;
  void CountSent() const;
  std::string_view tail() const { return {tail_.data(), tail_bytes_}; }

  void WriteTopic(std::string* out) const;
  void WriteProperties(std::string* out) const;
  void WriteLines(std::string* out) const;

  // 13 digits of base 36, twice 20 digits, the class, three slashes and a dot: at most 58 bytes.
  static constexpr size_t kMaxTailBytes = 64;

  Message message_;
  const UplinkStage* stage_ = nullptr;
  const Parts* topic_ = nullptr;
  std::string_view suffix_;               // of the topic
  std::array<char, kMaxTailBytes> tail_;  // of the key: /<epoch>/<class>/<sequence>[.<part>]
  size_t tail_bytes_ = 0;
  size_t topic_bytes_ = 0;
  size_t field_bytes_ = 0;  // of "k" in the first line, 0 = none
  size_t property_bytes_ = 0;
  sparkplug::EdgeNode* edge_node_ = nullptr;
  bool is_sparkplug_ = false;
  Parts sparkplug_topic_;
  // One coder per format, made when it is first used.
  std::array<std::unique_ptr<EnvelopeCoder>, kFormats> coders_;
  std::string encoded_;            // the payload, if is_encoded_
  std::string_view content_type_;  // empty = no such property
  bool is_encoded_ = false;
  size_t remaining_ = 0;
  std::string lines_;   // of an envelope, with the key
  std::string packed_;  // the same, compressed
  std::string prefix_;  // of the compressed payload; empty = none
  bool is_packed_ = false;
  bool field_has_comma_ = false;
  bool is_v5_ = false;
  bool retain_ = false;
  bool has_key_property_ = false;
  bool has_history_property_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_PUBLISH_WRITER_H_

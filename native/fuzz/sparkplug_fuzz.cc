// Sends any lines and payloads through an edge node. Checks that its limits hold, that preparing
// twice gives the same bytes, and that sequence numbers of packets ascend. Input: messages, each of
// one byte that selects its kind, one byte with its length, and its bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/encoding/sparkplug/edge_node.h"
#include "core/record/encoder.h"

namespace {

using seganet::sparkplug::Device, seganet::sparkplug::EdgeNode, seganet::sparkplug::Records;

constexpr size_t kMaxDevices = 3, kMaxMetrics = 40;

void Check(bool good) {
  if (!good) std::abort();
}

// Checks that the bytes are whole packets at QoS 0 of MQTT 3.1.1.
void CheckPackets(std::string_view packets) {
  while (!packets.empty()) {
    Check(packets[0] == 0x30);
    size_t at = 1, remaining = 0;
    for (int shift = 0;; shift += 7) {
      Check(at < packets.size());
      const auto byte = static_cast<uint8_t>(packets[at++]);
      remaining |= static_cast<size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    Check(remaining <= packets.size() - at);
    packets.remove_prefix(at + remaining);
  }
}

void Send(EdgeNode* node, const Records& records, bool is_sent) {
  node->Prepare(records);
  const std::string before(node->before()), payload(node->payload());
  Check(!node->device().empty() && node->device().find_first_of("/+#") == std::string_view::npos);
  CheckPackets(before);
  node->Prepare(records);
  Check(node->before() == before && node->payload() == payload);
  Check(node->devices() <= kMaxDevices);
  Check(node->metrics() <= kMaxMetrics || node->devices() == 1);
  Check(node->metrics() <= Device::kMaxMetrics + 3);
  if (is_sent) node->Commit();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  seganet::sparkplug::EdgeNodeOptions options;
  options.group = "g";
  options.node = "n";
  options.max_devices = kMaxDevices;
  options.max_metrics = kMaxMetrics;
  options.now_ms = [] { return int64_t{1}; };
  EdgeNode node(options);
  node.Begin(0, false);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= 2) {
    const auto kind = static_cast<uint8_t>(rest[0]);
    const auto bytes = rest.substr(2, static_cast<uint8_t>(rest[1]));
    rest.remove_prefix(2 + bytes.size());
    const std::string device = "d" + std::to_string(kind >> 5);
    Records records;
    records.record_class = 3;
    records.bytes = bytes;
    std::string lines;
    switch (kind % 8) {
      case 0:
        node.Rebirth();
        continue;
      case 1: {
        std::string packet;
        node.AppendBirth(&packet);
        CheckPackets(packet);
        continue;
      }
      case 2:
        records.has_lines = true;
        break;
      case 3:
      case 4: {
        seganet::Record record;
        record.device = device;
        record.topic = bytes.substr(0, bytes.size() / 4);
        record.payload = bytes.substr(bytes.size() / 4);
        seganet::AppendNdjson(record, &lines);
        seganet::AppendNdjson(record, &lines);
        records.has_lines = true;
        records.bytes = lines;
        break;
      }
      default:
        records.device = device;
        records.topic = bytes.substr(0, bytes.size() / 8);
    }
    records.is_history = (kind & 8) != 0;
    Send(&node, records, (kind & 16) != 0);
  }
  return 0;
}

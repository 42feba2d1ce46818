#include "notices.h"

#include <algorithm>

#include "../common/record.h"

namespace bench {

void Observations::Take(uint8_t code, std::string_view body, int64_t now_us) {
  if (code >> 5 != 2) {
    ++notices_.failed;
    return;
  }
  // The record is the text in a CBOR map, so its JSON ends where the payload ends.
  const size_t at = body.find("{\"device\":");
  Record record;
  if (at == std::string_view::npos || !ParsePayload(body.substr(at), &record)) {
    ++notices_.unreadable;
    return;
  }
  if (record.device >= below_) return;
  ++notices_.received;
  notices_.latency_us.Add(now_us - record.intended_us);
  const auto [found, is_first] = last_.try_emplace(record.device, record.seq);
  if (is_first) {
    notices_.skipped += record.seq;
    return;
  }
  if (record.seq <= found->second) {
    ++notices_.backward;
    return;
  }
  notices_.skipped += record.seq - found->second - 1;
  found->second = record.seq;
}

void Reached::Add(const Observations& observations) {
  for (const auto& [device, seq] : observations.last()) {
    Lowest& lowest = lowest_[device];
    ++lowest.connections;
    lowest.seq = std::min(lowest.seq, seq);
  }
}

std::string Reached::Json() const {
  std::string out = "[";
  for (const auto& [device, lowest] : lowest_) {
    if (out.size() > 1) out += ",";
    out += "[" + std::to_string(device) + "," + std::to_string(lowest.connections) + "," +
           std::to_string(lowest.seq) + "]";
  }
  return out + "]";
}

}  // namespace bench

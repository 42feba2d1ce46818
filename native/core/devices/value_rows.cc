#include "core/devices/value_rows.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/row_bytes.h"

namespace seganet {

void AppendValueRow(const ValueRow& value, const Now& now, std::string* out) {
  std::string row;
  AppendNumber(&row, now.wall_ms - (now.mono_us - value.changed_us) / 1000);
  AppendNumber(&row, value.ts_ms);
  AppendNumber(&row, value.seq);
  AppendNumber(&row, value.size);
  AppendNumber(&row, value.record_class);
  AppendNumber(&row, static_cast<uint8_t>(value.has_line));
  AppendText(&row, value.device);
  AppendText(&row, value.topic);
  AppendText(&row, value.payload);
  if (value.has_line) {
    for (const float number : value.line) AppendNumber(&row, std::bit_cast<uint32_t>(number));
  }
  AppendNumber(out, static_cast<uint32_t>(row.size()));
  out->append(row);
}

bool ReadValueRow(std::string_view* rows, const Now& now, ValueRow* value) {
  const size_t size = RowReader(*rows).Number<uint32_t>();
  if (size == 0 || size > rows->size() - sizeof(uint32_t)) return false;
  RowReader from(rows->substr(sizeof(uint32_t), size));
  rows->remove_prefix(sizeof(uint32_t) + size);
  const auto renewed_ms = from.Number<int64_t>();
  value->ts_ms = from.Number<int64_t>();
  value->seq = from.Number<uint32_t>();
  value->size = from.Number<uint32_t>();
  value->record_class = from.Number<uint8_t>();
  value->has_line = from.Number<uint8_t>() == 1;
  value->device = from.Text();
  value->topic = from.Text();
  value->payload = from.Text();
  if (value->has_line) {
    for (float& number : value->line) number = std::bit_cast<float>(from.Number<uint32_t>());
  }
  // The clock may have been set back meanwhile. No value is older than some ten thousand years.
  constexpr int64_t kMostAgeMs = int64_t{1} << 49;
  const int64_t age_ms =
      renewed_ms < 0 ? kMostAgeMs : std::clamp<int64_t>(now.wall_ms - renewed_ms, 0, kMostAgeMs);
  value->changed_us = now.mono_us - age_ms * 1000;
  value->restored = true;
  return from.at_end() && !value->device.empty() && value->device.size() <= kMaxDeviceBytes &&
         value->topic.size() <= kMostValueTopicBytes && value->payload.size() <= kMostValueBytes &&
         value->payload.size() <= value->size && value->record_class <= kClasses;
}

}  // namespace seganet

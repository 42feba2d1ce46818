// Runs the windows of a filter stage with any payloads, times and calls. Checks that each record is
// in one window, that payloads are JSON, that receipts are neither lost nor duplicated, and that
// memory is given back.
// Input: the options, then for each call one byte and its arguments.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/plan/windows.h"
#include "core/record/json.h"

namespace {

using seganet::Window, seganet::WindowEnd, seganet::Windows;

void Check(bool law) {
  if (!law) std::abort();
}

class WindowInput {
 public:
  WindowInput(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  // A length and as many bytes, or what is left.
  std::string_view Text() {
    const size_t length = Byte();
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(text.size());
    return text;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  WindowInput input(data, size);
  const uint8_t mode = input.Byte();
  seganet::WindowOptions options;
  options.values = {"$", "t", "$.a[1].b"};
  if (mode & 1) options.values.emplace_back(input.Text());
  options.aggregates = input.Byte();
  options.length_s = input.Byte();
  options.records = input.Byte() % 8;
  options.aligned = mode & 2;
  options.hold = mode & 4;
  options.record_class = input.Byte();
  if (!Validate(options).ok()) return 0;

  // Memory for few windows.
  seganet::Budget budget((mode & 8) != 0 ? 8 << 10 : 8 << 20);
  seganet::WindowTotals totals;
  uint64_t added = 0, ended = 0, held = 0, returned = 0;
  int64_t now_us = 0;
  {
    Windows windows(options, &budget, &totals, [&](Window* window, WindowEnd end) {
      std::string payload;
      seganet::AppendWindow(*window, options, end, &payload);
      bool newline = false;
      Check(seganet::IsJson(payload, &newline) && !newline);
      Check(window->records > 0 && seganet::ValidClass(window->record_class));
      Check(options.records == 0 || window->records <= options.records);
      Check(options.hold || window->receipts.empty());
      ended += window->records;
      returned += window->receipts.size();
    });
    while (!input.empty()) {
      const uint8_t call = input.Byte();
      now_us += int64_t{call >> 4} * 700'000;
      switch (call & 3) {
        case 0:
          windows.EndDue(now_us, call >> 2 & 3);
          break;
        case 1:
          windows.EndEarly([&](std::string_view device) { return device.empty() || call & 4; },
                           now_us);
          break;
        default: {
          const std::string device(call >> 2 & 3, 'd');
          seganet::Record record;
          record.device = device;
          record.topic = "t";
          record.payload = input.Text();
          record.record_class = static_cast<uint8_t>(1 + call % seganet::kClasses);
          record.arrived_us = now_us;
          if (call & 4) record.receipt = {1, 1, 1};
          const int64_t wall_us = now_us + (int64_t{input.Byte()} - 128) * 1'000'000'000;
          if (!windows.Add(record, wall_us)) break;
          ++added;
          held += options.hold && (call & 4) != 0;
        }
      }
      Check(totals.open.load() == static_cast<int64_t>(windows.open()));
      Check(totals.bytes.load() == budget.held());
      Check(windows.open() <= 1 || totals.bytes.load() <= budget.limit() / 2);
    }
    windows.EndDue(now_us + 300'000'000, SIZE_MAX);
    Check(windows.open() == 0 && windows.NextEnd() == seganet::kNever);
  }
  Check(added == ended && held == returned);
  Check(budget.held() == 0 && totals.open.load() == 0 && totals.bytes.load() == 0);
  return 0;
}

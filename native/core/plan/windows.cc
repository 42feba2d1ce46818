#include "core/plan/windows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/require.h"
#include "core/record/condition.h"
#include "core/record/json.h"

namespace seganet {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;

// Memory of a window besides its strings, values and receipts: the list's and the table's nodes.
constexpr size_t kWindowBytes = sizeof(Window) + 96;

template <typename Number>
void AppendNumber(Number number, std::string* out) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, number);
  out->append(text, static_cast<size_t>(end.ptr - text));
}

// JSON has no infinity.
void AppendFinite(double number, std::string* out) {
  if (!std::isfinite(number)) {
    out->append("null");
    return;
  }
  AppendNumber(number, out);
}

void AppendValue(const WindowValue& value, uint8_t aggregates, std::string* out) {
  const std::pair<uint8_t, std::pair<const char*, double>> kNumbers[] = {
      {aggregate::kFirst, {"first", value.first}}, {aggregate::kLast, {"last", value.last}},
      {aggregate::kMin, {"min", value.min}},       {aggregate::kMax, {"max", value.max}},
      {aggregate::kMean, {"mean", value.Mean()}},  {aggregate::kSum, {"sum", value.Sum()}}};
  out->push_back('{');
  for (const auto& [bit, named] : kNumbers) {
    // A value that no record had has only its count.
    if ((aggregates & bit) == 0 || value.count == 0) continue;
    out->append("\"").append(named.first).append("\":");
    AppendFinite(named.second, out);
    out->push_back(',');
  }
  if ((aggregates & aggregate::kCount) != 0 || value.count == 0) {
    out->append("\"count\":");
    AppendNumber(value.count, out);
  } else {
    out->pop_back();  // the comma: at least one other aggregate was written
  }
  out->push_back('}');
}

}  // namespace

void WindowValue::Add(double number) {
  if (count++ == 0) {
    first = last = min = max = sum = number;
    return;
  }
  last = number;
  min = std::min(min, number);
  max = std::max(max, number);
  const double total = sum + number;
  if (std::isfinite(total)) {
    lost += std::abs(sum) >= std::abs(number) ? (sum - total) + number : (number - total) + sum;
  }
  sum = total;
}

void AppendWindow(const Window& window, const WindowOptions& options, WindowEnd end,
                  std::string* out) {
  out->append("{\"from\":");
  AppendNumber(window.from_ms, out);
  out->append(",\"to\":");
  AppendNumber(window.to_ms, out);
  out->append(",\"records\":");
  AppendNumber(window.records, out);
  if (end == WindowEnd::kEarly) out->append(",\"partial\":true");
  out->append(",\"values\":{");
  for (size_t i = 0; i < options.values.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendJsonString(options.values[i], out);
    out->push_back(':');
    AppendValue(window.values[i], options.aggregates, out);
  }
  out->append("}}");
}

Windows::Windows(const WindowOptions& options, Budget* budget, WindowTotals* totals, Sink sink)
    : options_(options),
      budget_(budget),
      totals_(totals),
      sink_(std::move(sink)),
      hash_(SecretNumbers::Random()) {
  SEGANET_REQUIRE(Validate(options).ok());
  for (const std::string& value : options_.values) {
    Path path;
    ParsePath(value, &path);
    numbers_.push_back(paths_.Add(path));
  }
  paths_.Build();
}

Windows::~Windows() {
  for (const Window& window : open_) {
    budget_->GiveBytes(window.bytes);
    totals_->bytes.fetch_sub(static_cast<int64_t>(window.bytes), std::memory_order_relaxed);
  }
  totals_->open.fetch_sub(static_cast<int64_t>(open_.size()), std::memory_order_relaxed);
}

bool Windows::Add(const Record& record, int64_t wall_us) {
  // An envelope has the values of several records.
  if (record.flags & kFlagEnvelope) return false;
  JsonValues values;
  if (!paths_.Read(record.payload, &values)) return false;
  const bool has_value = std::any_of(numbers_.begin(), numbers_.end(), [&](size_t path) {
    return values.KindOf(paths_, path) == JsonKind::kNumber &&
           std::isfinite(values.NumberOf(paths_, path));
  });
  if (!has_value) return false;
  const uint64_t key = hash_.HashOf(record.device, record.topic);
  auto it = places_.find(key);
  if (it != places_.end() && it->second->end_us <= record.arrived_us) {
    End(it->second, WindowEnd::kTime, record.arrived_us);
    it = places_.end();
  }
  const Place window = it != places_.end() ? it->second : Begin(key, record, wall_us);
  Count(window, record, values);
  window->to_ms = wall_us / 1000;
  if (options_.hold) Hold(window, record);
  if (options_.records != 0 && window->records >= options_.records) {
    End(window, WindowEnd::kRecords, record.arrived_us);
  } else if (window->receipts.size() >= kMaxHeldRecords) {
    End(window, WindowEnd::kEarly, record.arrived_us);
  }
  return true;
}

Windows::Place Windows::Begin(uint64_t key, const Record& record, int64_t wall_us) {
  const int64_t length_us = options_.length_s * kUsPerSecond;
  const size_t bytes = kWindowBytes + record.device.size() + record.topic.size() +
                       options_.values.size() * sizeof(WindowValue);
  MakeRoom(bytes, record.arrived_us);
  open_.emplace_back();
  const Place window = std::prev(open_.end());
  window->key = key;
  window->device = record.device;
  window->topic = record.topic;
  window->values.resize(options_.values.size());
  window->record_class = record.record_class;
  if (!options_.aligned) {
    window->from_ms = wall_us / 1000;
    window->end_us = record.arrived_us + length_us;
  } else {
    // All devices share the window, so a step of CLOCK_REALTIME takes effect with the next one.
    if (record.arrived_us >= aligned_end_us_) {
      const int64_t since_us = ((wall_us % length_us) + length_us) % length_us;
      aligned_from_ms_ = (wall_us - since_us) / 1000;
      aligned_end_us_ = record.arrived_us + length_us - since_us;
    }
    window->from_ms = aligned_from_ms_;
    window->end_us = aligned_end_us_;
  }
  places_.emplace(key, window);
  totals_->open.fetch_add(1, std::memory_order_relaxed);
  Charge(window, bytes);
  return window;
}

// Ends windows early until one more fits.
void Windows::MakeRoom(size_t bytes, int64_t now_us) {
  const auto is_full = [&] {
    return open_.size() >= kMaxOpenWindows ||
           totals_->bytes.load(std::memory_order_relaxed) + static_cast<int64_t>(bytes) >
               budget_->limit() / 4;
  };
  while (!open_.empty() && is_full()) End(open_.begin(), WindowEnd::kEarly, now_us);
}

void Windows::Count(Place window, const Record& record, const JsonValues& values) {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (values.KindOf(paths_, numbers_[i]) != JsonKind::kNumber) continue;
    const double number = values.NumberOf(paths_, numbers_[i]);
    if (std::isfinite(number)) window->values[i].Add(number);
  }
  ++window->records;
  window->record_class = std::min(window->record_class, record.record_class);
  window->flags |= record.flags & kFlagQos1;
  window->seq = record.seq;
  window->ts_ms = record.ts_ms;
}

void Windows::Hold(Place window, const Record& record) {
  const size_t before = window->receipts.capacity();
  if (record.receipt.handle != 0) {
    window->receipts.push_back(record.receipt);
    window->has_receipts = true;
  }
  if (record.deferred.handle != 0) {
    window->receipts.push_back(record.deferred);
    window->has_deferred = true;
  }
  const size_t more = window->receipts.capacity() - before;
  if (more > 0) Charge(window, more * sizeof(Receipt));
}

void Windows::Charge(Place window, size_t bytes) {
  window->bytes += bytes;
  budget_->TakeBytes(bytes);
  totals_->bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Windows::End(Place window, WindowEnd end, int64_t now_us) {
  if (end == WindowEnd::kTime) {
    window->to_ms = window->from_ms + options_.length_s * int64_t{1000};
  } else {
    window->end_us = now_us;
  }
  if (options_.record_class != 0) window->record_class = options_.record_class;
  places_.erase(window->key);
  budget_->GiveBytes(window->bytes);
  totals_->bytes.fetch_sub(static_cast<int64_t>(window->bytes), std::memory_order_relaxed);
  // After the sink: a reader that sees no open window must find its record in memory.
  sink_(&*window, end);
  totals_->open.fetch_sub(1, std::memory_order_release);
  open_.erase(window);
}

size_t Windows::EndDue(int64_t now_us, size_t most) {
  size_t ended = 0;
  while (ended < most && !open_.empty() && open_.front().end_us <= now_us) {
    End(open_.begin(), WindowEnd::kTime, now_us);
    ++ended;
  }
  return ended;
}

size_t Windows::EndEarly(const std::function<bool(std::string_view device)>& ends, int64_t now_us) {
  size_t ended = 0;
  for (Place window = open_.begin(); window != open_.end();) {
    const Place next = std::next(window);
    if (!ends || ends(window->device)) {
      End(window, WindowEnd::kEarly, now_us);
      ++ended;
    }
    window = next;
  }
  return ended;
}

}  // namespace seganet

#include "core/forecast/forecasts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/keyed_hash.h"
#include "core/base/require.h"
#include "core/base/row_bytes.h"
#include "core/placement/placement.h"
#include "core/record/condition.h"

namespace seganet {
namespace {

constexpr std::string_view kForecastMagic = "SGF1";
// Rows that one call saves (bytes) or restores.
constexpr size_t kForecastPortionBytes = 262'144;
constexpr size_t kForecastPortionRows = 2000;
// Series that MakeRoom looks at.
constexpr size_t kLooks = 8;

void AppendMember(const char* name, double number, bool has, std::string* out) {
  out->append("\"").append(name).append("\":");
  if (!has || !std::isfinite(number)) {
    out->append("null,");
    return;
  }
  char text[32];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof text, number, std::chars_format::general, 10);
  out->append(text, static_cast<size_t>(end.ptr - text)).push_back(',');
}

}  // namespace

void AppendVerdict(const ForecastVerdict& verdict, std::string* out) {
  const bool has = verdict.has_forecast;
  out->append("{\"forecast\":{");
  AppendMember("expected", verdict.expected, has, out);
  AppendMember("low", verdict.low, has, out);
  AppendMember("high", verdict.high, has, out);
  AppendMember("sigma", verdict.sigma, has, out);
  out->append("\"trusted\":").append(verdict.trusted ? "true" : "false");
  out->append(",\"anomaly\":").append(verdict.anomaly ? "true" : "false").append("}}");
}

Forecasts::Forecasts(const ForecastOptions& options, size_t workers)
    : options_(options),
      model_(options),
      secret_(SecretNumbers::Random().Next()),
      ready_(!options.restores),
      waiting_(options.slots) {
  SEGANET_REQUIRE(Validate(options).ok());
  Path path;
  ParsePath(options_.path, &path);
  path_ = paths_.Add(path);
  paths_.Build();
  for (size_t i = 0; i < workers; ++i) parts_.push_back(std::make_unique<Part>(options.slots));
}

bool Forecasts::Score(size_t worker, const ForecastOptions& options, const Record& record,
                      ForecastVerdict* verdict) {
  SEGANET_REQUIRE(options.SameModel(options_));
  Part& part = *parts_[worker];
  JsonValues values;
  // An envelope has the values of several records.
  const bool has_number = ready() && (record.flags & kFlagEnvelope) == 0 &&
                          paths_.Read(record.payload, &values) &&
                          values.KindOf(paths_, path_) == JsonKind::kNumber;
  const double value = has_number ? values.NumberOf(paths_, path_) : NAN;
  if (!(std::abs(value) <= kMaxForecastValue)) {
    part.skipped.Add();
    return false;
  }
  const uint64_t key = KeyOf(record.device, record.topic);
  Series series = part.table.Find(key);
  bool is_new = false;
  if (!series) {
    series = Take(&part, key, record.device, value, record.ts_ms, options.max_series, &is_new);
  }
  if (!series) {
    part.refused.Add();
    return false;
  }
  *verdict = {};
  if (!is_new) {
    *verdict = model_.Observe(value, record.ts_ms, options.sigmas, options.least, series.state,
                              series.season);
  }
  part.points.Add();
  if (verdict->anomaly) {
    part.anomalies.Add();
    part.noted[part.notes++ % kNotedAnomalies] = {key, record.ts_ms, value};
  }
  if (!verdict->trusted) part.untrusted.Add();
  if (verdict->late) part.late.Add();
  return true;
}

uint64_t Forecasts::KeyOf(std::string_view device, std::string_view topic) const {
  return SecretNumbers(secret_).HashOf(device, topic);
}

// Returns a series that the worker does not have yet: one that waits, or a new one. Null: there is
// no room.
Series Forecasts::Take(Part* part, uint64_t key, std::string_view device, double value,
                       int64_t ts_ms, uint32_t max_series, bool* is_new) {
  Series series;
  if (waits_.load(std::memory_order_relaxed) > 0) {
    const std::lock_guard<std::mutex> lock(lock_);
    if (const Series waiting = waiting_.Find(key)) {
      series = part->table.Add(key);
      std::memcpy(series.state, waiting.state, row_bytes());
      waiting_.EraseKey(key);
      if (waiting_.size() == 0) waiting_.Clear();
      waits_.store(waiting_.size(), std::memory_order_relaxed);
      CountBytes(&waiting_, &waiting_bytes_);
    }
  }
  if (!series) {
    if (series_.fetch_add(1, std::memory_order_relaxed) >= max_series) {
      series_.fetch_sub(1, std::memory_order_relaxed);
      if (!MakeRoom(part, ts_ms)) return {};
      series_.fetch_add(1, std::memory_order_relaxed);
    }
    series = part->table.Add(key);
    series.state->place = static_cast<uint16_t>(Placement::SlotOf(device));
    model_.Begin(value, ts_ms, series.state, series.season);
    *is_new = true;
    NoteSlot(series.state->slot);
  }
  CountBytes(&part->table, &part->known_bytes);
  return series;
}

// A lost update is harmless: the next new series brings another one.
void Forecasts::NoteSlot(uint32_t slot) {
  if (slot > newest_.load(std::memory_order_relaxed)) {
    newest_.store(slot, std::memory_order_relaxed);
  }
}

bool Forecasts::IsForgotten(const SeriesState& state, uint32_t now) const {
  return now > state.slot && now - state.slot > kForgetSeasons * model_.slots();
}

// Removes a series of the worker that had no value for long, if it finds one.
bool Forecasts::MakeRoom(Part* part, int64_t ts_ms) {
  const uint32_t now = model_.SlotOf(ts_ms);
  for (size_t looks = std::min(kLooks, part->table.size()); looks > 0; --looks) {
    if (part->hand >= part->table.size()) part->hand = 0;
    if (IsForgotten(*part->table.at(part->hand).state, now)) {
      part->table.Erase(part->hand);
      series_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    ++part->hand;
  }
  return false;
}

void Forecasts::CountBytes(SeriesTable* table, size_t* known) {
  const size_t now = table->bytes();
  if (now == *known) return;
  bytes_.fetch_add(now - *known, std::memory_order_relaxed);  // may wrap around, as intended
  *known = now;
}

void Forecasts::Leave(size_t worker, const std::function<bool(uint32_t place)>& leaves) {
  Part& part = *parts_[worker];
  const std::lock_guard<std::mutex> lock(lock_);
  for (size_t i = part.table.size(); i-- > 0;) {
    const Series series = part.table.at(i);
    if (!leaves(series.state->place)) continue;
    // Two workers may have a series if a device sends both itself and through a bridge.
    Series to = waiting_.Find(series.state->key);
    if (to) {
      series_.fetch_sub(1, std::memory_order_relaxed);
    } else {
      to = waiting_.Add(series.state->key);
    }
    std::memcpy(to.state, series.state, row_bytes());
    part.table.Erase(i);
  }
  waits_.store(waiting_.size(), std::memory_order_relaxed);
  CountBytes(&waiting_, &waiting_bytes_);
  CountBytes(&part.table, &part.known_bytes);
}

ForecastFigures Forecasts::figures() const {
  ForecastFigures sums;
  for (const auto& part : parts_) {
    sums.points += part->points.Get();
    sums.anomalies += part->anomalies.Get();
    sums.untrusted += part->untrusted.Get();
    sums.late += part->late.Get();
    sums.refused += part->refused.Get();
    sums.skipped += part->skipped.Get();
  }
  sums.series = series_.load(std::memory_order_relaxed);
  return sums;
}

std::string Forecasts::Header() const {
  std::string header(kForecastMagic);
  AppendNumber(&header, secret_);
  AppendNumber(&header, static_cast<uint8_t>(options_.model));
  AppendNumber(&header, options_.period_s);
  AppendNumber(&header, options_.slots);
  AppendText(&header, options_.path);
  return header;
}

bool Forecasts::SavePart(int64_t now_ms, ForecastCursor* cursor, std::string* rows) {
  const bool is_last = cursor->part == parts_.size();
  const auto lock = is_last ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
  SeriesTable& table = is_last ? waiting_ : parts_[cursor->part]->table;
  // From the end: a removal moves the last series to a position that is still to come, or that is
  // saved twice.
  size_t index = std::min<size_t>(cursor->before, table.size());
  const size_t until = rows->size() + kForecastPortionBytes;
  const uint32_t now = std::min(newest_.load(std::memory_order_relaxed), model_.SlotOf(now_ms));
  while (index > 0 && rows->size() < until) {
    const Series series = table.at(--index);
    if (is_last && IsForgotten(*series.state, now)) {
      table.Erase(index);
      series_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    rows->append(reinterpret_cast<const char*>(series.state), row_bytes());
  }
  if (is_last) waits_.store(waiting_.size(), std::memory_order_relaxed);
  cursor->before = static_cast<uint32_t>(index);
  if (index > 0) return true;
  cursor->before = UINT32_MAX;
  return ++cursor->part <= parts_.size();
}

ForecastRestore Forecasts::Restore(std::string_view content, size_t* at) {
  SEGANET_REQUIRE(!ready());
  if (*at == 0) {
    if (!content.starts_with(kForecastMagic)) return ForecastRestore::kDamaged;
    RowReader reader(content.substr(kForecastMagic.size()));
    const auto secret = reader.Number<uint64_t>();
    const bool is_model = reader.Number<uint8_t>() == static_cast<uint8_t>(options_.model);
    const bool is_season = reader.Number<uint32_t>() == options_.period_s;
    const bool is_slots = reader.Number<uint32_t>() == options_.slots;
    const bool is_path = reader.Text() == options_.path;
    if (!reader.ok()) return ForecastRestore::kDamaged;
    if (!is_model || !is_season || !is_slots || !is_path) return ForecastRestore::kOther;
    secret_ = secret;
    has_header_ = true;
    *at = Header().size();
  }
  // The stage began with another content, whose rows have another length.
  if (!has_header_) return ForecastRestore::kOther;
  const std::lock_guard<std::mutex> lock(lock_);
  for (size_t rows = 0; *at < content.size(); ++rows) {
    if (rows == kForecastPortionRows) return ForecastRestore::kMore;
    const std::string_view row = content.substr(*at, row_bytes());
    if (row.size() < row_bytes()) return ForecastRestore::kDamaged;
    uint64_t key = 0;
    std::memcpy(&key, row.data(), sizeof key);
    Series series = waiting_.Find(key);
    if (!series) {
      series = waiting_.Add(key);
      series_.fetch_add(1, std::memory_order_relaxed);
    }
    std::memcpy(series.state, row.data(), row_bytes());
    *at += row_bytes();
    waits_.store(waiting_.size(), std::memory_order_relaxed);
    CountBytes(&waiting_, &waiting_bytes_);
    const bool is_valid =
        model_.IsValid(*series.state, series.season) && series.state->place < Placement::kSlots;
    if (!is_valid) {
      waiting_.EraseKey(key);
      series_.fetch_sub(1, std::memory_order_relaxed);
      waits_.store(waiting_.size(), std::memory_order_relaxed);
      return ForecastRestore::kDamaged;
    }
    NoteSlot(series.state->slot);
  }
  Begin();
  return ForecastRestore::kDone;
}

ForecastTeach Forecasts::Teach(const ForecastOptions& options, std::string_view device,
                               std::string_view topic, const double* times_ms, const double* values,
                               size_t count, int64_t until_ms) {
  if (!options.SameModel(options_)) return ForecastTeach::kOther;
  if (ready()) return ForecastTeach::kBegun;
  const uint64_t key = KeyOf(device, topic);
  const std::lock_guard<std::mutex> lock(lock_);
  Series series = waiting_.Find(key);
  for (size_t i = 0; i < count; ++i) {
    if (!(std::abs(values[i]) <= kMaxForecastValue) || std::isnan(times_ms[i])) continue;
    const auto ts_ms = static_cast<int64_t>(std::clamp(times_ms[i], 0.0, 1e15));
    if (series) {
      model_.Observe(values[i], ts_ms, options.sigmas, options.least, series.state, series.season);
      continue;
    }
    if (series_.load(std::memory_order_relaxed) >= options.max_series) return ForecastTeach::kFull;
    series_.fetch_add(1, std::memory_order_relaxed);
    series = waiting_.Add(key);
    series.state->place = static_cast<uint16_t>(Placement::SlotOf(device));
    model_.Begin(values[i], ts_ms, series.state, series.season);
    waits_.store(waiting_.size(), std::memory_order_relaxed);
    CountBytes(&waiting_, &waiting_bytes_);
  }
  if (series) {
    model_.GoTo(until_ms, series.state, series.season);
    NoteSlot(series.state->slot);
  }
  return ForecastTeach::kDone;
}

void Forecasts::Look(size_t part, uint64_t key, ForecastView* view) {
  const bool is_waiting = part == parts_.size();
  const auto lock = is_waiting ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
  const SeriesTable& table = is_waiting ? waiting_ : parts_[part]->table;
  const Series series = table.Find(key);
  if (series && (!view->is_known || series.state->slot > view->state.slot)) {
    view->is_known = true;
    view->state = *series.state;
    view->season.assign(series.season, series.season + model_.slots());
  }
  if (is_waiting) return;
  const Part& noting = *parts_[part];
  const size_t kept = std::min(noting.notes, kNotedAnomalies);
  for (size_t i = noting.notes - kept; i < noting.notes; ++i) {
    const ForecastAnomaly& anomaly = noting.noted[i % kNotedAnomalies];
    if (anomaly.key == key) view->anomalies.push_back(anomaly);
  }
}

}  // namespace seganet

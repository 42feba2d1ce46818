// Restores a forecast stage from any bytes, teaches it any history if it has not begun, then scores
// any records. Checks that states stay valid, that counts agree, that bands are numbers, and that
// what is saved can be restored.
// Input: the options, the length of the content in units of 16 bytes, the content, the history,
// then for each record its device, time and value.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/forecast/forecasts.h"
#include "core/record/json.h"

namespace {

using seganet::ForecastRestore, seganet::Forecasts;

void Check(bool law) {
  if (!law) std::abort();
}

class ForecastInput {
 public:
  ForecastInput(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  std::string_view Take(size_t length) {
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(text.size());
    return text;
  }
  uint8_t Byte() { return rest_.empty() ? uint8_t{0} : static_cast<uint8_t>(Take(1)[0]); }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string Save(Forecasts* forecasts) {
  std::string content = forecasts->Header();
  seganet::ForecastCursor cursor;
  while (forecasts->SavePart(0, &cursor, &content)) {
  }
  return content;
}

ForecastRestore Restore(Forecasts* forecasts, std::string_view content) {
  size_t at = 0;
  ForecastRestore result = ForecastRestore::kMore;
  while (result == ForecastRestore::kMore) {
    const size_t before = at;
    result = forecasts->Restore(content, &at);
    Check(at <= content.size() && (at > before || result != ForecastRestore::kMore));
  }
  Check(forecasts->ready() == (result == ForecastRestore::kDone));
  return result;
}

void Teach(Forecasts* forecasts, const seganet::ForecastOptions& options, ForecastInput* input) {
  for (size_t series = input->Byte() % 4; series > 0; --series) {
    double times[8] = {};
    double values[8] = {};
    const std::string device(1 + (input->Byte() & 3), 'd');
    const std::string_view bytes = input->Take(sizeof times + sizeof values);
    std::memcpy(times, bytes.data(), std::min(bytes.size(), sizeof times));
    const std::string_view rest = bytes.substr(std::min(bytes.size(), sizeof times));
    std::memcpy(values, rest.data(), rest.size());
    forecasts->Teach(options, device, "t", times, values, 8, int64_t{input->Byte()} << 8);
  }
  forecasts->Begin();
}

void Look(Forecasts* forecasts, std::string_view device, int64_t ts_ms) {
  seganet::ForecastView view;
  const uint64_t key = forecasts->KeyOf(device, "t");
  for (size_t part = 0; part <= 2; ++part) forecasts->Look(part, key, &view);
  if (!view.is_known || !forecasts->model().HasForecast(view.state)) return;
  const seganet::ForecastBand band =
      forecasts->model().BandOver(ts_ms, ts_ms + 60'000, view.state, view.season.data());
  Check(std::isfinite(band.expected) && band.low <= band.high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ForecastInput input(data, size);
  seganet::ForecastOptions options;
  const uint8_t mode = input.Byte();
  options.model = static_cast<seganet::ForecastModel>(mode & 1);
  options.slots = 2 + (mode >> 1 & 3);
  options.period_s = options.slots + input.Byte() % 4;
  options.max_series = 1 + input.Byte() % 8;
  options.sigmas = 1 + input.Byte() % 100;
  options.restores = true;

  Forecasts forecasts(options, 2);
  std::string content(input.Take(size_t{16} * input.Byte()));
  // Half of the inputs get a header that fits, so that the rows are read.
  if (mode & 8) content = forecasts.Header() + content;
  Restore(&forecasts, content);
  if (!forecasts.ready()) Teach(&forecasts, options, &input);
  const auto restored = forecasts.figures().series;
  uint64_t scored = 0, records = 0;
  int64_t ts_ms = 0;
  while (!input.empty()) {
    const uint8_t call = input.Byte();
    if (call % 32 == 31) {
      forecasts.Leave(call >> 7, [&](uint32_t place) { return place % 2 == (call >> 5 & 1U); });
      continue;
    }
    const std::string device(1 + (call & 3), 'd');
    ts_ms += (int64_t{input.Byte()} - 8) * 250;
    if ((call & 12) == 12) ts_ms = int64_t{input.Byte()} << (input.Byte() % 56);
    const std::string payload(input.Take(input.Byte() % 16));
    seganet::Record record;
    record.device = device;
    record.topic = "t";
    record.payload = payload;
    record.ts_ms = ts_ms;
    seganet::ForecastVerdict verdict;
    ++records;
    Look(&forecasts, device, ts_ms);
    if (!forecasts.Score(call >> 7, options, record, &verdict)) continue;
    ++scored;
    Check(std::isfinite(verdict.expected) && verdict.low <= verdict.high && verdict.sigma >= 0);
    Check(!verdict.anomaly || (verdict.trusted && !verdict.late));
    std::string note;
    seganet::AppendVerdict(verdict, &note);
    bool newline = false;
    Check(seganet::IsJson(note, &newline) && !newline);
  }
  const seganet::ForecastFigures figures = forecasts.figures();
  Check(figures.points == scored && figures.points + figures.skipped + figures.refused == records);
  Check(figures.series >= 0);
  Check(figures.series <= restored + static_cast<int64_t>(options.max_series));
  Forecasts again(options, 1);
  Check(Restore(&again, Save(&forecasts)) == ForecastRestore::kDone);
  Check(again.figures().series <= figures.series);
  return 0;
}

// Engine: what its forecast stages have learned.
#include "core/runtime/engine.h"

namespace seganet {

std::shared_ptr<Forecasts> Engine::ForecastsOf(uint32_t stage) const {
  const Stage* const found = closed_ || !plan_ ? nullptr : plan_->Find(stage);
  return found == nullptr ? nullptr : found->forecasts;
}

bool Engine::SaveForecasts(Forecasts* forecasts, ForecastCursor* cursor, std::string* rows) {
  const int64_t now_ms = Now::Read().wall_ms;
  bool goes_on = false;
  const auto save = [&] { goes_on = forecasts->SavePart(now_ms, cursor, rows); };
  if (cursor->part < workers_.size()) {
    workers_[cursor->part]->Call(save);
  } else {
    save();
  }
  return goes_on;
}

std::vector<ForecastView> Engine::LookAtForecasts(Forecasts* forecasts,
                                                  const std::vector<uint64_t>& keys) {
  std::vector<ForecastView> views(keys.size());
  const auto look = [&](size_t part) {
    for (size_t i = 0; i < keys.size(); ++i) forecasts->Look(part, keys[i], &views[i]);
  };
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->Call([&] { look(i); });
  }
  look(workers_.size());
  return views;
}

}  // namespace seganet

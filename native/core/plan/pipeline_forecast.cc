// Pipeline: forecasts of values.

#include <algorithm>
#include <string>

#include "core/plan/pipeline.h"

namespace seganet {

// The record goes on unchanged, but an anomaly gets the class of the stage. Only this stage's own
// messages have the note, as they would if its wires carried messages.
void Pipeline::RunForecast(const Stage& stage, const Record& record) {
  const ForecastOptions& options = stage.spec.forecast;
  ForecastVerdict verdict;
  const bool is_scored = stage.forecasts->Score(context_.worker, options, record, &verdict);
  if (!is_scored) {
    Forward(stage, record);
    return;
  }
  Record scored = record;
  if (verdict.anomaly && options.record_class != 0) {
    scored.record_class = std::min(scored.record_class, options.record_class);
  }
  if (!options.annotate || !stage.spec.messages) {
    Forward(stage, scored);
    return;
  }
  std::string note;
  AppendVerdict(verdict, &note);
  CountersOf(stage).records_out.Add();
  if (stage.next.empty()) Ends(scored);
  scored.note = note;
  if (RecordMessage(stage, scored)) passage_.taken |= stage.takes_messages;
  scored.note = {};
  for (const Stage* next : stage.next) RunStage(*next, scored);
}

void Pipeline::LeaveForecasts(const std::function<bool(uint32_t place)>& leaves) {
  for (const Stage& stage : plan_->stages()) {
    if (stage.forecasts) stage.forecasts->Leave(context_.worker, leaves);
  }
}

}  // namespace seganet

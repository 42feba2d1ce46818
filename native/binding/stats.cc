#include "binding/stats.h"

#include <array>

namespace seganet::binding {
namespace {

Napi::Value Number(Napi::Env env, auto value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

using ByClass = std::array<int64_t, kClasses + 1>;

Napi::Array Numbers(Napi::Env env, const ByClass& values) {
  Napi::Array row = Napi::Array::New(env, values.size());
  for (uint32_t c = 0; c < values.size(); ++c) row.Set(c, Number(env, values[c]));
  return row;
}

Napi::Value Latency(Napi::Env env, const LatencyByClass& latency) {
  Napi::Array rows = Napi::Array::New(env);
  for (uint8_t c = 1; c <= kClasses; ++c) {
    const Histogram& histogram = latency[c];
    if (histogram.Count() == 0) continue;
    Napi::Object row = Napi::Object::New(env);
    row.Set("class", Number(env, c));
    row.Set("count", Number(env, histogram.Count()));
    row.Set("p50", Number(env, static_cast<double>(histogram.Quantile(0.50)) / 1000));
    row.Set("p90", Number(env, static_cast<double>(histogram.Quantile(0.90)) / 1000));
    row.Set("p99", Number(env, static_cast<double>(histogram.Quantile(0.99)) / 1000));
    row.Set("max", Number(env, static_cast<double>(histogram.Max()) / 1000));
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Object ForecastsOf(Napi::Env env, const Forecasts& forecasts) {
  const ForecastFigures figures = forecasts.figures();
  Napi::Object row = Napi::Object::New(env);
  row.Set("points", Number(env, figures.points));
  row.Set("anomalies", Number(env, figures.anomalies));
  row.Set("untrusted", Number(env, figures.untrusted));
  row.Set("late", Number(env, figures.late));
  row.Set("refused", Number(env, figures.refused));
  row.Set("skipped", Number(env, figures.skipped));
  row.Set("series", Number(env, figures.series));
  row.Set("bytes", Number(env, forecasts.bytes()));
  row.Set("begun", Napi::Boolean::New(env, forecasts.ready()));
  return row;
}

Napi::Value Stages(Napi::Env env, const Plan& plan) {
  Napi::Array rows = Napi::Array::New(env);
  for (const Stage& stage : plan.stages()) {
    uint64_t in = 0, out = 0, batches = 0, dropped = 0, filtered = 0;
    for (const StageCounters& worker : stage.shared->counters) {
      in += worker.records_in.Get();
      out += worker.records_out.Get();
      batches += worker.batches.Get();
      dropped += worker.copies_dropped.Get();
      filtered += worker.filtered.Get();
    }
    Napi::Object row = Napi::Object::New(env);
    row.Set("id", Number(env, stage.spec.id));
    row.Set("recordsIn", Number(env, in));
    row.Set("recordsOut", Number(env, out));
    row.Set("batches", Number(env, batches));
    row.Set("copiesDropped", Number(env, dropped));
    row.Set("filtered", Number(env, filtered));
    if (stage.forecasts) row.Set("forecast", ForecastsOf(env, *stage.forecasts));
    if (stage.spec.batcher.thrift != Thrift::kFast) {
      ByClass waits{};
      for (uint8_t c = 1; c <= kClasses; ++c) waits[c] = stage.shared->waits[c].load();
      row.Set("waitMs", Numbers(env, waits));
    }
    rows.Set(rows.Length(), row);
  }
  return rows;
}

Napi::Object PlacementOf(Napi::Env env, const Engine& engine) {
  Napi::Object placement = Napi::Object::New(env);
  placement.Set("moved", Number(env, engine.rebalanced().moved));
  placement.Set("undone", Number(env, engine.rebalanced().undone));
  Napi::Array rows = Napi::Array::New(env);
  for (const WorkerInfo& worker : engine.Workers()) {
    Napi::Object row = Napi::Object::New(env);
    row.Set("busy", Number(env, worker.busy));
    row.Set("connections", Number(env, worker.agents));
    row.Set("slots", Number(env, worker.slots));
    row.Set("silentMs", Number(env, worker.silent_us / 1000));
    rows.Set(rows.Length(), row);
  }
  placement.Set("workers", rows);
  return placement;
}

Napi::Object DeskOf(Napi::Env env, const DeskFigures& figures) {
  Napi::Object desk = Napi::Object::New(env);
  desk.Set("passed", Number(env, figures.passed));
  desk.Set("answered", Number(env, figures.answered));
  desk.Set("refused", Number(env, figures.refused));
  desk.Set("asked", Number(env, figures.asked));
  desk.Set("full", Number(env, figures.full));
  desk.Set("openAsks", Number(env, figures.open_asks));
  desk.Set("events", Number(env, figures.events));
  desk.Set("bytes", Number(env, figures.bytes));
  return desk;
}

// A hash of numbers (FNV-1a by words; offset and prime as in
// http://www.isthe.com/chongo/tech/comp/fnv/).
class Mix {
 public:
  void Add(auto value) { hash_ = (hash_ ^ static_cast<uint64_t>(value)) * 0x100000001b3; }
  void AddAll(const auto& values) {
    for (const auto& value : values) Add(value);
  }
  // The bits that a double holds exactly.
  double Exact() const { return static_cast<double>(hash_ >> 11); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

double ReadFingerprint(Engine* engine) {
  std::array<uint64_t, kCounters> counters;
  std::array<std::array<uint64_t, kClassSlots>, kDrops> drops;
  std::array<uint64_t, kCloseReasonCount> close_reasons;
  engine->ReadCounters(&counters, &drops, &close_reasons);
  Mix mix;
  mix.AddAll(counters);
  for (const auto& row : drops) mix.AddAll(row);
  mix.AddAll(close_reasons);
  mix.Add(engine->devices());
  mix.Add(engine->budget().held());
  mix.Add(engine->slowed_from());
  mix.Add(engine->deferred());
  mix.Add(engine->windows());
  for (uint8_t c = 1; c <= kClasses; ++c) mix.Add(engine->budget().records(c));
  const LedgerSums log = engine->store().ledger()->sums();
  mix.AddAll(engine->Unsaved());
  mix.AddAll(log.stored);
  mix.AddAll(log.backlog);
  mix.AddAll(engine->Delivered());
  mix.AddAll(engine->Late());
  for (const Stage& stage : engine->plan()->stages()) {
    for (const StageCounters& worker : stage.shared->counters) {
      mix.Add(worker.records_in.Get());
      mix.Add(worker.records_out.Get());
      mix.Add(worker.batches.Get());
      mix.Add(worker.copies_dropped.Get());
      mix.Add(worker.filtered.Get());
    }
  }
  mix.Add(engine->rebalanced().moved);
  mix.Add(engine->rebalanced().undone);
  const DeskFigures desk = engine->desk_figures();
  for (const uint64_t value : {desk.passed, desk.answered, desk.refused, desk.asked, desk.full,
                               uint64_t{desk.open_asks}, uint64_t{desk.events}}) {
    mix.Add(value);
  }
  return mix.Exact();
}

Napi::Array ReadParts(Napi::Env env, const Plan& plan) {
  Napi::Array rows = Napi::Array::New(env);
  for (const Stage& stage : plan.stages()) {
    if (stage.split == nullptr) continue;
    for (const SplitPart& spec : stage.spec.parts) {
      const Split::Part& part = *stage.split->PartOf(spec.name);
      Napi::Object row = Napi::Object::New(env);
      row.Set("name", Napi::String::New(env, spec.name));
      row.Set("waitingBytes", Number(env, part.waiting_bytes()));
      row.Set("refused", Number(env, part.refused()));
      rows.Set(rows.Length(), row);
    }
  }
  return rows;
}

Napi::Object ReadStats(Napi::Env env, Engine* engine) {
  std::array<uint64_t, kCounters> counters;
  std::array<std::array<uint64_t, kClassSlots>, kDrops> drops;
  std::array<uint64_t, kCloseReasonCount> close_reasons;
  engine->ReadCounters(&counters, &drops, &close_reasons);

  Napi::Object stats = Napi::Object::New(env);
  stats.Set("devices", Number(env, engine->devices()));
  stats.Set("heldBytes", Number(env, engine->budget().held()));
  stats.Set("budgetBytes", Number(env, engine->budget().limit()));
  stats.Set("slowed", Napi::Boolean::New(env, engine->slowed()));
  stats.Set("slowedFrom", Number(env, engine->slowed_from()));
  stats.Set("deferredRecords", Number(env, engine->deferred()));
  stats.Set("openWindows", Number(env, engine->windows()));
  stats.Set("keptValues", Number(env, engine->kept_values()));
  stats.Set("valueBytes", Number(env, engine->value_bytes()));
  ByClass held{};
  for (uint8_t c = 1; c <= kClasses; ++c) held[c] = engine->budget().records(c);
  const LedgerSums log = engine->store().ledger()->sums();
  stats.Set("heldRecords", Numbers(env, held));
  stats.Set("unsavedRecords", Numbers(env, engine->Unsaved()));
  stats.Set("storedRecords", Numbers(env, log.stored));
  stats.Set("backlogRecords", Numbers(env, log.backlog));
  stats.Set("deliveredRecords", Numbers(env, engine->Delivered()));
  stats.Set("lateRecords", Numbers(env, engine->Late()));

  Napi::Object table = Napi::Object::New(env);
  for (size_t i = 0; i < kCounters; ++i) table.Set(kCounterNames[i], Number(env, counters[i]));
  stats.Set("counters", table);

  Napi::Object drop_table = Napi::Object::New(env);
  for (size_t d = 0; d < kDrops; ++d) {
    Napi::Array row = Napi::Array::New(env, kClassSlots);
    for (uint32_t c = 0; c < kClassSlots; ++c) row.Set(c, Number(env, drops[d][c]));
    drop_table.Set(kDropNames[d], row);
  }
  stats.Set("drops", drop_table);

  Napi::Object errors = Napi::Object::New(env);
  for (size_t i = 1; i < close_reasons.size(); ++i) {
    if (close_reasons[i] == 0) continue;
    errors.Set(Name(static_cast<CloseReason>(i)), Number(env, close_reasons[i]));
  }
  stats.Set("protocolErrors", errors);
  stats.Set("latency", Latency(env, engine->latency()));
  stats.Set("stages", Stages(env, *engine->plan()));
  stats.Set("placement", PlacementOf(env, *engine));
  stats.Set("desk", DeskOf(env, engine->desk_figures()));
  return stats;
}

}  // namespace seganet::binding

#include "core/plan/pipeline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/plan/same_routes.h"
#include "core/record/frame.h"

namespace seganet {

// A batch stage: its batcher, and the route of its batches.
class Pipeline::BatchStage : public Batcher::Sink {
 public:
  BatchStage(Pipeline* pipeline, const Stage* stage)
      : pipeline_(pipeline), batcher_(stage->spec.batcher, this) {
    MoveTo(stage);
  }

  void OnBatch(BatchPtr batch) override { pipeline_->OnBatch(*stage_, std::move(batch)); }

  // Continues under the stage of a new plan, which has the same options.
  void MoveTo(const Stage* stage) {
    stage_ = stage;
    std::vector<Demand*> uplinks;
    bool is_stamped = false;
    for (const Stage* uplink : stage->next) {
      uplinks.push_back(uplink->lanes->demand());
      is_stamped |= uplink->spec.stamps;
    }
    batcher_.SetDemands(std::move(uplinks));
    batcher_.SetStamped(is_stamped);
    batcher_.SetWaits(&stage->shared->waits);
  }

  const Stage& stage() const { return *stage_; }
  Batcher& batcher() { return batcher_; }
  bool listed() const { return listed_; }
  void SetListed(bool listed) { listed_ = listed; }

 private:
  Pipeline* const pipeline_;
  const Stage* stage_;
  Batcher batcher_;
  bool listed_ = false;  // in busy_
};

Pipeline::Pipeline(const PipelineContext& context)
    : context_(context),
      plan_(std::make_shared<Plan>(std::vector<StageSpec>(), 0, nullptr, nullptr)) {}

Pipeline::~Pipeline() = default;

void Pipeline::SetPlan(std::shared_ptr<const Plan> plan, int64_t now_us) {
  // Before the batches: the records of windows that end follow the old plan, too.
  std::vector<std::unique_ptr<Windows>> windows = TakeOverWindows(*plan, now_us);
  std::vector<std::unique_ptr<BatchStage>> next(plan->stages().size());
  // On another route, later records of a device could overtake those of an open batch.
  const bool same_routes = SameRoutes(*plan_, *plan);
  for (std::unique_ptr<BatchStage>& old : batchers_) {
    if (!old) continue;
    const Stage* stage = plan->Find(old->stage().spec.id);
    if (same_routes && stage != nullptr && stage->spec.kind == StageKind::kBatch &&
        stage->spec.batcher == old->stage().spec.batcher &&
        stage->spec.next == old->stage().spec.next &&
        stage->spec.messages == old->stage().spec.messages) {
      old->MoveTo(stage);
      next[stage->index] = std::move(old);
    } else {
      old->batcher().Flush(SealReason::kPlan);
    }
  }
  busy_.clear();
  for (const auto& stage : next) {
    if (stage && stage->listed()) busy_.push_back(stage.get());
  }
  batchers_ = std::move(next);
  std::vector<std::unique_ptr<Filter>> filters(plan->stages().size());
  for (const Stage& stage : plan->stages()) {
    if (stage.spec.kind != StageKind::kFilter) continue;
    if (stage.spec.filter.mode == FilterMode::kWindow) continue;
    const Stage* old = plan_->Find(stage.spec.id);
    const bool is_same = old != nullptr && old->spec.kind == StageKind::kFilter &&
                         old->spec.filter == stage.spec.filter;
    filters[stage.index] =
        is_same ? std::move(filters_[old->index]) : std::make_unique<Filter>(stage.spec.filter);
  }
  filters_ = std::move(filters);
  windows_ = std::move(windows);
  window_stages_.clear();
  for (const auto& each : windows_) {
    if (each) window_stages_.push_back(each.get());
  }
  entry_ = nullptr;
  plan_ = std::move(plan);
}

Passage Pipeline::Run(uint32_t id, const Record& record) {
  // Most records enter the same stage as the previous one.
  if (entry_ == nullptr || entry_->spec.id != id) entry_ = plan_->Find(id);
  const Stage* stage = entry_;
  passage_ = {};
  is_counted_ = false;
  if (stage != nullptr) RunStage(*stage, record);
  // A split stage refused the record, and no copy of it is kept: a message does not replace the
  // copy of the part.
  if (passage_.untaken != Untaken::kNoRoute && passage_.copies == 0 && passage_.deferred == 0) {
    passage_.taken = false;
  }
  if (!passage_.taken && !is_counted_) {
    context_.counters->Add(Drop::kNoRoute, record.record_class);
  }
  if (passage_.record_class == 0) passage_.record_class = record.record_class;
  return passage_;
}

void Pipeline::Ends(const Record& record) {
  uint8_t& best = passage_.record_class;
  if (best == 0 || record.record_class < best) best = record.record_class;
}

void Pipeline::RunStage(const Stage& stage, const Record& record) {
  CountersOf(stage).records_in.Add();
  switch (stage.spec.kind) {
    case StageKind::kSource:
    case StageKind::kIngest:
      Forward(stage, record);
      break;
    case StageKind::kPriority: {
      Record classified = record;
      classified.record_class = stage.classifier.ClassOf(record.device, record.topic,
                                                         record.payload, record.record_class);
      Forward(stage, classified);
      break;
    }
    case StageKind::kTap:
      // A record that a tap does not pass is left out on purpose.
      if (Sampled(stage, record)) {
        Forward(stage, record);
      } else {
        passage_.taken |= stage.takes;
      }
      break;
    case StageKind::kFilter:
      RunFilter(stage, record);
      break;
    case StageKind::kSplit:
      RunSplit(stage, record);
      break;
    case StageKind::kForecast:
      RunForecast(stage, record);
      break;
    case StageKind::kBatch:
      RunBatch(stage, record);
      break;
    case StageKind::kUplink:
      PushSingle(stage, record);
      break;
  }
}

void Pipeline::Forward(const Stage& stage, const Record& record) {
  CountersOf(stage).records_out.Add();
  if (stage.next.empty() && stage.spec.kind != StageKind::kTap) Ends(record);
  if (stage.spec.messages && RecordMessage(stage, record)) passage_.taken |= stage.takes_messages;
  for (const Stage* next : stage.next) RunStage(*next, record);
}

// A record that does not pass counts as taken: the user chose that, so its device gets its
// acknowledgment at once.
void Pipeline::RunFilter(const Stage& stage, const Record& record) {
  if (windows_[stage.index]) {
    RunWindow(stage, record);
    return;
  }
  Filter& filter = *filters_[stage.index];
  if (filter.Passes(record)) {
    const bool was_taken = std::exchange(passage_.taken, false);
    Forward(stage, record);
    if (!passage_.taken) filter.Forget();
    passage_.taken |= was_taken;
    return;
  }
  CountersOf(stage).filtered.Add();
  context_.counters->Add(Counter::kRecordsFiltered);
  passage_.taken |= stage.takes;
}

// The record goes on without the part in its device id. The receipts keep the whole id's agent.
void Pipeline::RunSplit(const Stage& stage, const Record& record) {
  const Split::Route route = stage.split->Find(record.device);
  if (route.part == nullptr) {
    passage_.untaken = Untaken::kNoPart;
    context_.counters->Add(Drop::kNoPart, record.record_class);
    is_counted_ = true;
    return;
  }
  if (!route.part->Admits(record.arrived_us)) {
    passage_.untaken = Untaken::kPartFull;
    context_.counters->Add(Drop::kPartFull, record.record_class);
    is_counted_ = true;
    return;
  }
  CountersOf(stage).records_out.Add();
  Record inner = record;
  inner.device = route.device;
  RunStage(*stage.next[route.part->index()], inner);
}

Pipeline::BatchStage* Pipeline::BatcherOf(const Stage& stage) {
  std::unique_ptr<BatchStage>& made = batchers_[stage.index];
  if (!made) made = std::make_unique<BatchStage>(this, &stage);
  return made.get();
}

void Pipeline::RunBatch(const Stage& stage, const Record& record) {
  Ends(record);
  const bool envelope = stage.spec.batcher.mode == BatchMode::kEnvelope;
  // In the other modes only the uplink gets batches; JavaScript gets each record as a message.
  if (stage.spec.messages && !envelope) passage_.taken |= RecordMessage(stage, record);
  if (stage.next.empty() && !(stage.spec.messages && envelope)) return;
  passage_.taken = true;
  if (stage.spec.messages && envelope && Defers(stage, record)) ++passage_.deferred;
  context_.budget->AddRecords(record.record_class, static_cast<int64_t>(stage.next.size()));
  passage_.copies += static_cast<uint32_t>(stage.next.size());
  const int64_t devices = context_.devices->load(std::memory_order_relaxed);
  BatchStage* const to = BatcherOf(stage);
  to->batcher().Add(record, static_cast<uint32_t>(devices));
  if (to->listed() || !to->batcher().has_open()) return;
  to->SetListed(true);
  busy_.push_back(to);
}

// Removes the stages without an open batch from busy_.
void Pipeline::DropIdle() {
  std::erase_if(busy_, [](BatchStage* stage) {
    stage->SetListed(stage->batcher().has_open());
    return !stage->listed();
  });
}

void Pipeline::OnBatch(const Stage& stage, BatchPtr batch) {
  StageCounters& counters = CountersOf(stage);
  counters.batches.Add();
  counters.records_out.Add(batch->record_count);
  if (stage.spec.messages && batch->kind == BatchKind::kEnvelope) {
    EnvelopeMessage(stage, batch.get());
  }
  batch->deferred = {};
  if (stage.next.empty()) return;
  batch->worker = static_cast<uint32_t>(context_.worker);
  for (size_t i = 0; i + 1 < stage.next.size(); ++i) {
    Queue(*stage.next[i], std::make_unique<Batch>(*batch));
  }
  Queue(*stage.next.back(), std::move(batch));
}

void Pipeline::Queue(const Stage& uplink, BatchPtr batch) {
  CountersOf(uplink).records_in.Add(batch->record_count);
  batch->stage = uplink.spec.id;
  uplink.lanes->Push(std::move(batch));
}

void Pipeline::PushSingle(const Stage& stage, const Record& record) {
  BatchPtr batch = SingleBatch(record, stage.spec.stamps);
  // An envelope to which a flow gave a topic is published there, like a record.
  if ((record.flags & kFlagEnvelope) && record.topic.empty()) {
    batch->kind = BatchKind::kEnvelope;
    batch->bytes.assign(record.payload);
  }
  batch->deferred = {};
  batch->stage = stage.spec.id;
  batch->worker = static_cast<uint32_t>(context_.worker);
  context_.budget->AddRecords(record.record_class, 1);
  ++passage_.copies;
  passage_.taken = true;
  Ends(record);
  stage.lanes->Push(std::move(batch));
}

bool Pipeline::Sampled(const Stage& stage, const Record& record) {
  const uint32_t every = stage.spec.every_n;
  if (every > 1 && CountersOf(stage).records_in.Get() % every != 0) return false;
  if (stage.spec.per_second == 0) return true;
  // All workers share the second. If two of them begin it at the same time, a few more records
  // pass.
  StageShared& shared = *stage.shared;
  const int64_t second = record.arrived_us / 1'000'000;
  if (shared.tap_second.exchange(second, std::memory_order_relaxed) != second) {
    shared.tap_passed.store(0, std::memory_order_relaxed);
  }
  return shared.tap_passed.fetch_add(1, std::memory_order_relaxed) < stage.spec.per_second;
}

void Pipeline::MessageDropped(const Stage& stage, uint8_t record_class, uint32_t records) {
  CountersOf(stage).copies_dropped.Add(records);
  if (!stage.next.empty()) return;
  context_.counters->Add(Drop::kMessageRingFull, record_class, records);
  is_counted_ = true;
}

bool Pipeline::RecordMessage(const Stage& stage, const Record& record) {
  const size_t bytes = FrameBytes(record);
  char* to = context_.messages->Reserve(bytes);
  if (to == nullptr) {
    MessageDropped(stage, record.record_class, 1);
    return false;
  }
  Record sent = record;
  sent.deferral = 0;
  if (Defers(stage, record)) {
    sent.deferral = context_.deferred->Keep({record.deferred});
    ++passage_.deferred;
  }
  WriteRecordFrame(sent, stage.spec.id, to);
  context_.messages->Commit();
  context_.counters->Add(Counter::kMessagesOut);
  context_.message_bell->Ring();
  return true;
}

void Pipeline::EnvelopeMessage(const Stage& stage, Batch* sealed) {
  const Batch& batch = *sealed;
  FrameHeader h{};
  const size_t bytes = FrameBytes(batch.bytes.size());
  char* to = context_.messages->Reserve(bytes);
  if (to == nullptr) {
    MessageDropped(stage, batch.record_class, batch.record_count);
    if (context_.deferred != nullptr && !batch.deferred.empty()) {
      context_.deferred->Lose(std::move(sealed->deferred));
    }
    return;
  }
  if (context_.deferred != nullptr && !batch.deferred.empty()) {
    h.deferral = context_.deferred->Keep(std::move(sealed->deferred));
  }
  h.total_bytes = static_cast<uint32_t>(bytes);
  h.stage = stage.spec.id;
  h.kind = static_cast<uint8_t>(FrameKind::kEnvelope);
  h.record_class = batch.record_class;
  h.flags = kFlagEnvelope;
  h.reason = static_cast<uint8_t>(batch.reason);
  h.record_count = batch.record_count;
  h.payload_bytes = static_cast<uint32_t>(batch.bytes.size());
  h.ts_ms = static_cast<double>(batch.first_ts_ms);
  h.last_ts_ms = static_cast<double>(batch.last_ts_ms);
  // Unique across the workers of an engine: the low bits have the worker's index.
  h.batch_id = static_cast<double>(next_envelope_++ * 64 + context_.worker);
  h.record_bytes = batch.record_bytes;
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, batch.bytes.data(), batch.bytes.size());
  context_.messages->Commit();
  context_.counters->Add(Counter::kMessagesOut);
  context_.message_bell->Ring();
}

int64_t Pipeline::NextDeadline() {
  int64_t first = kNever;
  DropIdle();
  for (BatchStage* const stage : busy_) {
    ClassMask must_write = 0;
    for (const Stage* uplink : stage->stage().next) must_write |= uplink->lanes->hurried_classes();
    stage->batcher().SetMaxOpenTime(&context_.linger_us, must_write);
    first = std::min(first, stage->batcher().NextDeadline());
  }
  for (const Windows* const windows : window_stages_) {
    first = std::min(first, std::max(windows->NextEnd(), windows_from_us_));
  }
  return first;
}

void Pipeline::EndTurn(int64_t now_us) {
  for (BatchStage* const stage : busy_) {
    ClassMask prompt = 0;
    for (const Stage* uplink : stage->stage().next) {
      prompt |= uplink->lanes->prompt_classes(now_us);
    }
    if (prompt != 0) stage->batcher().Flush(SealReason::kDelay, prompt);
    stage->batcher().EndTurn(now_us);
  }
}

void Pipeline::OnTime(int64_t now_us) {
  EndDueWindows(now_us);
  for (BatchStage* const stage : busy_) stage->batcher().OnTime(now_us);
}

void Pipeline::Flush(uint32_t id, SealReason reason) {
  for (BatchStage* const stage : busy_) {
    if (id == 0 || stage->stage().spec.id == id) stage->batcher().Flush(reason);
  }
}

bool Pipeline::MessagesHigh() const {
  return plan_->message_only() && context_.messages->used() > context_.messages->capacity() / 2;
}

}  // namespace seganet

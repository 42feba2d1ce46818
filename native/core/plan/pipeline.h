// Runs records through the stages of a plan, on one worker. Independent of threads and sockets.
#ifndef SEGANET_CORE_PLAN_PIPELINE_H_
#define SEGANET_CORE_PLAN_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/plan/deferred_receipts.h"
#include "core/plan/held_receipts.h"
#include "core/plan/plan.h"
#include "core/plan/windows.h"
#include "core/queue/budget.h"
#include "core/queue/byte_ring.h"

namespace seganet {

// The dependencies of a pipeline. All objects must outlive it.
struct PipelineContext {
  size_t worker = 0;
  Budget* budget = nullptr;
  CounterBlock* counters = nullptr;  // of this worker
  ByteRing* messages = nullptr;      // frames for JavaScript; this worker is the writer
  Doorbell* message_bell = nullptr;
  const std::atomic<int64_t>* devices = nullptr;  // connected devices of the whole engine
  // Maximum time that a batch stays open while its uplink's lanes are must_write, by class, µs.
  std::array<int64_t, kClasses + 1> linger_us{};
  // Keeps Record::deferred of records that leave as messages; null = they are acknowledged then.
  DeferredReceipts* deferred = nullptr;
  // Keeps the receipts of windows' records; null = WindowOptions::hold has no effect.
  HeldReceipts* held = nullptr;
  WindowTotals* windows = nullptr;  // of the engine; null = the pipeline counts its own
  // A recent time, which says how far CLOCK_REALTIME is from CLOCK_MONOTONIC; null = not at all.
  const Now* now = nullptr;
};

// The result of running a record through the plan.
struct Passage {
  // Number of times its receipt will be returned: once for each copy that is queued for an uplink.
  uint32_t copies = 0;
  // Number of times its Record::deferred will be returned: once for each message that a flow must
  // deliver.
  uint32_t deferred = 0;
  // The final class of the record. If its routes assign different classes, the most urgent one.
  // Routes that end at a tap do not count.
  uint8_t record_class = 0;
  // True if a stage queued the record for an uplink or delivered it to JavaScript, or if a tap or
  // filter that leads to such a stage left it out on purpose. A record that no stage took must not
  // be acknowledged.
  bool taken = false;
  Untaken untaken = Untaken::kNoRoute;  // not taken: why
};

// Thread safety: owned by one worker.
class Pipeline {
 public:
  explicit Pipeline(const PipelineContext& context);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Replaces the plan. Open batches of unchanged stages stay open if the routes are unchanged;
  // others are sealed and follow the old plan. Filters with unchanged options keep what they know
  // and their open windows; other windows end early and follow the old plan.
  void SetPlan(std::shared_ptr<const Plan> plan, int64_t now_us = 0);

  // Puts a record into stage `id`. Counts a record that no stage takes as "no route", or as
  // "message ring full" if it was only to become a message. A split stage counts each record that
  // it refuses ("no part", "part full").
  Passage Run(uint32_t id, const Record& record);

  // Ends a turn: the worker has put in all records of one wake-up (Batcher::EndTurn). Seals the
  // batches that their uplinks write at once (Lanes::prompt_classes).
  void EndTurn(int64_t now_us);

  // Returns when OnTime must be called, CLOCK_MONOTONIC; kNever = no batch or window is open.
  int64_t NextDeadline();
  // Ends the windows and seals the batches that are due. At most kWindowsPerTurn windows of a stage
  // end in one call, so NextDeadline() may lie in the past afterwards.
  void OnTime(int64_t now_us);
  static constexpr size_t kWindowsPerTurn = 256;

  // Ends open windows of stage `id` (0 = of all stages) early: those of the devices for which
  // `ends` is true, null = of all devices.
  void EndWindows(uint32_t id, const std::function<bool(std::string_view device)>& ends,
                  int64_t now_us);

  // Lets go of the forecasts of the devices in the placement slots for which `leaves` is true, for
  // the worker to which they move.
  void LeaveForecasts(const std::function<bool(uint32_t place)>& leaves);

  // Seals the open batches of stage `id`, 0 = of all stages.
  void Flush(uint32_t id, SealReason reason);

  // True if devices must wait because the message ring is more than half full and some records
  // become only messages.
  bool MessagesHigh() const;
  bool message_only() const { return plan_->message_only(); }
  const Plan& plan() const { return *plan_; }
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }

 private:
  class BatchStage;

  // Notes the final class of the record on one of its routes.
  void Ends(const Record& record);
  void RunStage(const Stage& stage, const Record& record);
  void RunBatch(const Stage& stage, const Record& record);
  void Forward(const Stage& stage, const Record& record);
  // Sends the record to JavaScript. Returns false if the message ring is full.
  bool RecordMessage(const Stage& stage, const Record& record);
  void EnvelopeMessage(const Stage& stage, Batch* batch);
  bool Defers(const Stage& stage, const Record& record) const {
    return context_.deferred != nullptr && record.deferred.handle != 0 && stage.takes_messages;
  }
  void MessageDropped(const Stage& stage, uint8_t record_class, uint32_t records);
  void OnBatch(const Stage& stage, BatchPtr batch);
  void Queue(const Stage& uplink, BatchPtr batch);
  void PushSingle(const Stage& stage, const Record& record);
  void RunFilter(const Stage& stage, const Record& record);
  void RunSplit(const Stage& stage, const Record& record);
  void RunForecast(const Stage& stage, const Record& record);
  BatchStage* BatcherOf(const Stage& stage);
  void DropIdle();
  void RunWindow(const Stage& stage, const Record& record);
  void OnWindow(const Stage& stage, Window* window, WindowEnd end);
  void EndDueWindows(int64_t now_us);
  void EndWindowsOf(const std::function<bool(const Stage&)>& of,
                    const std::function<bool(std::string_view device)>& ends, int64_t now_us);
  std::unique_ptr<Windows> MakeWindows(const Stage& stage);
  std::vector<std::unique_ptr<Windows>> TakeOverWindows(const Plan& plan, int64_t now_us);
  bool Sampled(const Stage& stage, const Record& record);
  StageCounters& CountersOf(const Stage& stage) const {
    return stage.shared->counters[context_.worker];
  }

  const PipelineContext context_;
  std::shared_ptr<const Plan> plan_;
  const Stage* entry_ = nullptr;  // stage of plan_ that the latest record entered
  // Index as Plan::stages(); null for other kinds, and for stages that had no record yet.
  std::vector<std::unique_ptr<BatchStage>> batchers_;
  // Those that may have an open batch. A turn costs nothing for the others, such as the batch
  // stages of a split whose parts are silent.
  std::vector<BatchStage*> busy_;
  std::vector<std::unique_ptr<Filter>> filters_;   // the same
  WindowTotals own_windows_;                       // if the context has none
  std::vector<std::unique_ptr<Windows>> windows_;  // the same, for filters of FilterMode::kWindow
  std::vector<Windows*> window_stages_;            // those of windows_ that are not null
  int64_t windows_from_us_ = INT64_MIN;  // until then, windows wait for room in the message ring
  uint64_t next_envelope_ = 1;           // for ids of batch messages
  Passage passage_;                      // of the current record
  bool is_counted_ = false;              // the current record is counted as dropped
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PIPELINE_H_

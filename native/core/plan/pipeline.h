// Runs records through a plan's stages on one worker. Knows no threads and no sockets.
#ifndef SEGANET_CORE_PLAN_PIPELINE_H_
#define SEGANET_CORE_PLAN_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/plan/plan.h"
#include "core/queue/budget.h"
#include "core/queue/byte_ring.h"

namespace seganet {

// What a pipeline works with; all outlive it.
struct PipelineContext {
  size_t worker = 0;
  Budget* budget = nullptr;
  CounterBlock* counters = nullptr;  // of this worker
  ByteRing* messages = nullptr;      // frames for JavaScript; this worker is the writer
  Doorbell* message_bell = nullptr;
  const std::atomic<int64_t>* devices = nullptr;  // connected, of the whole engine
  // The longest that a batch may stay open while its uplink's lanes are hurried, by class, µs.
  std::array<int64_t, kClasses + 1> linger_us{};
};

// What became of a record.
struct Passage {
  // How often its receipt comes back: once for each copy that is on its way to an uplink.
  uint32_t copies = 0;
  // The class that it ended with; the most urgent, where its ways give it several. Taps do not
  // count: they only look.
  uint8_t record_class = 0;
  // Some stage stores, sends or hands on the record. A record that none takes may not be
  // acknowledged.
  bool taken = false;
};

// Thread safety: owned by one worker.
class Pipeline {
 public:
  explicit Pipeline(const PipelineContext& context);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Swaps the plan. Open batches of a stage that stays as it is stay open; others are sealed and go
  // where the old plan sent them.
  void SetPlan(std::shared_ptr<const Plan> plan);

  // Puts a record into stage `id`. A record that no stage takes is counted: as "no route", or as
  // "message ring full" where messages are all that becomes of it.
  Passage Run(uint32_t id, const Record& record);

  // The worker has put in all that came with one wake-up.
  void EndTurn(int64_t now_us);

  int64_t NextDeadline();
  void OnTime(int64_t now_us);

  // Seals the open batches of stage `id`, 0 = of all.
  void Flush(uint32_t id, SealReason reason);

  // The message ring is so full that devices must wait, because messages are all that becomes of
  // some records.
  bool MessagesHigh() const;
  bool message_only() const { return plan_->message_only(); }
  const Plan& plan() const { return *plan_; }
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }

 private:
  class BatchStage;

  void Ends(const Record& record);
  void RunStage(const Stage& stage, const Record& record);
  void RunBatch(const Stage& stage, const Record& record);
  void Forward(const Stage& stage, const Record& record);
  // False when JavaScript does not get it.
  bool RecordMessage(const Stage& stage, const Record& record);
  void EnvelopeMessage(const Stage& stage, const Batch& batch);
  void MessageDropped(const Stage& stage, uint8_t record_class, uint32_t records);
  void OnBatch(const Stage& stage, BatchPtr batch);
  void Queue(const Stage& uplink, BatchPtr batch);
  void PushSingle(const Stage& stage, const Record& record);
  bool Sampled(const Stage& stage, const Record& record);
  StageCounters& CountersOf(const Stage& stage) const {
    return stage.shared->counters[context_.worker];
  }

  const PipelineContext context_;
  std::shared_ptr<const Plan> plan_;
  const Stage* entry_ = nullptr;  // of plan_, of the latest record
  std::vector<std::unique_ptr<BatchStage>>
      batchers_;                // index as Plan::stages(), null for other kinds
  uint64_t next_envelope_ = 1;  // id of batch messages
  Passage passage_;             // of the record at hand
  bool ring_was_full_ = false;  // the same: it had to become a message, and is counted
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLAN_PIPELINE_H_

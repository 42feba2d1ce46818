// The queue in front of one uplink: for each class a live lane (FIFO) of sealed batches and a
// backlog lane of batches that came back from the log. Sessions take from it at outlets, each for
// some of the classes, and give back what the cloud acknowledged.
//
// It also says which batches have to be written to disk and when, because only it knows how well
// the cloud answers; and it keeps the limits of the classes. Where what is:
//   lanes.cc          batches in, and what leaves for good
//   lanes_outlets.cc  the sessions' end
//   lanes_turns.cc    which class goes next, and which is held
//   lanes_limits.cc   age, numbers and memory
//   lanes_save.cc     what is written, and when
//   lanes_stored.cc   what became of it
//   lanes_moves.cc    batches of uplink nodes that a new plan gives to other lanes
//
// A batch crosses from a worker to the uplink's thread here, under a mutex: that is once a batch,
// not once a record.
#ifndef SEGANET_CORE_QUEUE_LANES_H_
#define SEGANET_CORE_QUEUE_LANES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/counters.h"
#include "core/base/doorbell.h"
#include "core/queue/batch.h"
#include "core/queue/demand.h"
#include "core/queue/lanes_context.h"
#include "core/queue/outlet.h"
#include "core/queue/rate_limit.h"
#include "core/queue/unsaved.h"

namespace seganet {

// Thread safety: any member from any thread; an outlet is used by one thread at a time and not
// after its Detach.
class Lanes {
 public:
  explicit Lanes(LanesContext context);

  // Puts a batch behind those of its class and rings the outlet that serves it.
  void Push(BatchPtr batch);

  // Drops everything that waits or is in flight, counted with `reason`; what is on disk stays
  // there.
  void Clear(Drop reason);

  // Keeps the limits of age also where nothing moves. To be called now and then.
  void Sweep(int64_t now_us);

  const CounterBlock& counters() const { return counters_; }

  // What the sessions could send, for the batchers.
  Appetite* appetite() { return &appetite_; }

  // --- The sessions' end (lanes_outlets.cc) ---

  // Connects a consumer of these classes; null when one of them is served already, or there are
  // none. The bell outlives the outlet. Its session is down at first.
  Outlet* Attach(Doorbell* doorbell, ClassMask classes = kAllClasses);

  // Disconnects it: what it took returns to the head of its lanes, in order.
  void Detach(Outlet* outlet);

  // The session with the cloud is up or down.
  void SetConnected(Outlet* outlet, bool connected, int64_t now_us);

  // Class of the batch that Take would take at `now_us`, 0 = none. Of the classes that may send:
  // one that got nothing for the aging time, else class 1, else by weights (queue/selection.h)
  // among all outlets: one that is too far ahead of a class that waits at another, connected outlet
  // is held, and the outlet is rung when that ends. Takes nobody's turn.
  // `of`: as if only these waited.
  uint8_t Best(Outlet* outlet, int64_t now_us, ClassMask of = kAllClasses);
  uint8_t BestBacklog(Outlet* outlet, int64_t now_us);

  // Shows the best batch to `copy` and counts it as in flight when that returns true.
  // Returns false when there is none or `copy` does not want it.
  bool Take(Outlet* outlet, int64_t now_us, const std::function<bool(const Batch&)>& copy,
            bool backlog = false, ClassMask of = kAllClasses);

  // Shows a batch that was taken and is not acknowledged. False: no such batch is in flight.
  bool Look(Outlet* outlet, uint64_t id, const std::function<void(const Batch&)>& show);

  // The cloud acknowledged batch `id`, but for `refusal`. False: no such batch is in flight.
  bool Release(Outlet* outlet, uint64_t id, int64_t now_us, const Refusal& refusal = {});

  // Time until a class that waits for its rate alone, or is held, should be looked at again, µs; -1
  // = there is none.
  int64_t RetryUs(Outlet* outlet, int64_t now_us);

  // Age of its oldest live batch, µs, -1 = none.
  int64_t OldestUs(Outlet* outlet, int64_t now_us);

  // The session is up, has room, and found nothing live: what batchers hold of its classes may
  // come.
  void Hungry(Outlet* outlet, int64_t now_us);

  // m of its link. REQUIRES: kMinBatchBytes <= bytes <= kMaxAdaptiveBytes.
  void SetBatchBytes(Outlet* outlet, uint32_t bytes);

  // --- Uplink nodes that come and go (lanes_moves.cc) ---

  // Takes out what waits of stages that these lanes do not serve any more, in order. What is in
  // flight stays: it is delivered, or a stray when its outlet is detached (LanesContext). Until the
  // first call these lanes serve every stage. For leftovers: the stages that other lanes serve.
  std::vector<BatchPtr> SetStages(std::set<uint32_t> stages);

  // Takes over batches of other lanes of the engine. Each comes before all that is younger.
  void TakeIn(std::vector<BatchPtr> batches);

  // --- The log's end (lanes_save.cc) ---

  // Names of the uplink nodes (stages) that batches wait at: chunks are kept under them.
  void SetNodes(std::map<uint32_t, std::string> nodes);

  // When the next batch has to be written, CLOCK_MONOTONIC; kNever = none.
  int64_t NextSave(int64_t now_us);

  // Everything is due now, from now on.
  void SaveAll();

  // Makes a chunk of what is due: batches of one class and one node. False when nothing is.
  bool Seal(int64_t now_us, SealedChunk* chunk);

  // What became of the chunk `ticket`.
  void Committed(uint64_t ticket);
  void Failed(uint64_t ticket);
  // The log has no room for it, and the user wants that it goes. What is in flight stays, unsaved
  // and without a receipt; it is written when it comes back.
  void Discard(uint64_t ticket);

  // The log removed a committed chunk to make room: what memory holds of it goes, too. What is in
  // flight is counted as dropped, because its device has an acknowledgement, and may still
  // arrive.
  void Removed(uint64_t ticket);

  // The log lost a committed chunk, or all of them (0): what memory holds of it is written again.
  // The backlog is not; it has to reach the cloud from memory.
  void Unsave(uint64_t ticket = 0);

  // Whether the log should be read for this class.
  bool WantsBacklog(uint8_t record_class);
  void PushBacklog(std::vector<BatchPtr> batches);

  // While this is true batches of the class, or of any, are written after the linger, so open ones
  // are sealed by then.
  ClassMask hurried_classes() const { return hurried_.load(std::memory_order_relaxed); }
  bool hurried(uint8_t record_class) const {
    return (hurried_classes() & MaskOf(record_class)) != 0;
  }
  bool hurried() const { return hurried_classes() != 0; }

  // Records that are not on disk, by class.
  std::array<int64_t, kClasses + 1> Unsaved();
  // Work that keeping them in order took (UnsavedBatches::steps).
  uint64_t UnsavedSteps();

  // --- When memory is full and the user chose to drop (lanes_limits.cc, make_room.h) ---

  // Spills what the log has of this class, while the budget has no room for the class.
  void SpillFull(uint8_t record_class);
  // Id of the batch of this class that GiveUpFirst would drop, kNoBatch = none.
  uint64_t FirstToGo(uint8_t record_class);
  // Drops it. False: there is none.
  bool GiveUpFirst(uint8_t record_class);
  static constexpr uint64_t kNoBatch = UINT64_MAX;

 private:
  using Lane = std::deque<BatchPtr>;
  // What has left the lanes and is settled when the mutex is released.
  struct Leaving;

  void DropLocked(BatchPtr batch, Drop reason, Leaving* leaving);
  void LetGoLocked(BatchPtr batch, Drop reason, Leaving* leaving);
  void Settle(Leaving* leaving);

  bool MayLeave(uint8_t record_class, int64_t now_us) const;
  ClassMask WaitingLocked(const Outlet& outlet, int64_t now_us) const;
  ClassMask BacklogLocked(const Outlet& outlet, int64_t now_us) const;
  int64_t WaitingSince(const Outlet& outlet, uint8_t record_class) const;
  ClassMask ContendersLocked(const Outlet& outlet, int64_t now_us) const;
  ClassMask HeldLocked(const Outlet& outlet, int64_t now_us) const;
  uint8_t OverdueLocked(const Outlet& outlet, ClassMask waiting, int64_t now_us) const;
  uint8_t PickLocked(Outlet* outlet, ClassMask of, int64_t now_us) const;
  uint8_t PickBacklogLocked(Outlet* outlet, int64_t now_us) const;
  void RingHeldLocked(int64_t now_us);
  void RestoreLocked(BatchPtr batch);
  bool ServesLocked(uint32_t stage) const {
    return !stages_ || stages_->contains(stage) != context_.leftovers;
  }
  void TakeStraysLocked(Lane* lane, std::vector<BatchPtr>* strays, Leaving* leaving);
  void MoveOutLocked(Batch* batch, Leaving* leaving);
  void LeaveStoredLocked(Leaving* leaving);
  void GiveUpLocked(int64_t sealed_before_us, Leaving* leaving);
  void Bury(BatchPtr batch, const Refusal& refusal);

  void TidyLocked(ClassMask classes, int64_t now_us, Leaving* leaving);
  bool Expired(const Lane& lane, int64_t now_us) const;
  void Spill(uint8_t record_class, const std::function<bool(const Batch&)>& may_go,
             Leaving* leaving);
  std::function<bool(const Batch&)> Overflow(uint8_t record_class) const;
  void SpillCrowd(Leaving* leaving);
  Lane::iterator NextToGo(uint8_t record_class);
  void LimitRecords(uint8_t record_class, Leaving* leaving);

  bool HurriedLocked(uint8_t record_class, int64_t now_us);
  int64_t DueLocked(uint8_t record_class, int64_t now_us);
  std::string NodeOf(uint32_t stage) const;
  bool HasRoomToRead(uint8_t record_class) const;
  void JoinLog(Batch* batch);
  void LeaveLog(Batch* batch);
  void UnsaveLocked(const std::vector<Batch*>& batches);
  static Lane::iterator Find(Lane* lane, const Batch* batch);

  const LanesContext context_;
  Appetite appetite_;

  std::mutex mutex_;
  std::array<Lane, kClasses + 1> ready_;
  std::array<Lane, kClasses + 1> backlog_;
  std::array<size_t, kClasses + 1> backlog_bytes_{};
  // When the class last got something sent, or began to wait.
  std::array<int64_t, kClasses + 1> since_{};
  Selection live_;  // of all outlets
  std::array<RateLimit, kClasses + 1> rates_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::array<Outlet*, kClasses + 1> serving_{};  // by class; null = nobody
  std::array<UnsavedBatches, kClasses + 1> unsaved_;
  // What memory holds of chunks, by ticket and place; null = has left meanwhile.
  std::map<uint64_t, std::vector<Batch*>> saving_;
  struct Stored {
    std::vector<Batch*> batches;
    size_t left = 0;  // that are not null
  };
  std::unordered_map<uint64_t, Stored> stored_;
  std::array<uint64_t, kClasses + 1> stay_below_{};  // live batches with lower ids stay in memory
  std::map<uint32_t, std::string> nodes_;
  ClassMask unread_ = 0;  // classes that had no room for backlog when the log asked
  bool save_all_ = false;
  std::optional<std::set<uint32_t>> stages_;  // of SetStages
  std::atomic<ClassMask> hurried_{0};
  CounterBlock counters_;  // written under the mutex
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_H_

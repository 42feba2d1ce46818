// Whose turn it is: selects the next class of a session, and holds classes so that those of other
// sessions get their share.
#ifndef SEGANET_CORE_QUEUE_TURNS_H_
#define SEGANET_CORE_QUEUE_TURNS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/queue/lane_set.h"
#include "core/queue/lanes_context.h"
#include "core/queue/outlet.h"
#include "core/queue/rate_limit.h"
#include "core/queue/selection.h"

namespace seganet {

using Outlets = std::vector<std::unique_ptr<Outlet>>;

// Thread safety: none; the mutex of Lanes guards it.
class Turns {
 public:
  // All arguments must outlive the object.
  Turns(const LanesContext* context, const LaneSet* lanes, const Outlets* outlets);

  // A live batch of the class is about to be added to its lane.
  void BeginWait(uint8_t record_class, int64_t now_us);

  // Returns the outlet's classes with a live batch that may be sent now.
  ClassMask Waiting(const Outlet& outlet, int64_t now_us) const;

  // Returns the class of the outlet's next live batch among the classes `of`, 0 = none.
  uint8_t Pick(Outlet* outlet, ClassMask of, int64_t now_us) const;
  // The same for the backlog.
  uint8_t PickBacklog(Outlet* outlet, int64_t now_us) const;

  // True if the outlet has a live batch that may be sent now, and is not held.
  bool CanPick(const Outlet& outlet, int64_t now_us) const;

  // The first batch of a lane is about to be taken.
  void Pay(Outlet* outlet, const Batch& batch, int64_t now_us);

  // While paused, no class waits.
  void SetPaused(bool paused) { paused_ = paused; }

  // Rings outlets whose hold has ended.
  void RingHeld(int64_t now_us);

  // Rings the outlets of batches that waited too long for the disk.
  void RingUnsaved(int64_t now_us);

  // Returns the time until a class that is held, or waits only for its rate, must be
  // checked again, µs; -1 = there is none.
  int64_t RetryUs(const Outlet& outlet, int64_t now_us) const;

 private:
  bool MayLeave(uint8_t record_class, int64_t now_us) const;
  ClassMask Backlog(const Outlet& outlet, int64_t now_us) const;
  int64_t WaitingSince(const Outlet& outlet, uint8_t record_class) const;
  ClassMask Contenders(const Outlet& outlet, int64_t now_us) const;
  ClassMask Held(const Outlet& outlet, int64_t now_us) const;
  uint8_t Overdue(const Outlet& outlet, ClassMask waiting, int64_t now_us) const;

  const LanesContext& context_;
  const LaneSet& lanes_;
  const Outlets& outlets_;
  // When a batch of the class was last taken, or when the class began to wait.
  std::array<int64_t, kClasses + 1> since_{};
  Selection live_;  // of all outlets
  std::array<RateLimit, kClasses + 1> rates_;
  bool paused_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_TURNS_H_

// Passes MQTT sessions between the workers that own them and the store thread that writes them.
#ifndef SEGANET_CORE_RUNTIME_SESSION_OUTBOX_H_
#define SEGANET_CORE_RUNTIME_SESSION_OUTBOX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

// A session to write; an empty row deletes that of the device.
struct SessionWrite {
  uint32_t worker = 0;
  std::string device;
  std::string row;  // session_row.h
};

enum class Restoring : uint8_t { kOpen = 0, kRestored = 1, kGivenUp = 2 };

// The workers offer sessions while there is room. The store thread takes them together, writes them
// in one transaction, and reports the commit. A worker's sessions are committed in the order in
// which it offered them. Memory: kMostBytes on each side, and one session more.
//
// Thread safety: Offer, Report and active from the workers; Attach, Detach, Disable, Take and
// Committed from the store thread; Start and the others from the engine's thread, too.
class SessionOutbox {
 public:
  static constexpr size_t kMostSessions = 1024;
  static constexpr size_t kMostBytes = 1u << 20;

  // `on_change` makes all workers look at active(), committed() and the room; any thread.
  void Start(size_t workers, std::function<void()> on_change);

  // True if a store thread writes the sessions, now or again soon.
  bool active() const { return active_.load(std::memory_order_acquire); }

  // Adds a session. Returns false if there is no room: on_change follows.
  bool Offer(SessionWrite write);
  // The number of sessions that `worker` still has to offer.
  void Report(uint32_t worker, size_t waiting);
  // The number of sessions of the worker that are on disk, of those offered.
  uint64_t committed(uint32_t worker) const {
    return by_worker_[worker].committed.load(std::memory_order_acquire);
  }

  // Connects the store thread. Returns false if one is connected. What an earlier one took without
  // committing it is taken again.
  bool Attach(Doorbell* bell);
  void Detach();
  // Sessions cannot be written: they are kept in memory only.
  void Disable();

  // Returns the sessions to write. Returns the same ones until Committed is called.
  const std::vector<SessionWrite>& Take();
  // The sessions that Take returned are on disk.
  void Committed();
  // The number of sessions that are not on disk yet, of all workers.
  size_t waiting();

  // Sessions of an earlier run may be restored while this is kOpen.
  Restoring restoring() const { return restoring_.load(std::memory_order_acquire); }
  // All of them are restored, or, after GiveUp, deleted.
  void Restored() { restoring_.store(Restoring::kRestored, std::memory_order_release); }
  // Devices are about to connect, so it is too late to restore sessions. No effect after Restored.
  void GiveUp() {
    Restoring open = Restoring::kOpen;
    restoring_.compare_exchange_strong(open, Restoring::kGivenUp, std::memory_order_acq_rel);
  }

  // The workers offer their last changes: the engine is about to stop.
  void SetFinal() { final_.store(true, std::memory_order_release); }
  bool is_final() const { return final_.load(std::memory_order_acquire); }

 private:
  struct OfWorker {
    std::atomic<uint64_t> committed{0};
    std::atomic<size_t> waiting{0};
  };

  std::function<void()> on_change_;
  std::vector<OfWorker> by_worker_;
  std::atomic<bool> active_{false};
  std::atomic<bool> final_{false};
  std::atomic<Restoring> restoring_{Restoring::kOpen};

  std::mutex mutex_;
  Doorbell* bell_ = nullptr;
  std::vector<SessionWrite> offered_;
  size_t offered_bytes_ = 0;
  bool was_full_ = false;
  std::vector<SessionWrite> taken_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_SESSION_OUTBOX_H_

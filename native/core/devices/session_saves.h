// Which MQTT sessions of one worker must be saved on disk, and which changes are there.
#ifndef SEGANET_CORE_DEVICES_SESSION_SAVES_H_
#define SEGANET_CORE_DEVICES_SESSION_SAVES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/clock.h"

namespace seganet {

// A session waits here by the name of its device; its content is read when the disk takes it, so
// that many changes are written once.
//
//   Changed() ─▶ dirty ─▶ Offer() ─▶ offered ─▶ Committed(): the tickets up to here are saved
//   Touch() ─▶ touched ─┘ (after kTouchUs)
//
// Thread safety: owned by one worker.
class SessionSaves {
 public:
  // A connect or disconnect is written this late, together with others. Nothing waits for it.
  static constexpr int64_t kTouchUs = 60'000'000;

  // False: sessions are kept in memory only.
  void SetActive(bool active) {
    active_ = active;
    if (!active) Clear();
  }
  bool active() const { return active_ && !frozen_; }

  // The subscriptions of the device's session have changed, or a saved session has ended. Returns
  // the ticket of the change; 0 = it is not saved.
  uint64_t Changed(std::string_view device) { return Add(device, true, false); }

  // As Changed(), and the device waits for the ticket.
  uint64_t Await(std::string_view device) {
    const uint64_t ticket = Changed(device);
    if (ticket != 0) awaiting_.emplace(device);
    return ticket;
  }

  // The device has connected or left.
  void Touch(std::string_view device);

  // The device's session has ended. `is_saved`: it is on disk, and must be deleted there.
  void Ended(std::string_view device, bool is_saved);

  // True if the change with this ticket is on disk, or sessions are not saved.
  bool IsSaved(uint64_t ticket) const { return !active_ || ticket <= saved_; }
  // As IsSaved(). If it is not, the device waits for the ticket.
  bool IsSavedOrAwait(uint64_t ticket, std::string_view device) {
    if (IsSaved(ticket)) return true;
    awaiting_.emplace(device);
    return false;
  }
  // All changes up to this ticket are on disk.
  uint64_t saved() const { return active_ ? saved_ : UINT64_MAX; }

  // Why a session is due.
  struct Due {
    std::string device;
    bool is_changed = false;  // false: the device only connected or left
    bool is_saved = false;    // a saved session of the device has ended
  };
  enum class Offer : uint8_t { kTaken, kNotNeeded, kNoRoom };

  // Calls offer(due) for each session that is due, the one that waited longest first, until it
  // returns kNoRoom. Touch() may be called meanwhile.
  template <typename To>
  void OfferAll(int64_t now_us, To&& offer) {
    if (now_us >= touched_due_us_) DirtyTouched();
    while (!dirty_.empty()) {
      const auto first = dirty_.begin();
      const Offer answer = offer(std::as_const(first->second));
      if (answer == Offer::kNoRoom) return;
      if (answer == Offer::kTaken) offered_.push_back(first->first);
      tickets_.erase(first->second.device);
      dirty_.erase(first);
    }
  }

  // The disk has the first `sessions` of those offered and not yet committed. Returns true if the
  // devices of awaiting() must check their tickets.
  bool Committed(uint64_t sessions);

  // The devices whose answers wait for a ticket.
  const std::unordered_set<std::string>& awaiting() const { return awaiting_; }
  void StopAwaiting(const std::string& device) { awaiting_.erase(device); }

  // The number of sessions that are due and not offered.
  size_t waiting() const { return dirty_.size(); }

  // Offers no session that changes from now on, because the engine stops.
  void Freeze() { frozen_ = true; }

  // True if a session was offered and is not committed yet.
  bool has_offers() const { return !offered_.empty(); }
  // Removes and returns the touched devices for which leaves(device) is true.
  template <typename Leaves>
  std::vector<std::string> TakeTouched(Leaves&& leaves) {
    std::vector<std::string> taken;
    for (auto it = touched_.begin(); it != touched_.end();) {
      const auto at = it++;
      if (!leaves(std::string_view(*at))) continue;
      taken.push_back(*at);
      touched_.erase(at);
    }
    return taken;
  }

 private:
  uint64_t Add(std::string_view device, bool is_changed, bool is_saved);
  void DirtyTouched();
  void Clear();

  bool active_ = false;
  bool frozen_ = false;
  uint64_t last_ = 0;                                  // ticket
  uint64_t saved_ = 0;                                 // ticket
  std::map<uint64_t, Due> dirty_;                      // by the ticket of the first change
  std::unordered_map<std::string, uint64_t> tickets_;  // of dirty_, by device
  std::deque<uint64_t> offered_;                       // tickets of first changes, ascending
  std::unordered_set<std::string> touched_;
  std::unordered_set<std::string> awaiting_;
  int64_t touched_due_us_ = kNever;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_SESSION_SAVES_H_

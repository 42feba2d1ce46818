// Device ids that more than one row may use: that of the device itself, on the worker that its hash
// names, and one behind each bridge that has spoken for it (DeviceTable::GetBehind).
#ifndef SEGANET_CORE_DEVICES_IDENTITIES_H_
#define SEGANET_CORE_DEVICES_IDENTITIES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/keyed_hash.h"

namespace seganet {

class Identities;

// What the rows of one id share. The members above the line may be used by any thread.
struct Identity {
  std::atomic<uint32_t> next_seq{0};
  // The bridge that speaks for the device (Identities::NewSpeaker); 0 = the device itself.
  std::atomic<uint32_t> speaker{0};
  // When that bridge spoke for it last; kEnded = its connection has ended since.
  static constexpr int64_t kEnded = 0;
  std::atomic<int64_t> spoken_us{kEnded};
  Identities* owner = nullptr;
  // ---- guarded by the owner ----
  const std::string* id = nullptr;
  bool own = false;    // it has a connection, an observation or a proof of its own
  std::string bridge;  // device id of `speaker`
  uint32_t rows = 0;
};

// Without bridges, ids have no Identity. From Activate() on, each row that is created joins one.
//
// Thread safety: any thread.
class Identities {
 public:
  // A bridge that has not spoken for a device for this long no longer keeps other bridges from it.
  static constexpr int64_t kSpokenUs = 60'000'000;

  bool active() const { return active_.load(std::memory_order_acquire); }
  // Returns true on the first call. The caller then has all existing rows join.
  bool Activate() { return !active_.exchange(true, std::memory_order_acq_rel); }

  // Adds a row of `id`, whose next number is at least `next_seq`.
  Identity* Join(std::string_view id, uint32_t next_seq);
  // Removes a row of the device itself (`speaker` 0), or of a bridge. The last row of an id takes
  // the Identity with it; ids that join later begin at a number that is not below any that was used
  // so far, so that no id gets a number twice.
  void Leave(Identity* identity, uint32_t speaker);

  // Returns a number for a bridge, which no other bridge has.
  uint32_t NewSpeaker() { return last_speaker_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // A bridge wants to speak for a device. Returns false if the device speaks for itself, or another
  // bridge speaks for it: one that is connected and has done so within kSpokenUs.
  bool Claim(Identity* identity, uint32_t speaker, std::string_view bridge, int64_t now_us);
  // `own`: the device has a connection, an observation or a proof of its own. No bridge may speak
  // for it then.
  void SetOwn(Identity* identity, bool own);

  // Returns the id of the bridge that speaks for a device, or spoke for it last; empty = none.
  std::string BridgeOf(std::string_view device) const;

 private:
  std::atomic<bool> active_{false};
  std::atomic<uint32_t> last_speaker_{0};
  mutable std::mutex mutex_;
  uint32_t first_seq_ = 0;  // of ids that join
  std::unordered_map<std::string, Identity, KeyedStringHash, std::equal_to<>> by_id_;
};

// A row's part in an Identity; leaves it at its end. Empty by default.
class IdentityRef {
 public:
  IdentityRef() = default;
  // `speaker` 0: a row of the device itself. `identities` outlives this.
  IdentityRef(Identities* identities, std::string_view id, uint32_t next_seq, uint32_t speaker)
      : identity_(identities->Join(id, next_seq)), speaker_(speaker) {}
  ~IdentityRef() {
    if (identity_ != nullptr) identity_->owner->Leave(identity_, speaker_);
  }
  IdentityRef(const IdentityRef&) = delete;
  IdentityRef& operator=(IdentityRef&& other) noexcept {
    std::swap(identity_, other.identity_);
    std::swap(speaker_, other.speaker_);
    return *this;
  }

  explicit operator bool() const { return identity_ != nullptr; }
  Identity* operator->() const { return identity_; }
  Identity* get() const { return identity_; }
  // True if the row is the one that speaks for the device.
  bool speaks() const { return identity_->speaker.load(std::memory_order_relaxed) == speaker_; }
  // Identities::Claim, for the row of a bridge.
  bool Claim(std::string_view bridge, int64_t now_us) {
    return identity_->owner->Claim(identity_, speaker_, bridge, now_us);
  }

 private:
  Identity* identity_ = nullptr;
  uint32_t speaker_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_IDENTITIES_H_

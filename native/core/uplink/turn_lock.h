// The lock of what a session's thread and workers use in turns (DirectLine).
#ifndef SEGANET_CORE_UPLINK_TURN_LOCK_H_
#define SEGANET_CORE_UPLINK_TURN_LOCK_H_

#include <mutex>

namespace seganet {

// A mutex that its owner may lock again, because the session's thread calls JavaScript while it
// holds the lock, and JavaScript calls back. A worker only tries.
//
// Thread safety: any member from any thread; unlock from the thread that locked.
class TurnLock {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }
  // Does not wait. Returns false also if this thread holds the lock: a function further up its
  // stack is using what the lock guards.
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    if (depth_ > 0) {
      mutex_.unlock();
      return false;
    }
    ++depth_;
    return true;
  }

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;  // guarded by mutex_
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_TURN_LOCK_H_

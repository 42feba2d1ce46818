// Memory that the threads of an engine may use together for one purpose.
#ifndef SEGANET_CORE_LOOP_MEMORY_SHARE_H_
#define SEGANET_CORE_LOOP_MEMORY_SHARE_H_

#include <atomic>
#include <cstdint>

namespace seganet {

// Thread safety: any thread; SetLimit before the others.
class MemoryShare {
 public:
  void SetLimit(int64_t bytes) { limit_ = bytes; }

  // So many bytes more are used, or fewer. False: more than the limit is used now, with these.
  bool Add(int64_t bytes) {
    return used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_;
  }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  int64_t limit_ = INT64_MAX;
  std::atomic<int64_t> used_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_MEMORY_SHARE_H_

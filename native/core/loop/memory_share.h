// A memory limit for one purpose, shared by the threads of an engine.
#ifndef SEGANET_CORE_LOOP_MEMORY_SHARE_H_
#define SEGANET_CORE_LOOP_MEMORY_SHARE_H_

#include <atomic>
#include <cstdint>

namespace seganet {

// Thread safety: any thread; SetLimit before all other calls.
class MemoryShare {
 public:
  void SetLimit(int64_t bytes) { limit_ = bytes; }

  // Adds `bytes` (negative to release) to the memory in use. Returns false if the total, including
  // `bytes`, now exceeds the limit; the bytes count nevertheless.
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

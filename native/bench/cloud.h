// The cloud of benchmarks of a whole engine.
#ifndef SEGANET_BENCH_CLOUD_H_
#define SEGANET_BENCH_CLOUD_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/cpu.h"
#include "core/queue/lanes.h"

namespace seganet::bench {

// Takes every batch on a thread of its own and acknowledges it.
class Cloud {
 public:
  // `on_batch` gets each batch on that thread.
  explicit Cloud(std::shared_ptr<Lanes> lanes, std::function<void(const Batch&)> on_batch = {})
      : lanes_(std::move(lanes)), on_batch_(std::move(on_batch)), thread_([this] { Run(); }) {}
  ~Cloud() {
    stop_ = true;
    thread_.join();
  }
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> batches{0};
  std::atomic<int> tid{0};  // of the thread

 private:
  class Bell : public Doorbell {
   public:
    void Await() {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(5), [this] { return rung_; });
      rung_ = false;
      Answer();
    }

   private:
    void Call() override {
      const std::lock_guard<std::mutex> lock(mutex_);
      rung_ = true;
      changed_.notify_one();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
  };

  void Run() {
    tid = ThisThreadId();
    Outlet* const outlet = lanes_->Attach(&bell_);
    lanes_->SetConnected(outlet, true, MonotonicUs());
    std::vector<uint64_t> ids;
    while (!stop_) {
      const int64_t now = MonotonicUs();
      while (lanes_->Take(outlet, now, [&](const Batch& batch) {
        ids.push_back(batch.id);
        if (on_batch_) on_batch_(batch);
        records.fetch_add(batch.record_count, std::memory_order_relaxed);
        return true;
      })) {
      }
      batches.fetch_add(ids.size(), std::memory_order_relaxed);
      for (const uint64_t id : ids) lanes_->Release(outlet, id, now);
      ids.clear();
      lanes_->RaiseDemand(outlet, now);
      bell_.Await();
    }
    lanes_->Detach(outlet);
  }

  Bell bell_;
  const std::shared_ptr<Lanes> lanes_;
  const std::function<void(const Batch&)> on_batch_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CLOUD_H_

// A named, pinned thread that runs a libuv loop and executes what others post to it.
#ifndef SEGANET_CORE_LOOP_LOOP_THREAD_H_
#define SEGANET_CORE_LOOP_LOOP_THREAD_H_

#include <uv.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// Thread safety: Start, Stop and Wake from the owner's thread (Wake from the thread itself too);
// Post and Call from any; the rest from the thread itself.
class LoopThread {
 public:
  static constexpr int kUnpinned = -1;

  LoopThread();
  virtual ~LoopThread();  // REQUIRES: not running
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Starts the thread and waits until it runs. cpu kUnpinned = wherever the kernel likes; when
  // pinning fails it runs unpinned and pin_error() tells why.
  Status Start(const std::string& name, int cpu);

  // Ends the loop, closes its handles and joins. Idempotent.
  void Stop();

  // Runs `task` on the thread, in order of posting. False: the thread does not run, and the task is
  // dropped.
  bool Post(std::function<void()> task);

  // The same, and waits for it. Must not be called from the thread itself. False: the thread does
  // not run.
  bool Call(const std::function<void()>& task);

  // Wake from any thread, at any time; nothing happens when it does not run.
  void Nudge();

  // Makes OnWake run soon; several calls may end in one. REQUIRES: started and not stopped.
  void Wake() {
    if (!awake_.exchange(true, std::memory_order_acq_rel)) uv_async_send(&async_);
  }

  int tid() const { return tid_; }
  int cpu() const { return pin_error_.empty() ? cpu_ : -1; }
  const std::string& pin_error() const { return pin_error_; }

 protected:
  virtual void OnStart() {}
  virtual void OnWake() {}
  // Close every handle of the loop here.
  virtual void OnStop() {}

  uv_loop_t* loop() { return loop_; }

 private:
  // What the thread is given; ends when it runs.
  struct Beginning {
    LoopThread* self;
    std::string name;
    std::promise<void> started;
  };
  void Run(Beginning* beginning);
  void RunTasks();

  // By uv_loop_size(): the libuv that is loaded may be newer than the header (native/binding runs
  // in any Node).
  const std::unique_ptr<char[]> loop_memory_;
  uv_loop_t* const loop_;
  uv_async_t async_;
  uv_thread_t thread_;
  bool started_ = false;  // and not joined
  std::atomic<bool> awake_{false};
  int cpu_ = -1;
  int tid_ = 0;
  std::string pin_error_;

  std::mutex mutex_;
  bool running_ = false;  // guarded by mutex_
  std::vector<std::function<void()>> tasks_;
  bool stopping_ = false;  // of the thread itself
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_LOOP_THREAD_H_

// A named, pinned thread that runs a libuv loop and executes the tasks that other threads post to
// it.
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

// Thread safety: Start and Stop from the owner's thread; Wake from the owner's thread and from the
// thread itself; Post, Call and Nudge from any thread, but not Call from the thread itself;
// everything else from the thread itself.
class LoopThread {
 public:
  static constexpr int kUnpinned = -1;

  LoopThread();
  virtual ~LoopThread();  // REQUIRES: the thread does not run.
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Starts the thread and waits until it runs. With cpu kUnpinned, the kernel chooses the core. If
  // pinning fails, the thread runs unpinned, and pin_error() returns the reason. Returns
  // Status::System if the loop or the thread cannot be created.
  Status Start(const std::string& name, int cpu);

  // Ends the loop, closes its handles and joins the thread. Idempotent.
  void Stop();

  // Runs `task` on the thread, in the order of posting. Returns false, and drops the task, if the
  // thread does not run.
  bool Post(std::function<void()> task);

  // Runs `task` as Post does, and waits until it is done. Returns false if the thread does not run.
  // REQUIRES: the caller is not the thread itself.
  bool Call(const std::function<void()>& task);

  // Calls Wake if the thread runs, otherwise does nothing.
  void Nudge();

  // Makes OnWake run soon. Several calls may lead to one OnWake. REQUIRES: started and not stopped.
  void Wake() {
    if (!awake_.exchange(true, std::memory_order_acq_rel)) uv_async_send(&async_);
  }

  // True if the caller is the thread itself. Any thread. REQUIRES: Start has returned, or the
  // caller is the thread itself.
  bool IsCurrent() const;

  int tid() const { return tid_; }
  int cpu() const { return pin_error_.empty() ? cpu_ : -1; }
  const std::string& pin_error() const { return pin_error_; }

 protected:
  virtual void OnStart() {}
  virtual void OnWake() {}
  // Subclasses close their handles of the loop here.
  virtual void OnStop() {}

  uv_loop_t* loop() { return loop_; }

 private:
  // Passed to the thread; destroyed when the thread runs.
  struct Beginning {
    LoopThread* self;
    std::string name;
    std::promise<void> started;
  };
  void Run(Beginning* beginning);
  void RunTasks();

  // Sized by uv_loop_size(): the loaded libuv may be newer than its header, because the binding
  // runs in any Node version.
  const std::unique_ptr<char[]> loop_memory_;
  uv_loop_t* const loop_;
  uv_async_t async_;
  uv_thread_t thread_;
  uv_thread_t self_{};    // as thread_, set by the thread itself
  bool started_ = false;  // and not joined yet
  std::atomic<bool> awake_{false};
  int cpu_ = -1;
  int tid_ = 0;
  std::string pin_error_;

  std::mutex mutex_;
  bool running_ = false;  // guarded by mutex_
  std::vector<std::function<void()>> tasks_;
  bool stopping_ = false;  // used by the thread itself
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_LOOP_THREAD_H_

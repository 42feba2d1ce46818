#include "core/loop/loop_thread.h"

#include <utility>

#include "core/base/cpu.h"
#include "core/base/require.h"

namespace seganet {

LoopThread::LoopThread()
    : loop_memory_(new char[uv_loop_size()]),
      loop_(reinterpret_cast<uv_loop_t*>(loop_memory_.get())) {}

LoopThread::~LoopThread() { SEGANET_REQUIRE(!started_); }

Status LoopThread::Start(const std::string& name, int cpu) {
  if (const int error = uv_loop_init(loop_); error != 0) {
    return Status::System(std::string("cannot make an event loop: ") + uv_strerror(error), -error);
  }
  async_.data = this;
  const auto on_async = [](uv_async_t* handle) {
    auto* self = static_cast<LoopThread*>(handle->data);
    // Cleared before the work is examined, so that anything posted later wakes the thread again.
    self->awake_.exchange(false, std::memory_order_acq_rel);
    self->RunTasks();
    if (!self->stopping_) self->OnWake();
  };
  if (const int error = uv_async_init(loop_, &async_, on_async); error != 0) {
    uv_loop_close(loop_);
    return Status::System(std::string("cannot make an event loop: ") + uv_strerror(error), -error);
  }
  cpu_ = cpu;
  running_ = true;
  Beginning beginning{this, name, {}};
  const auto body = [](void* argument) {
    auto* begun = static_cast<Beginning*>(argument);
    begun->self->Run(begun);
  };
  // Not std::thread: its failure would end the process, and a container may limit the number of
  // threads.
  if (const int error = uv_thread_create(&thread_, body, &beginning); error != 0) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      running_ = false;
      tasks_.clear();
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    uv_run(loop_, UV_RUN_DEFAULT);
    uv_loop_close(loop_);
    return Status::System("cannot start the thread " + name + ": " + uv_strerror(error), -error);
  }
  started_ = true;
  beginning.started.get_future().wait();
  return {};
}

void LoopThread::Run(Beginning* beginning) {
  NameThisThread(beginning->name.c_str());
  tid_ = ThisThreadId();
  self_ = uv_thread_self();
  pin_error_ = PinThisThread(cpu_);
  OnStart();
  beginning->started.set_value();  // the last use of *beginning
  uv_run(loop_, UV_RUN_DEFAULT);
  uv_loop_close(loop_);
}

void LoopThread::RunTasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const std::function<void()>& task : tasks) task();
}

bool LoopThread::Post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!running_) return false;
  tasks_.push_back(std::move(task));
  Wake();
  return true;
}

bool LoopThread::IsCurrent() const {
  const uv_thread_t current = uv_thread_self();
  return uv_thread_equal(&self_, &current) != 0;
}

void LoopThread::Nudge() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (running_) Wake();
}

bool LoopThread::Call(const std::function<void()>& task) {
  std::promise<void> done;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!running_) return false;
    SEGANET_REQUIRE(tid_ == 0 || ThisThreadId() != tid_);
    tasks_.push_back([&task, &done] {
      task();
      done.set_value();
    });
    Wake();
  }
  done.get_future().wait();
  return true;
}

void LoopThread::Stop() {
  if (!started_) return;
  {
    // The last task and the end of posting are one step: nothing is posted behind the last task, so
    // no Call waits for a thread that has ended.
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back([this] {
      stopping_ = true;
      OnStop();
      uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    });
    running_ = false;
    Wake();
  }
  uv_thread_join(&thread_);
  started_ = false;
}

}  // namespace seganet

#include "core/base/nap.h"

#include <algorithm>
#include <ctime>

#include "core/base/clock.h"

#ifdef __linux__
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#endif

namespace seganet {
namespace {

constexpr int64_t kUsPerEnd = 1'000'000 / Nap::kEndsPerS;

timespec TimeOf(int64_t us) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>(us % 1'000'000 * 1000);
  return time;
}

void SleepFor(int64_t us) {
  const timespec time = TimeOf(us);
  nanosleep(&time, nullptr);
}

}  // namespace

// True if an early end is left. Each end moves the time at which the budget is full again.
bool Nap::MayEnd(int64_t now_us) { return budget_us_ - now_us <= (kBurst - 1) * kUsPerEnd; }

#ifdef __linux__

Nap::Nap() : epoll_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_ >= 0 && epoll_ >= 0 && Watch(event_)) return;
  if (epoll_ >= 0) close(epoll_);
  epoll_ = -1;
}

Nap::~Nap() {
  if (epoll_ >= 0) close(epoll_);
  if (event_ >= 0) close(event_);
}

int64_t Nap::Sleep(int64_t us) {
  const int64_t start_us = MonotonicUs();
  if (epoll_ < 0 || !MayEnd(start_us)) {
    SleepFor(us);
    return MonotonicUs() - start_us;
  }
  int expected = kServing;
  const bool sleeps = state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel);
  int ready = 1;  // End was called
  if (sleeps) {
    // The set is level-triggered and never read. A poll drops its entries that are served.
    pollfd all{epoll_, POLLIN, 0};
    const timespec time = TimeOf(us);
    ready = ppoll(&all, 1, &time, nullptr);
  }
  const bool asked = state_.exchange(kServing, std::memory_order_acq_rel) == kAsked;
  const int64_t end_us = MonotonicUs();
  if (ready > 0) {
    // Signal may write after this read, which ends the next nap for nothing.
    uint64_t signals = 0;
    if (sleeps) (void)!read(event_, &signals, sizeof signals);
  }
  if (asked || ready > 0) {
    ++ended_;
    budget_us_ = std::max(budget_us_, end_us) + kUsPerEnd;
  }
  return end_us - start_us;
}

void Nap::Signal() {
  const uint64_t one = 1;
  (void)!write(event_, &one, sizeof one);
}

bool Nap::Watch(int fd) {
  if (epoll_ < 0) return false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Nap::Unwatch(int fd) {
  epoll_event none{};  // kernels before 2.6.9 need one
  if (epoll_ >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, &none);
}

#else

Nap::Nap() = default;
Nap::~Nap() = default;

int64_t Nap::Sleep(int64_t us) {
  const int64_t start_us = MonotonicUs();
  SleepFor(us);
  return MonotonicUs() - start_us;
}

void Nap::Signal() {}
bool Nap::Watch(int) { return false; }
void Nap::Unwatch(int) {}

#endif

}  // namespace seganet

#include "load.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../common/clock.h"

namespace bench {

volatile sig_atomic_t stopped = 0;

Load::Load(const LoadOptions& options)
    : options_(options),
      rate_(options_),
      fleet_{options_, rate_, counters_, std::vector<char>(ScratchBytes(options_))},
      schedule_(rate_, options_),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      was_up_(options.devices, false) {
  if (options_.stepped) {
    counters_.steps.resize(options_.steps.size());
    counters_.step_us = std::llround(options_.step_seconds * 1e6);
  }
  for (uint32_t i = 0; i < options_.devices; ++i) {
    devices_.push_back(std::make_unique<Device>(i, fleet_));
    retries_.emplace(0, i);
  }
}

bool Load::ConnectAll() {
  const int64_t deadline_us = NowUs() + static_cast<int64_t>(options_.connect_seconds * 1e6);
  while (up_ < devices_.size()) {
    if (stopped || NowUs() > deadline_us) return false;
    StartConnections();
    Poll(5000);
  }
  return true;
}

void Load::Send() {
  const int64_t start_us = NowUs() + options_.lead_us;
  const int64_t end_us = start_us + std::llround(rate_.duration_us());
  for (auto& device : devices_) device->SetStart(start_us);
  std::printf("{\"event\":\"start\",\"us\":%lld}\n", static_cast<long long>(start_us));
  std::fflush(stdout);
  const double cpu_before = CpuSeconds();
  int64_t now_us = NowUs();
  while (!stopped && (options_.silent() ? now_us < end_us : schedule_.next_us() != kNever)) {
    StartConnections();
    SendDue(start_us);
    now_us = NowUs();
    PingSome(now_us);
    Report(now_us);
    const int64_t next_us = schedule_.next_us() == kNever ? end_us : start_us + schedule_.next_us();
    Wait(std::clamp<int64_t>(next_us - now_us, 0, 10000));
    now_us = NowUs();
  }
  cpu_seconds_ = CpuSeconds() - cpu_before;
  wall_seconds_ = static_cast<double>(std::max<int64_t>(now_us - start_us, 0)) / 1e6;
  Drain();
}

void Load::SendDue(int64_t start_us) {
  const int64_t at_us = NowUs() - start_us;
  while (schedule_.next_us() <= at_us) {
    const uint32_t number = schedule_.Take();
    if (devices_[number]->AddDue()) due_.push_back(number);
  }
  for (uint32_t number : due_) {
    if (!devices_[number]->Pump()) Lost(number);
  }
  due_.clear();
}

void Load::Finish() {
  for (auto& device : devices_) device->Finish();
}

// Lets the device reconnect after 100 ms plus jitter derived from its number.
void Load::Lost(uint32_t number) {
  if (was_up_[number]) {
    was_up_[number] = false;
    --up_;
    ++counters_.connection_losses;
  } else {
    --pending_;
  }
  retries_.emplace(NowUs() + 100000 + number % 100 * 1000, number);
}

void Load::StartConnections() {
  constexpr size_t kPending = 128;  // below any listener's backlog
  if (retries_.empty()) return;
  const int64_t now_us = NowUs();
  while (pending_ < kPending && !retries_.empty() && retries_.begin()->first <= now_us) {
    const uint32_t number = retries_.begin()->second;
    retries_.erase(retries_.begin());
    if (devices_[number]->Connect(epoll_)) {
      ++pending_;
    } else {
      retries_.emplace(now_us + 500000, number);
    }
  }
}

// Lets a tenth of the devices ping every 100 ms.
void Load::PingSome(int64_t now_us) {
  constexpr uint32_t kSlices = 10;
  if (now_us < next_ping_us_) return;
  next_ping_us_ = now_us + 100000;
  ping_slice_ = (ping_slice_ + 1) % kSlices;
  for (uint32_t i = ping_slice_; i < options_.devices; i += kSlices) {
    if (!devices_[i]->Ping(now_us)) Lost(i);
  }
}

void Load::Wait(int64_t timeout_us) {
  if (options_.tick_us == 0) {
    Poll(timeout_us);
    return;
  }
  const int64_t rest_us = woke_us_ + options_.tick_us - NowUs();
  if (rest_us > 0) {
    const timespec rest{rest_us / 1000000, rest_us % 1000000 * 1000};
    nanosleep(&rest, nullptr);
    timeout_us = std::max<int64_t>(timeout_us - rest_us, 0);
  }
  bool more = Poll(timeout_us);
  woke_us_ = NowUs();
  while (more) more = Poll(0);
}

bool Load::Poll(int64_t timeout_us) {
  constexpr int kEvents = 1024;
  epoll_event events[kEvents];
  const timespec timeout{timeout_us / 1000000, timeout_us % 1000000 * 1000};
  const int n = epoll_pwait2(epoll_, events, kEvents, &timeout, nullptr);
  for (int i = 0; i < n; ++i) {
    const uint32_t number = events[i].data.u32;
    if (!devices_[number]->OnEvents(events[i].events)) {
      Lost(number);
    } else if (!was_up_[number] && devices_[number]->up()) {
      was_up_[number] = true;
      ++up_;
      --pending_;
    }
  }
  return n == kEvents;
}

void Load::Drain() {
  const int64_t deadline_us = NowUs() + static_cast<int64_t>(options_.drain_seconds * 1e6);
  const auto settled = [](const auto& device) { return device->settled(); };
  for (int64_t now_us = NowUs(); !stopped && now_us < deadline_us; now_us = NowUs()) {
    if (std::all_of(devices_.begin(), devices_.end(), settled)) return;
    StartConnections();
    PingSome(now_us);
    Report(now_us);
    Wait(5000);
  }
}

void Load::Report(int64_t now_us) {
  if (options_.progress_us == 0 || now_us < next_progress_us_) return;
  next_progress_us_ = now_us + options_.progress_us;
  std::printf("{\"event\":\"progress\",\"us\":%lld,\"sent\":%llu,\"acked\":%llu}\n",
              static_cast<long long>(now_us), static_cast<unsigned long long>(counters_.sent),
              static_cast<unsigned long long>(counters_.acked));
  std::fflush(stdout);
}

std::string Load::Json(bool streams) const {
  uint64_t unsent = 0;
  for (const auto& device : devices_) unsent += device->unsent();
  const LoadCounters& c = counters_;
  const auto field = [](const char* name, auto value) {
    return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
  };
  const auto latency = [this](const Histogram& of) { return of.Json(options_.histograms); };
  std::string out = "{" + field("devices", devices_.size()) + field("sent", c.sent) +
                    field("acked", c.acked) + field("unacked", c.sent - c.acked) +
                    field("unsent", unsent) + field("late", c.late) + field("resent", c.resent) +
                    field("pings", c.pings) + field("connectionLosses", c.connection_losses) +
                    field("acksOutOfOrder", c.acks_out_of_order) +
                    field("acksUnknown", c.acks_unknown) +
                    field("protocolErrors", c.protocol_errors) +
                    field("offered", rate_.messages() / options_.seconds()) +
                    field("wallSeconds", wall_seconds_) + field("cpuSeconds", cpu_seconds_) +
                    field("wholeCpuSeconds", CpuSeconds()) + "\"ackUs\":" + latency(c.ack_us);
  out += ",\"pubackUs\":{";
  for (size_t kind = 0; kind < kKinds; ++kind) {
    out += (kind > 0 ? ",\"" : "\"") + std::string(kNameOfKind[kind]) + "\":";
    out += latency(c.puback_us[kind]);
  }
  out += "},\"sendLagUs\":" + latency(c.send_lag_us);
  if (!c.steps.empty()) {
    out += ",\"steps\":[";
    for (size_t i = 0; i < c.steps.size(); ++i) {
      const StepCounters& step = c.steps[i];
      out += (i > 0 ? ",{" : "{") + field("rate", options_.steps[i]) + field("sent", step.sent) +
             field("acked", step.acked) + field("late", step.late) +
             "\"ackUs\":" + latency(step.ack_us) + "}";
    }
    out += "]";
  }
  if (streams) {
    out += ",\"streams\":[";
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (i > 0) out += ",";
      out += devices_[i]->StreamsJson();
    }
    out += "]";
  }
  return out + "}";
}

}  // namespace bench

#include "core/runtime/load_meter.h"

#include "core/base/clock.h"

namespace seganet {
namespace {

constexpr int64_t kSpanUs = 1'000'000;

}  // namespace

void LoadMeter::Measure(int64_t now_us, size_t connections) {
  connections_.store(connections, std::memory_order_relaxed);
  measured_us_.store(now_us, std::memory_order_relaxed);
  const int64_t passed_us = now_us - span_start_us_;
  if (passed_us < kSpanUs) return;
  const int64_t cpu_us = ThreadCpuUs();
  if (span_start_us_ != 0) {
    busy_.store(static_cast<double>(cpu_us - span_cpu_us_) / static_cast<double>(passed_us),
                std::memory_order_relaxed);
  }
  span_start_us_ = now_us;
  span_cpu_us_ = cpu_us;
}

}  // namespace seganet

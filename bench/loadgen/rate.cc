#include "rate.h"

#include <algorithm>
#include <cmath>

namespace bench {

Rate::Rate(const LoadOptions& options) {
  const Burst& burst = options.burst;
  const double step_us = options.step_seconds * 1e6;
  duration_us_ = options.seconds() * 1e6;
  std::vector<double> bounds;
  for (size_t i = 0; i <= options.steps.size(); ++i)
    bounds.push_back(step_us * static_cast<double>(i));
  for (double k = 1; burst.times > 0 && k * burst.every_seconds < options.seconds(); ++k) {
    bounds.push_back(k * burst.every_seconds * 1e6);
    bounds.push_back(std::min((k * burst.every_seconds + burst.for_seconds) * 1e6, duration_us_));
  }
  std::sort(bounds.begin(), bounds.end());
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const double length_us = bounds[i + 1] - bounds[i];
    if (length_us <= 0) continue;
    const double middle_us = bounds[i] + length_us / 2;
    const auto step = static_cast<size_t>(middle_us / step_us);
    double per_us = options.steps[std::min(step, options.steps.size() - 1)] / 1e6;
    const double every_us = burst.every_seconds * 1e6;
    if (burst.times > 0 && middle_us > every_us &&
        std::fmod(middle_us, every_us) < burst.for_seconds * 1e6) {
      per_us *= burst.times;
    }
    pieces_.push_back({bounds[i], per_us, messages_});
    messages_ += per_us * length_us;
  }
}

}  // namespace bench

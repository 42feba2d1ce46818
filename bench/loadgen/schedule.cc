#include "schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace bench {

Arrivals::Arrivals(const Rate& rate, const LoadOptions& options, uint32_t number)
    : rate_(&rate),
      poisson_(options.poisson),
      devices_(options.devices),
      messages_(options.poisson ? 0 : number),
      random_(Mix(Mix(options.seed) ^ (uint64_t{options.first_device} + number))) {
  if (poisson_) {
    Next();
  } else {
    Locate();
  }
}

void Arrivals::Next() {
  double step = devices_;
  if (poisson_) {
    random_ += 0x9E3779B97F4A7C15u;
    const double p = static_cast<double>((Mix(random_) >> 11) + 1) * 0x1p-53;
    step *= -std::log(p);  // distance to the next event: exponential, mean 1
  }
  messages_ += step;
  Locate();
}

void Arrivals::Locate() {
  // A periodic load has an integer number of slots; the sum of fractions may have rounding errors.
  const double end = poisson_ ? rate_->messages() : std::round(rate_->messages());
  at_us_ = messages_ < end ? std::llround(rate_->At(messages_, &piece_)) : kNever;
}

Schedule::Schedule(const Rate& rate, const LoadOptions& options)
    : rate_(&rate),
      devices_(options.devices),
      slots_(static_cast<uint64_t>(std::llround(rate.messages()))) {
  if (!options.poisson) {
    Locate();
    return;
  }
  for (uint32_t i = 0; i < devices_; ++i) {
    arrivals_.emplace_back(rate, options, i);
    if (arrivals_[i].at_us() != kNever) heap_.emplace_back(arrivals_[i].at_us(), i);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  next_us_ = heap_.empty() ? kNever : heap_.front().first;
}

uint32_t Schedule::Take() {
  if (arrivals_.empty()) {
    const uint32_t device = device_;
    device_ = device_ + 1 == devices_ ? 0 : device_ + 1;
    ++slot_;
    Locate();
    return device;
  }
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  Time& last = heap_.back();
  const uint32_t device = last.second;
  arrivals_[device].Next();
  last.first = arrivals_[device].at_us();
  if (last.first == kNever) {
    heap_.pop_back();
  } else {
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  next_us_ = heap_.empty() ? kNever : heap_.front().first;
  return device;
}

void Schedule::Locate() {
  next_us_ = slot_ < slots_ ? std::llround(rate_->At(static_cast<double>(slot_), &piece_)) : kNever;
}

}  // namespace bench

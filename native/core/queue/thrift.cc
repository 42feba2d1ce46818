#include "core/queue/thrift.h"

#include <algorithm>
#include <cstdlib>

namespace seganet {
namespace {

constexpr int64_t kThriftyShare = 100;  // 1 / s
constexpr int64_t kBalancedShare = 20;
constexpr int64_t kLeastReserve = 8;  // a fraction of the patience
// RFC 6298: weights of a sample in the mean and in the deviation, and deviations in the estimate.
constexpr int64_t kMeanWeight = 8;
constexpr int64_t kGrowthWeight = 4;
constexpr int64_t kShrinkWeight = 32;
constexpr int64_t kDeviations = 4;

}  // namespace

int64_t WaitUs(Thrift thrift, int64_t patience_us, const LinkCost& link, int64_t per_s) {
  if (thrift == Thrift::kFast || patience_us <= 0) return 0;
  const int64_t reserve_us =
      link.reserve_us == LinkCost::kUnknownReserve ? patience_us / 2 : link.reserve_us;
  const int64_t most_us =
      std::max<int64_t>(0, patience_us - std::max(reserve_us, patience_us / kLeastReserve));
  const bool is_thrifty = thrift == Thrift::kThrifty || link.is_metered;
  const int64_t head = link.head_bytes;
  if (!is_thrifty && per_s * head < kFreeBytesPerS) return 0;
  if (per_s <= 0) return most_us;
  const int64_t share = is_thrifty ? kThriftyShare : kBalancedShare;
  const int64_t records = share * head / std::max<int64_t>(1, link.record_bytes);
  return std::min(most_us, records * 1'000'000 / per_s);
}

void DeliveryTime::Add(int64_t us) {
  if (mean_us_ == LinkCost::kUnknownReserve) {
    mean_us_ = us;
    deviation_us_ = us / 2;
    return;
  }
  const int64_t off_us = std::abs(us - mean_us_);
  const int64_t weight = off_us > deviation_us_ ? kGrowthWeight : kShrinkWeight;
  deviation_us_ += (off_us - deviation_us_) / weight;
  mean_us_ += (us - mean_us_) / kMeanWeight;
}

int64_t DeliveryTime::AtMostUs() const {
  if (mean_us_ == LinkCost::kUnknownReserve) return mean_us_;
  return mean_us_ + kDeviations * deviation_us_;
}

}  // namespace seganet

#include "core/runtime/engine_options.h"

#include <string>

#include "core/base/require.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr int64_t kMaxWakeIntervalUs = 100'000;

Status Range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return Status::InvalidArgument(std::string(name) + " must be " + std::to_string(low) + " to " +
                                 std::to_string(high));
}

}  // namespace

Status ValidateOptions(const EngineOptions& options) {
  for (Status status :
       {Range("workers", options.workers, 0, 64), Range("memoryMiB", options.memory_mib, 1, 65'536),
        Range("maxPacketBytes", options.max_packet_bytes, 1024, 16 * kMiB),
        Range("maxDevices", options.max_devices, 1, 1'000'000),
        Range("messageRingMiB", options.message_ring_mib, 4, 1024),
        Range("wakeIntervalUs", options.wake_interval_us, 0, kMaxWakeIntervalUs),
        Range("lingerUrgentMs", options.linger_urgent_ms, 0, 1000),
        Range("lingerMs", options.linger_ms, 0, 1000),
        Range("patienceMs", options.patience_ms, 0, 60'000),
        Range("agingMs", options.aging_ms, 0, kMaxAgingMs),
        Range("valuesMiB", options.values.memory_mib, 0, kMaxValuesMiB),
        Range("valueTopics", options.values.topics, 1, kMostValueTopics)}) {
    if (!status.ok()) return status;
  }
  if (options.values.not_kept.size() > kMostNotKept) {
    return Status::InvalidArgument("valuesNotKept has more than " + std::to_string(kMostNotKept) +
                                   " topic filters");
  }
  for (const std::string& filter : options.values.not_kept) {
    if (!ValidTopicFilter(filter)) {
      return Status::InvalidArgument("valuesNotKept: '" + filter + "' is not a topic filter");
    }
  }
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    Status status = Range("ratePerS", options.rate_per_s[c], 0, kMaxRatePerS);
    if (status.ok() && c > kCritical) status = Range("weights", options.weights[c], 1, kMaxWeight);
    if (!status.ok()) return status;
  }
  if (options.acknowledge == Acknowledge::kStored && !options.log) {
    return Status::InvalidArgument("acknowledge 'stored' requires the log");
  }
  return {};
}

SavePolicy PolicyOf(const EngineOptions& options) {
  SEGANET_REQUIRE(ValidateOptions(options).ok());
  SavePolicy save;
  save.log = options.log;
  save.disk_first = options.acknowledge == Acknowledge::kStored;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    const uint32_t linger_ms = c <= kHigh ? options.linger_urgent_ms : options.linger_ms;
    save.linger_us[c] = int64_t{linger_ms} * 1000;
  }
  save.patience_us = int64_t{options.patience_ms} * 1000;
  save.drop_when_full = options.drop_when_full;
  return save;
}

ClassLimits LimitsOf(const EngineOptions& options) {
  SEGANET_REQUIRE(ValidateOptions(options).ok());
  ClassLimits limits;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    limits.ttl_us[c] = int64_t{options.ttl_s[c]} * 1'000'000;
  }
  limits.rate_per_s = options.rate_per_s;
  return limits;
}

SelectionOptions SelectionOf(const EngineOptions& options) {
  SEGANET_REQUIRE(ValidateOptions(options).ok());
  return {options.weights, int64_t{options.aging_ms} * 1000};
}

void SetLimits(const EngineOptions& options, Budget* budget) {
  SEGANET_REQUIRE(ValidateOptions(options).ok());
  std::array<int64_t, kClasses + 1> queue_records{};
  for (uint8_t c = kCritical; c <= kClasses; ++c) queue_records[c] = options.queue_records[c];
  budget->SetLimit(options.memory_mib * kMiB);
  budget->SetClassLimits(queue_records);
  budget->SetDropping(options.drop_when_full);
}

}  // namespace seganet

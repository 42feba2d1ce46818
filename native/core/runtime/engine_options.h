// What an engine is started with.
#ifndef SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_
#define SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_

#include <array>
#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/placement/move_planner.h"
#include "core/queue/lanes_context.h"
#include "core/queue/selection.h"
#include "core/record/record.h"

namespace seganet {

inline constexpr int64_t kMiB = 1024 * 1024;

// When a device's PUBACK leaves.
enum class Acknowledge : uint8_t {
  kReceived,  // at once
  kSafe,      // on disk or acknowledged by the cloud
  kStored,    // on disk
};

inline constexpr uint32_t kMaxAgingMs = 3'600'000;
inline constexpr uint32_t kMaxRatePerS = 10'000'000;

// How the load of the workers is evened out. Other values than these are for tests.
struct RebalanceOptions {
  int64_t period_us = 5'000'000;
  PlannerLimits limits;
  // Not 0: a worker's load is its records, of so many µs each, and not its CPU time.
  double record_cost_us = 0;
};

// Defaults and ranges: native/index.d.ts, EngineOptions.
struct EngineOptions {
  int workers = 0;
  std::string cpus;
  uint32_t memory_mib = 64;
  uint32_t max_packet_bytes = 262'144;
  uint32_t max_devices = 10'000;
  uint32_t message_ring_mib = 4;
  uint32_t wake_interval_us = 800;
  Acknowledge acknowledge = Acknowledge::kReceived;
  bool log = false;
  uint32_t linger_urgent_ms = 10;
  uint32_t linger_ms = 50;
  uint32_t patience_ms = 1000;
  std::array<uint32_t, kClasses + 1> ttl_s{};
  std::array<uint32_t, kClasses + 1> weights = DefaultWeights();
  uint32_t aging_ms = kDefaultAgingUs / 1000;
  std::array<uint32_t, kClasses + 1> rate_per_s{};
  std::array<uint32_t, kClasses + 1> queue_records{};
  bool drop_when_full = false;
  bool odd_topics = false;
  uint64_t epoch = 1;
  // A packet of over 4 KiB may take this long to come, and longer only when it gets on. Other
  // values are for tests.
  int64_t unfinished_us = 30'000'000;
  bool rebalance = false;
  RebalanceOptions rebalancing;
};

Status ValidateOptions(const EngineOptions& options);

// What of them is the lanes' and the budget's. REQUIRES: ValidateOptions(options).ok().
SavePolicy PolicyOf(const EngineOptions& options);
ClassLimits LimitsOf(const EngineOptions& options);
SelectionOptions SelectionOf(const EngineOptions& options);
void SetLimits(const EngineOptions& options, Budget* budget);

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_

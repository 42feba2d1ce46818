// The options of an engine.
#ifndef SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_
#define SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_

#include <array>
#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/devices/last_values.h"
#include "core/placement/move_planner.h"
#include "core/queue/lanes_context.h"
#include "core/queue/selection.h"
#include "core/record/record.h"

namespace seganet {

inline constexpr int64_t kMiB = 1024 * 1024;

// When a device gets its acknowledgement (MQTT: PUBACK).
enum class Acknowledge : uint8_t {
  kReceived,  // at once, when the record is in memory
  kSafe,      // when every copy is on disk or acknowledged by the cloud
  kStored,    // when it is on disk; requires EngineOptions::log
  // When every copy is acknowledged by the cloud. The local disk counts while Engine::SetDiskCounts
  // says so.
  kReplicated,
};

inline constexpr uint32_t kMaxAgingMs = 3'600'000;
inline constexpr uint32_t kMaxRatePerS = 10'000'000;
inline constexpr uint32_t kMaxValuesMiB = 1024;

// How the load of the workers is balanced. Values other than the defaults are for tests.
struct RebalanceOptions {
  int64_t period_us = 5'000'000;
  MoveLimits limits;
  // If not 0, a worker's load is computed from its records at this cost each, µs, instead of from
  // its CPU time.
  double record_cost_us = 0;
};

// The options of Engine::Start. ValidateOptions checks the ranges.
struct EngineOptions {
  // Worker threads, 0..64; 0 = one for each allowed core except the first, at least 1.
  int workers = 0;
  // Cores that workers may use, such as "1-3,5"; empty = all allowed cores except the first.
  std::string cpus;
  // Budget for records in memory, 1..65536. Above it, the engine slows devices.
  uint32_t memory_mib = 64;
  // Largest packet that the engine accepts from a device, 1 KiB..16 MiB.
  uint32_t max_packet_bytes = 262'144;
  // Maximum number of devices with an open connection, 1..1000000.
  uint32_t max_devices = 10'000;
  // Ring between each worker and JavaScript's messages, 4..1024, per worker and direction.
  uint32_t message_ring_mib = 4;
  // A busy worker with many devices wakes up at most once in this interval, 0..100000; 0 = off. A
  // longer interval costs latency and saves CPU time (WakeupModeration).
  uint32_t wake_interval_us = 800;
  Acknowledge acknowledge = Acknowledge::kReceived;
  // True if a store thread serves the engine. Otherwise nothing is written to disk.
  bool log = false;
  // How long records that must be written wait for others, so that they are written together,
  // 0..1000: classes 1 and 2, and the other classes.
  uint32_t linger_urgent_ms = 10;
  uint32_t linger_ms = 50;
  // A batch that the cloud has not acknowledged after this long is written, 0..60000; earlier only
  // while the cloud is unreachable.
  uint32_t patience_ms = 1000;
  // Records that waited longer are dropped, by class; 0 = never.
  std::array<uint32_t, kClasses + 1> ttl_s{};
  // Shares, in bytes, of the capacity that class 1 leaves, 1..1000, by class; [1] is unused.
  std::array<uint32_t, kClasses + 1> weights = DefaultWeights();
  // A class other than 1 that waited this long without sending sends one batch ahead of all other
  // classes of its session, 0..3600000; 0 = off.
  uint32_t aging_ms = kDefaultAgingUs / 1000;
  // Records per second to the cloud, live and backlog together, 0..10000000, by class; 0 = no
  // limit.
  std::array<uint32_t, kClasses + 1> rate_per_s{};
  // Maximum number of records in memory, by class; 0 = no limit for the class.
  std::array<uint32_t, kClasses + 1> queue_records{};
  // When memory or queue_records is full: true drops the oldest records of the least urgent class,
  // or of the full class; false stops reading from the devices of such classes.
  bool drop_when_full = false;
  // Accepts topics and device ids for which IsOddTopic is true.
  bool odd_topics = false;
  // The last value of each device and topic.
  LastValuesOptions values{};
  // Identifies this run in deduplication keys.
  uint64_t epoch = 1;
  // A packet of over 4 KiB may take this long to arrive, and longer only if it makes progress.
  // Other values are for tests.
  int64_t unfinished_us = 30'000'000;
  // Moves slots from busy workers to less busy ones.
  bool rebalance = false;
  RebalanceOptions rebalancing;
};

// Returns Status::InvalidArgument, which names the option and its range, for invalid options.
Status ValidateOptions(const EngineOptions& options);

// The parts of the options for the lanes and the budget. REQUIRES: ValidateOptions(options).ok().
SavePolicy PolicyOf(const EngineOptions& options);
ClassLimits LimitsOf(const EngineOptions& options);
SelectionOptions SelectionOf(const EngineOptions& options);
void SetLimits(const EngineOptions& options, Budget* budget);

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_ENGINE_OPTIONS_H_

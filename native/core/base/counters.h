// Counters of the engine. One thread writes a block; any thread may read it. The names appear in
// stats() and in docs/use/operations.md.
#ifndef SEGANET_CORE_BASE_COUNTERS_H_
#define SEGANET_CORE_BASE_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace seganet {

// name in C++, name in JavaScript
#define SEGANET_COUNTERS(X)                                              \
  X(kConnectionsAccepted, "connectionsAccepted")                         \
  X(kConnectionsRefused, "connectionsRefused") /* device limit */        \
  X(kConnectTimeouts, "connectTimeouts")       /* no CONNECT in time */  \
  X(kDevicesConnected, "devicesConnected")     /* in total */            \
  X(kTakeOvers, "takeOvers")                   /* same client id */      \
  X(kKeepAliveTimeouts, "keepAliveTimeouts")                             \
  X(kProtocolErrors, "protocolErrors") /* sum of reasons */              \
  X(kConnectionsClosed, "connectionsClosed")                             \
  X(kBytesReceived, "bytesReceived")                                     \
  X(kReads, "reads")                                                     \
  X(kRecordsReceived, "recordsReceived")     /* without copies */        \
  X(kRecordsPushed, "recordsPushed")         /* by JavaScript */         \
  X(kRecordsQueued, "recordsQueued")         /* for an uplink */         \
  X(kRecordsDelivered, "recordsDelivered")   /* PUBACK from the cloud */ \
  X(kRecordsFiltered, "recordsFiltered")     /* by filter stages */      \
  X(kWindowsEnded, "windowsEnded")           /* of filter stages */      \
  X(kWindowsEndedEarly, "windowsEndedEarly") /* part of these */         \
  X(kBatchesSealed, "batchesSealed")                                     \
  X(kSealedBytes, "sealedBytes")       /* of these batches */            \
  X(kSealedBySingle, "sealedBySingle") /* by SealReason, its order */    \
  X(kSealedBySize, "sealedBySize")                                       \
  X(kSealedByDelay, "sealedByDelay")                                     \
  X(kSealedByFlush, "sealedByFlush")                                     \
  X(kSealedByPlan, "sealedByPlan")                                       \
  X(kSealedByDemand, "sealedByDemand")                                   \
  X(kBatchesDelivered, "batchesDelivered")                               \
  X(kBatchesRedelivered, "batchesRedelivered") /* taken again */         \
  X(kMessagesOut, "messagesOut")               /* to JavaScript */       \
  X(kRecordsStored, "recordsStored")           /* written to disk */     \
  X(kChunksStored, "chunksStored")                                       \
  X(kBytesStored, "bytesStored")                                         \
  X(kChunksFreed, "chunksFreed")                                         \
  X(kRecordsRecovered, "recordsRecovered") /* found at startup */        \
  X(kRecordsReplayed, "recordsReplayed")   /* read back */               \
  X(kRecordsSentAgain, "recordsSentAgain") /* dead letters, queued */    \
  X(kStoreFailures, "storeFailures")       /* chunks not written */      \
  X(kSlowed, "slowed")                     /* times over budget */       \
  X(kHalfOpenEvicted, "halfOpenEvicted")   /* for newer ones */          \
  X(kLoginsRefused, "loginsRefused")                                     \
  X(kThrottled, "throttled")               /* over a device's rate */    \
  X(kNotAllowed, "notAllowed")             /* by its permissions */      \
  X(kTopicsRefused, "topicsRefused")       /* IsOddTopic */              \
  X(kNotSpokenFor, "notSpokenFor")         /* records of bridges */      \
  X(kEventsLost, "eventsLost")             /* Node-RED was too slow */   \
  X(kDatagrams, "datagrams")               /* CoAP over UDP, received */ \
  X(kDatagramsCrossed, "datagramsCrossed") /* handed to their worker */  \
  X(kDatagramsLost, "datagramsLost")       /* no room */                 \
  X(kDatagramsMalformed, "datagramsMalformed")                           \
  X(kDatagramsIgnored, "datagramsIgnored")     /* multicast, errors */   \
  X(kDatagramsDuplicate, "datagramsDuplicate") /* resent by the peer */  \
  X(kDatagramsSentAgain, "datagramsSentAgain") /* by the gateway */      \
  X(kDtlsChallenges, "dtlsChallenges")         /* cookies sent */        \
  X(kDtlsHandshakes, "dtlsHandshakes")         /* completed */           \
  X(kDtlsResumed, "dtlsResumed")               /* of these */            \
  X(kDtlsRefused, "dtlsRefused")               /* failed handshakes */   \
  X(kDtlsLimited, "dtlsLimited")               /* over a host's rate */  \
  X(kDtlsIgnored, "dtlsIgnored")               /* no session */          \
  X(kDtlsEnded, "dtlsEnded")                   /* sessions */            \
  X(kCoapRefused, "coapRefused")               /* 4.xx and 5.xx */       \
  X(kCoapPeersLost, "coapPeersLost")           /* no acknowledgment */   \
  X(kRequestsForwarded, "requestsForwarded")   /* between devices */     \
  X(kRequestsRecorded, "requestsRecorded")     /* posts to topics */     \
  X(kSubscriberRecords, "subscriberRecords")   /* passed to them */      \
  X(kSubscriberDrops, "subscriberDrops")       /* without room */        \
  X(kNapsEnded, "napsEnded")                   /* by urgent devices */   \
  X(kValuesEvicted, "valuesEvicted")           /* last values */

enum class Counter : size_t {
#define X(id, name) id,
  SEGANET_COUNTERS(X)
#undef X
      kCount
};
inline constexpr size_t kCounters = static_cast<size_t>(Counter::kCount);
extern const std::array<const char*, kCounters> kCounterNames;

// Why a record did not reach the cloud, or why its copy did not reach a message wire.
#define SEGANET_DROPS(X)                                                               \
  X(kNoRoute, "noRoute")                 /* the node is wired to nothing */            \
  X(kMessageRingFull, "messageRingFull") /* Node-RED was too slow */                   \
  X(kRefused, "refused")                 /* by the cloud, permanently */               \
  X(kClosed, "closed")                   /* held when the engine stopped */            \
  X(kUplinkRemoved, "uplinkRemoved")     /* its uplink was removed from the flow */    \
  X(kTooManyDevices, "tooManyDevices")   /* device table full */                       \
  X(kExpired, "expired")                 /* older than its class allows */             \
  X(kDeadLetter, "deadLetter")           /* refused permanently, kept in the log */    \
  X(kCorrupt, "corrupt")                 /* damaged on disk */                         \
  X(kLogFull, "logFull")                 /* log full, configured to drop */            \
  X(kMemoryFull, "memoryFull")           /* memory full, configured to drop */         \
  X(kQueueFull, "queueFull")             /* class limit reached, configured to drop */ \
  X(kNoPart, "noPart")                   /* the device id names no part of a split */  \
  X(kPartFull, "partFull")               /* the part is above its rate or budget */

enum class Drop : size_t {
#define X(id, name) id,
  SEGANET_DROPS(X)
#undef X
      kCount
};
inline constexpr size_t kDrops = static_cast<size_t>(Drop::kCount);
extern const std::array<const char*, kDrops> kDropNames;

inline constexpr size_t kClassSlots = 9;  // index = class, 0 unused

// A counter with one writer.
//
// Thread safety: Add from one thread, Get from any. Relaxed: a reader needs a recent value, and no
// ordering with other data.
class SingleWriter {
 public:
  void Add(uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// All counters of one writing thread. Aligned to a cache line, so that writers do not share one.
struct alignas(64) CounterBlock {
  std::array<SingleWriter, kCounters> counters;
  std::array<std::array<SingleWriter, kClassSlots>, kDrops> drops;
  std::array<SingleWriter, kClassSlots> delivered;  // records, by class
  std::array<SingleWriter, kClassSlots> late;       // of these, after Batch::due_us

  void Add(Counter c, uint64_t n = 1) { counters[static_cast<size_t>(c)].Add(n); }
  void Add(Drop reason, uint8_t record_class, uint64_t n = 1) {
    drops[static_cast<size_t>(reason)][record_class < kClassSlots ? record_class : 0].Add(n);
  }
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_COUNTERS_H_

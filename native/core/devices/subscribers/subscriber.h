// A local subscriber: a client that reads the records of other devices
// (SourceSettings::subscribers), and the packets that wait for it.
#ifndef SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_H_
#define SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/loop/memory_share.h"

namespace seganet {

class Agent;

// Memory for records that wait for subscribers; more are dropped. A subscriber that never reads
// takes nothing of the kept share of another one. All bytes, of one engine.
struct SubscriberLimits {
  size_t most = 256;                // subscribers
  int64_t most_bytes = 1 << 20;     // of one subscriber
  int64_t kept_bytes = 32 << 10;    // of one subscriber, in any case
  int64_t shared_bytes = 4 << 20;   // of all, beyond kept_bytes
  int64_t passing_bytes = 4 << 20;  // between the workers
  constexpr int64_t total() const {
    return static_cast<int64_t>(most) * kept_bytes + shared_bytes + passing_bytes;
  }
};
static_assert(SubscriberLimits{}.total() == 16 << 20);

// PUBLISH packets of one turn of a worker, for all subscribers of one protocol version.
struct SubscriberChunk {
  // The share already has the bytes.
  SubscriberChunk(std::string packets, MemoryShare* of) : bytes(std::move(packets)), share(of) {}
  ~SubscriberChunk() { share->Add(-static_cast<int64_t>(bytes.size())); }
  SubscriberChunk(const SubscriberChunk&) = delete;
  SubscriberChunk& operator=(const SubscriberChunk&) = delete;

  const std::string bytes;
  MemoryShare* const share;
};

// Whole packets in a chunk.
struct SubscriberRange {
  size_t begin = 0;
  size_t end = 0;
  uint32_t records = 0;
};

// Thread safety: Put, PutKept, drops and the constants from any thread; AgentAt, Leave and Enter
// from the worker that they name; Collect and Take from the worker that has the connection.
class Subscriber {
 public:
  // Workers know the subscriber, but none has its connection while that moves.
  static constexpr uint32_t kNoWorker = UINT32_MAX;

  struct Options {
    std::string id;               // of its device
    bool parted = false;          // reads only records of the part of `id`
    bool five = false;            // MQTT 5
    size_t max_packet_bytes = 0;  // of the client, 0 = no limit
  };

  // `shared` is the memory beyond limits.kept_bytes; it outlives the subscriber.
  Subscriber(Options options, const SubscriberLimits& limits, MemoryShare* shared);
  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  const Options& options() const { return options_; }

  struct Mailed {
    uint32_t wake = kNoWorker;  // must call Collect or Take soon
    uint64_t dropped = 0;       // records
  };
  // Adds packets that wait for the subscriber; ranges without room are dropped. The order of calls
  // is the order of the packets.
  Mailed Put(const std::shared_ptr<const SubscriberChunk>& chunk,
             std::span<const SubscriberRange> ranges);
  // Adds one piece that takes no room of records: it must fit into what is left of kept_bytes.
  // Returns false, and adds nothing, if it does not. `*wake`: see Mailed.
  bool PutKept(const std::shared_ptr<const SubscriberChunk>& chunk, uint32_t* wake);
  // Returns the bytes that PutKept would add now; negative or 0 = none.
  int64_t kept_room() const;
  // Counts records that are dropped before Put.
  void Drop(uint64_t records) { drops_.fetch_add(records, std::memory_order_relaxed); }
  uint64_t drops() const { return drops_.load(std::memory_order_relaxed); }
  // The bytes that wait; at most SubscriberLimits::most_bytes.
  int64_t waiting_bytes() const;

  // Copies what other workers hold for the subscriber. Call it soon after Put asks for that.
  void Collect();
  // Collects, and moves about `most` bytes of packets, and at least one, to the end of `to`.
  // Returns false if none waits.
  bool Take(size_t most, std::string* to);

  // The connection is at `worker` now. The caller calls Take next.
  void Enter(uint32_t worker, Agent* agent);
  // The connection has left its worker, or has ended.
  void Leave();
  // Returns the agent if `worker` has the connection, otherwise null.
  Agent* AgentAt(uint32_t worker) const;

 private:
  bool Reserve(int64_t bytes);
  void Release(int64_t bytes);
  int64_t Beyond(int64_t bytes) const;
  uint32_t TakeWake();

  struct Piece {
    std::shared_ptr<const SubscriberChunk> chunk;
    size_t begin;
    size_t end;
  };

  const Options options_;
  const SubscriberLimits limits_;
  MemoryShare* const shared_;
  std::atomic<uint64_t> drops_{0};

  mutable std::mutex mutex_;
  uint32_t worker_ = kNoWorker;  // these five are guarded by mutex_
  Agent* agent_ = nullptr;
  bool woken_ = false;  // the worker will call Collect
  int64_t held_ = 0;
  std::vector<Piece> mail_;

  // Copies, so that a slow subscriber keeps no chunk of all. Each block is about kBlockBytes.
  std::deque<std::string> blocks_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_SUBSCRIBERS_SUBSCRIBER_H_

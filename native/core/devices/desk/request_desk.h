// The request desk: requests of devices that JavaScript answers, and answers of devices to requests
// of JavaScript.
#ifndef SEGANET_CORE_DEVICES_DESK_REQUEST_DESK_H_
#define SEGANET_CORE_DEVICES_DESK_REQUEST_DESK_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"
#include "core/protocol/coap/exchange.h"

namespace seganet {

enum class DeskEventKind : uint8_t { kAsked, kGone, kAnswer, kRecorded, kPosted, kLatest };

// What became of a record of RequestDesk (JavaScript's DeskRecorded, native/index.d.ts).
enum class DeskRecorded : uint8_t {
  kSafe = 0,
  kFull = 1,  // memory or the part has no room, or the device exceeds its rate
  kNotAllowed =
      2,          // the connection has no device or no part, or the source's permissions forbid it
  kNotTaken = 3,  // nothing stores, sends or forwards it, or the flow refused it
  kLost = 4,      // the connection ended first: the outcome is unknown
};

// Something that JavaScript learns. The members of its kind are set.
struct DeskEvent {
  DeskEventKind kind = DeskEventKind::kAsked;
  uint64_t connection = 0;  // kAsked, kGone
  std::string device;       // kAsked: '' = none yet; kGone: the device that is gone, '' = none
  std::string reason;       // kGone
  // kAsked: the peer; `note` is that of StreamPeer.
  std::string address;
  std::string note;
  uint8_t code = 0;  // kAsked: the method; kAnswer
  std::string token;
  std::vector<std::string> path;
  std::vector<std::string> query;
  coap::OptionValues options;  // kAsked, kAnswer
  std::string payload;
  // kAnswer: of the request; kRecorded: of the record; kPosted: of the topic; kLatest: of the
  // question.
  uint64_t handle = 0;
  uint64_t number = 0;  // kPosted, kLatest: of the post, 0 = there is none
  bool last = true;     // kAnswer: no notification follows
  bool failed = false;  // kAnswer: not of the device, but of the gateway
  DeskRecorded recorded = DeskRecorded::kSafe;

  size_t bytes() const;
};

// What passes through the desk: totals since the start, then the present state.
struct DeskFigures {
  uint64_t passed = 0;    // requests of devices that were queued
  uint64_t answered = 0;  // of these, answered, or their connection ended
  uint64_t refused = 0;   // requests of devices that found no room
  uint64_t asked = 0;     // requests to devices
  uint64_t full = 0;      // requests to devices that found no room
  size_t open_asks = 0;   // requests to devices and observations that are open
  size_t events = 0;      // that wait for JavaScript
  size_t bytes = 0;       // of these events
};

// The queues to JavaScript, one for each source stage, and the places of the connections.
//
// Bounds: at most kMostAsked requests of the engine have no answer, and as many wait to be taken.
// Of the posts to topics that JavaScript follows, kMostPosts wait, and beyond that one of each
// topic: a newer post replaces it. Each known connection leaves one kGone, each open request one
// answer: a newer notification replaces one that waits. Each question leaves one kLatest, which
// kMostBytes does not count: JavaScript asks it for one of at most kMostAsked requests, so as many
// wait, with a post each.
//
// Thread safety: any thread.
class RequestDesk {
 public:
  static constexpr size_t kMostAsked = 1024;
  // About what JavaScript takes in one turn.
  static constexpr size_t kMostPosts = 256;
  static constexpr size_t kMostAsks = 16'384;
  // Bytes that wait for JavaScript, except kLatest. Above it, requests are refused, and answers
  // lose their payload and become 5.03.
  static constexpr size_t kMostBytes = 32u << 20;

  // `bell` rings when events wait; it outlives this.
  explicit RequestDesk(Doorbell* bell) : bell_(bell) {}

  // Registers a connection of source stage `stage` on a worker and returns its number, never 0.
  uint64_t Open(uint32_t stage, uint32_t worker);
  // Returns the worker of a connection; nothing for an unknown one.
  std::optional<uint32_t> WorkerOf(uint64_t connection) const;
  // Moves a connection to worker `to`, for `device`. Returns the worker that has it. Nothing, and
  // no effect, for an unknown connection, or one that has another device.
  std::optional<uint32_t> Move(uint64_t connection, std::string_view device, uint32_t to);
  // The connection no longer has a device.
  void Forget(uint64_t connection);

  // Queues a request. False, and no effect, when too many wait: the peer gets 5.03.
  bool Ask(DeskEvent request);
  // `n` requests of Ask() were answered, or their connection ended.
  void Answered(size_t n);
  // Removes a connection. It is reported only if JavaScript knows it: a request was taken.
  void Close(uint64_t connection, std::string device, std::string reason);
  // Reports that a connection no longer has `device`.
  void Gone(uint64_t connection, std::string device, std::string reason);

  // Takes a place for a request of JavaScript to a device and returns its handle; 0 = there is no
  // place. Its events go to the queue of `stage`.
  uint64_t OpenAsk(uint32_t stage, const std::string& device);
  // The device's answer. No effect for an unknown handle. With `last` its place is free.
  void Give(uint64_t handle, const coap::AskAnswer& answer, bool last);
  // JavaScript wants no further answer. Returns the device; nothing for an unknown handle.
  std::optional<std::string> Drop(uint64_t handle);

  void Recorded(uint32_t stage, uint64_t handle, DeskRecorded result);

  // Returns the number of the next post that is safe. Posts of all workers have one order.
  uint64_t NextPost() { return last_post_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Queues a post to a topic that JavaScript follows, and returns its number. The posts to one
  // topic are in the order of their numbers. If JavaScript is slow, it gets only the latest one.
  uint64_t Posted(uint32_t stage, uint64_t topic, std::string_view payload);
  // True if a post to such a topic must go to Ask(), which refuses it if there is no room.
  bool is_crowded() const { return crowded_.load(std::memory_order_relaxed); }
  // Starts a question for the latest post to a topic, which `workers` answer.
  void AskLatest(uint32_t stage, uint64_t handle, size_t workers);
  // The answer of a worker; number 0 = it has no post. The last one queues the latest post.
  void GiveLatest(uint32_t stage, uint64_t handle, uint64_t number, std::string_view payload);

  // Takes out the oldest events of a stage, at most `most`. Events that remain do not ring again.
  std::vector<DeskEvent> Take(uint32_t stage, size_t most);
  // Drops the requests and posts of a stage that no longer has a listener. The other events stay:
  // they report to JavaScript the end of a connection, or the outcome of what it began.
  void Clear(uint32_t stage);

  DeskFigures figures() const;

 private:
  struct Connection {
    uint32_t stage = 0;
    uint32_t worker = 0;
    std::string device;
    bool is_known = false;  // JavaScript took or will take an event of it
  };
  struct AskRow {
    uint32_t stage = 0;
    std::string device;
    uint64_t number = 0;  // of its latest event, which may wait; 0 = none
  };
  struct Queue {
    uint64_t first = 1;  // number of events.front()
    std::deque<DeskEvent> events;
  };
  // A question for the latest post to a topic.
  struct Latest {
    size_t missing = 0;  // answers of workers
    DeskEvent event;
  };
  uint64_t Add(uint32_t stage, DeskEvent event);
  void Replace(DeskEvent* waits, DeskEvent event);
  void Remove(const DeskEvent& event, uint64_t number);
  void CheckCrowd();

  Doorbell* const bell_;
  mutable std::mutex mutex_;
  uint64_t last_connection_ = 0;
  uint64_t last_ask_ = 0;
  std::unordered_map<uint64_t, Connection> connections_;
  std::unordered_map<uint64_t, AskRow> asks_;
  std::map<uint32_t, Queue> queues_;                        // by stage
  DeskFigures totals_;                                      // only the members that count
  size_t open_ = 0;                                         // requests without an answer
  size_t waiting_ = 0;                                      // requests in the queues
  size_t waiting_posts_ = 0;                                // posts in the queues
  std::unordered_map<uint64_t, uint64_t> posts_;            // topic → number of its latest post
  size_t bytes_ = 0;                                        // in the queues
  std::map<std::pair<uint32_t, uint64_t>, Latest> latest_;  // by stage and handle
  std::atomic<uint64_t> last_post_{0};
  std::atomic<bool> crowded_{false};
};

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_REQUEST_DESK_H_

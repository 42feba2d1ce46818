// Posts to topics of the request desk, which become records without JavaScript, on one worker.
#ifndef SEGANET_CORE_RUNTIME_DESK_DESK_POSTS_H_
#define SEGANET_CORE_RUNTIME_DESK_DESK_POSTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/clock.h"
#include "core/devices/desk/desk_session.h"
#include "core/devices/desk/desk_topics.h"
#include "core/devices/desk/request_desk.h"
#include "core/loop/loop_thread.h"
#include "core/protocol/coap/exchange.h"

namespace seganet {

// JavaScript opens, follows and closes topics on all workers. Each worker keeps the latest post
// that became safe on it; JavaScript asks all workers when it needs the latest one of all.
//
// Thread safety: Open, Close, Follow and GiveLatest from any thread; everything else from the
// worker's thread.
class DeskPosts {
 public:
  // A post has at most `max_packet_bytes`. `now` is the time of the current turn. All objects
  // outlive this one.
  DeskPosts(LoopThread* thread, RequestDesk* desk, size_t workers, size_t max_packet_bytes,
            const Now* now)
      : thread_(thread),
        desk_(desk),
        max_packet_bytes_(max_packet_bytes),
        now_(now),
        topics_(DeskTopics::kMostBytes / workers) {}
  DeskPosts(const DeskPosts&) = delete;
  DeskPosts& operator=(const DeskPosts&) = delete;

  void Open(DeskTopicSpec spec);
  void Close(uint64_t id);
  // True: JavaScript gets each post that becomes safe, or the latest one (RequestDesk::Posted).
  void Follow(uint64_t id, bool on);
  // RequestDesk::GiveLatest() follows, at once if the thread has ended.
  void GiveLatest(uint32_t stage, uint64_t handle, uint64_t id);

  // Returns null for an unknown topic.
  DeskTopic* Find(uint64_t id) const { return topics_.Find(id); }
  // Returns the topic of a request that is a record; null if the desk must decide.
  DeskTopic* TopicOf(const DeskSession& session, const coap::Asked& asked);
  // A post is safe.
  void Keep(DeskTopic* topic, std::string_view payload);

  // Room for posts that are not safe yet (DeskTopics).
  bool TakeRoom(size_t bytes) { return topics_.Take(bytes); }
  void GiveRoom(size_t bytes) { topics_.Give(bytes); }

 private:
  LoopThread* const thread_;
  RequestDesk* const desk_;
  const size_t max_packet_bytes_;
  const Now* const now_;
  DeskTopics topics_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DESK_DESK_POSTS_H_

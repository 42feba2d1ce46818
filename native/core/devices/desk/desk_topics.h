// Topics of a request desk: posts to them are records of the worker, without JavaScript.
#ifndef SEGANET_CORE_DEVICES_DESK_DESK_TOPICS_H_
#define SEGANET_CORE_DEVICES_DESK_DESK_TOPICS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/protocol/coap/exchange.h"
#include "core/reception/post_options.h"

namespace seganet {

// A topic that JavaScript opens.
struct DeskTopicSpec {
  uint64_t id = 0;           // never used again
  uint32_t stage = 0;        // source of the connections that may post
  std::string owner;         // of these connections
  std::string name;          // the segments after the prefix, separated by '/'
  std::string subject;       // topic of the records
  uint8_t record_class = 0;  // 0 = by the rules
};

// A topic on one worker.
struct DeskTopic : std::enable_shared_from_this<DeskTopic> {
  explicit DeskTopic(DeskTopicSpec made) : spec(std::move(made)) {}

  const DeskTopicSpec spec;
  bool is_open = true;
  bool is_followed = false;  // JavaScript gets each post
  // Numbers of posts in the order in which this worker took them: of the last one, and of the
  // latest one that is safe.
  uint64_t taken = 0;
  uint64_t published = 0;
  // The latest safe post on this worker, and its number among those of the engine; 0 = none.
  std::string latest;
  uint64_t number = 0;
};

// The open topics, with the latest post of each on this worker. Each worker has all topics, so that
// a post needs no lock.
//
// Bounds: the latest posts, and posts that are not safe yet, have at most `most_bytes`; posts that
// are not safe yet have at most half of it, and the latest posts of one owner an eighth. Without
// room, a topic keeps its earlier post.
//
// Thread safety: owned by one worker.
class DeskTopics {
 public:
  static constexpr size_t kMostBytes = 32u << 20;  // of all workers together
  static constexpr size_t kPendingShare = 2;       // 1/2 of the bytes
  static constexpr size_t kOwnerShare = 8;         // 1/8 of the bytes

  explicit DeskTopics(size_t most_bytes) : most_bytes_(most_bytes) {}

  void Open(DeskTopicSpec spec);
  void Close(uint64_t id);
  // Null for an unknown topic.
  DeskTopic* Find(uint64_t id) const;
  DeskTopic* Find(uint32_t stage, std::string_view owner, const std::vector<std::string_view>& path,
                  size_t skipped);

  // Takes room for a post that is not safe yet. Give() must follow if this is true.
  bool Take(size_t bytes);
  void Give(size_t bytes) {
    bytes_ -= bytes;
    pending_ -= bytes;
  }
  // True if Take() would be true.
  bool HasRoom(size_t bytes) const {
    return bytes_ + bytes <= most_bytes_ && pending_ + bytes <= most_bytes_ / kPendingShare;
  }
  // Makes a post the latest one, if there is room. REQUIRES: the topic is open.
  void Keep(DeskTopic* topic, std::string_view payload, uint64_t number);

  size_t size() const { return by_id_.size(); }
  size_t bytes() const { return bytes_; }
  // Owners with latest posts.
  size_t owners() const { return by_owner_.size(); }

 private:
  void SetKey(uint32_t stage, std::string_view owner);
  // Replaces `before` bytes of the latest posts of the topic's owner by `after`. False, and no
  // effect, if the owner has no room. Changes key_.
  bool ChangeOwner(const DeskTopic& topic, size_t before, size_t after);

  const size_t most_bytes_;
  size_t bytes_ = 0;
  size_t pending_ = 0;  // of these, of posts that are not safe yet
  std::string key_;     // a member to reuse its memory
  std::unordered_map<std::string, std::shared_ptr<DeskTopic>> by_key_;
  std::unordered_map<uint64_t, DeskTopic*> by_id_;
  // Bytes of the latest posts by source and owner (SetKey()), never 0.
  std::unordered_map<std::string, size_t> by_owner_;
};

// True if the options leave the request to the worker: its method, path, query, options and body.
// Its topic is the path without the prefix.
bool IsPost(const PostOptions& options, const coap::Asked& asked);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_DESK_DESK_TOPICS_H_

// Worker: posts to topics of the request desk, which become records without JavaScript.
//
// JavaScript opens, follows and closes topics on all workers. Each worker keeps the latest post
// that became safe on it; JavaScript asks all workers when it needs the latest one of all.
#include <string_view>
#include <utility>

#include "core/runtime/worker.h"

namespace seganet {

// Returns the topic of a request that is a record; null if the desk must decide.
DeskTopic* Worker::TopicOf(const DeskSession& session, const coap::Asked& asked) {
  const PostOptions* const options = session.options().posts.get();
  if (options == nullptr || session.device().empty() ||
      asked.payload.size() > options_.max_packet_bytes || !IsPost(*options, asked)) {
    return nullptr;
  }
  const DeskIdentity& identity = session.identity();
  if (identity.owner.empty() || identity.forward_until_us <= now_.mono_us) return nullptr;
  DeskTopic* const topic =
      topics_.Find(session.stage(), identity.owner, asked.path, options->prefix.size());
  if (topic == nullptr || !topic->is_followed) return topic;
  const bool has_room = topics_.HasRoom(asked.payload.size()) && !shared_.desk->is_crowded();
  return has_room ? topic : nullptr;
}

DeskTopic* Worker::OnPost(DeskSession* session, const coap::Asked& asked) {
  // It must not overtake an earlier request.
  if (!session->held().empty() || session->unsettled() > 0) return nullptr;
  return TopicOf(*session, asked);
}

void Worker::OnPosted(DeskTopic* topic, std::string_view payload) {
  if (!topic->is_open) return;
  const DeskTopicSpec& spec = topic->spec;
  const uint64_t number = topic->is_followed ? shared_.desk->Posted(spec.stage, spec.id, payload)
                                             : shared_.desk->NextPost();
  topics_.Keep(topic, payload, number);
}

void Worker::OpenTopic(DeskTopicSpec spec) {
  Post([this, spec = std::move(spec)] { topics_.Open(spec); });
}

void Worker::CloseTopic(uint64_t id) {
  Post([this, id] { topics_.Close(id); });
}

void Worker::FollowTopic(uint64_t id, bool on) {
  Post([this, id, on] {
    if (DeskTopic* const topic = topics_.Find(id)) topic->is_followed = on;
  });
}

void Worker::AskLatest(uint32_t stage, uint64_t handle, uint64_t id) {
  const bool posted = Post([this, stage, handle, id] {
    const DeskTopic* const topic = topics_.Find(id);
    if (topic == nullptr) return shared_.desk->GiveLatest(stage, handle, 0, {});
    shared_.desk->GiveLatest(stage, handle, topic->number, topic->latest);
  });
  if (!posted) shared_.desk->GiveLatest(stage, handle, 0, {});
}

}  // namespace seganet

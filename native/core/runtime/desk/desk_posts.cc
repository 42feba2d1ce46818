#include "core/runtime/desk/desk_posts.h"

#include <utility>

namespace seganet {

DeskTopic* DeskPosts::TopicOf(const DeskSession& session, const coap::Asked& asked) {
  const PostOptions* const options = session.options().posts.get();
  if (options == nullptr || session.device().empty() || asked.payload.size() > max_packet_bytes_ ||
      !IsPost(*options, asked)) {
    return nullptr;
  }
  const DeskIdentity& identity = session.identity();
  if (identity.owner.empty() || identity.forward_until_us <= now_->mono_us) return nullptr;
  DeskTopic* const topic =
      topics_.Find(session.stage(), identity.owner, asked.path, options->prefix.size());
  if (topic == nullptr || !topic->is_followed) return topic;
  const bool has_room = topics_.HasRoom(asked.payload.size()) && !desk_->is_crowded();
  return has_room ? topic : nullptr;
}

void DeskPosts::Keep(DeskTopic* topic, std::string_view payload) {
  if (!topic->is_open) return;
  const DeskTopicSpec& spec = topic->spec;
  const uint64_t number =
      topic->is_followed ? desk_->Posted(spec.stage, spec.id, payload) : desk_->NextPost();
  topics_.Keep(topic, payload, number);
}

void DeskPosts::Open(DeskTopicSpec spec) {
  thread_->Post([this, spec = std::move(spec)] { topics_.Open(spec); });
}

void DeskPosts::Close(uint64_t id) {
  thread_->Post([this, id] { topics_.Close(id); });
}

void DeskPosts::Follow(uint64_t id, bool on) {
  thread_->Post([this, id, on] {
    if (DeskTopic* const topic = topics_.Find(id)) topic->is_followed = on;
  });
}

void DeskPosts::GiveLatest(uint32_t stage, uint64_t handle, uint64_t id) {
  const bool posted = thread_->Post([this, stage, handle, id] {
    const DeskTopic* const topic = topics_.Find(id);
    if (topic == nullptr) return desk_->GiveLatest(stage, handle, 0, {});
    desk_->GiveLatest(stage, handle, topic->number, topic->latest);
  });
  if (!posted) desk_->GiveLatest(stage, handle, 0, {});
}

}  // namespace seganet

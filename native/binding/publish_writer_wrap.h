// JavaScript's PublishWriter (native/index.d.ts): the PUBLISH packets of an uplink session.
#ifndef SEGANET_BINDING_PUBLISH_WRITER_WRAP_H_
#define SEGANET_BINDING_PUBLISH_WRITER_WRAP_H_

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "core/encoding/sparkplug/edge_node.h"
#include "core/uplink/publish_writer.h"

namespace seganet::binding {

// Holds what all packets of a session have in common: the stages, and what the broker granted.
//
// Thread safety: the thread of its environment.
class PublishWriterWrap : public Napi::ObjectWrap<PublishWriterWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  // Returns null if the value is not a PublishWriter.
  static PublishWriterWrap* From(Napi::Value value);

  explicit PublishWriterWrap(const Napi::CallbackInfo& info);

  const std::vector<UplinkStage>& stages() const { return stages_; }
  bool is_v5() const { return is_v5_; }
  bool retain_available() const { return retain_available_; }

 private:
  void SetStages(const Napi::CallbackInfo& info);
  void SetLink(const Napi::CallbackInfo& info);
  Napi::Value Prepare(const Napi::CallbackInfo& info);
  Napi::Value Write(const Napi::CallbackInfo& info);
  Napi::Value Topic(const Napi::CallbackInfo& info);
  Napi::Value DeviceTopic(const Napi::CallbackInfo& info);
  void SetCompressing(const Napi::CallbackInfo& info);
  Napi::Value SetDictionary(const Napi::CallbackInfo& info);
  Napi::Value ProposeDictionary(const Napi::CallbackInfo& info);
  Napi::Value TryDictionary(const Napi::CallbackInfo& info);
  Napi::Value Compression(const Napi::CallbackInfo& info);
  Napi::Value Sent(const Napi::CallbackInfo& info);

  void SetEdgeNode(const Napi::CallbackInfo& info);
  void BeginEdgeNode(const Napi::CallbackInfo& info);
  void Rebirth(const Napi::CallbackInfo& info);
  Napi::Value Births(const Napi::CallbackInfo& info);
  Napi::Value NextBirth(const Napi::CallbackInfo& info);
  Napi::Value Death(const Napi::CallbackInfo& info);
  // Returns null if an Error is pending, because there is none.
  sparkplug::EdgeNode* EdgeNodeOf(Napi::Env env);

  EnvelopePacker* PackerOf(Napi::Value stage) const;
  std::string_view PreparedTopic() const;

  std::vector<UplinkStage> stages_;
  const std::shared_ptr<SentTotals> sent_ = std::make_shared<SentTotals>();  // of all stages
  bool is_v5_ = false;
  bool retain_available_ = true;
  std::unique_ptr<sparkplug::EdgeNode> edge_node_;
  PublishWriter writer_;
  // The prepared packet, without DUP and identifier; empty = none. A copy, because the batch's
  // memory belongs to JavaScript.
  std::string packet_;
  bool has_id_ = false;
  bool is_sparkplug_ = false;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_PUBLISH_WRITER_WRAP_H_

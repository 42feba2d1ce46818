#include "binding/publish_writer_wrap.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "binding/batch_meta.h"
#include "binding/encoding/packers.h"
#include "binding/node/args.h"
#include "binding/uplink_options.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr napi_type_tag kWriterTag = {0x1c7d0b5ae94f4e63, 0xa5d28f03b6714c9d};
// Memory that a large packet has needed beyond this is freed by the next one.
constexpr size_t kKeptPacketBytes = 262'144;
constexpr char kDup = 0x08;
// Of a level of a Sparkplug topic, so that a topic with a device always fits.
constexpr size_t kMaxLevelBytes = 600;

void ThrowTypeError(Napi::Env env, const char* message) {
  Napi::TypeError::New(env, message).ThrowAsJavaScriptException();
}

}  // namespace

Napi::Function PublishWriterWrap::Define(Napi::Env env) {
  return DefineClass(env, "PublishWriter",
                     {InstanceMethod<&PublishWriterWrap::SetStages>("setStages"),
                      InstanceMethod<&PublishWriterWrap::SetLink>("setLink"),
                      InstanceMethod<&PublishWriterWrap::Prepare>("prepare"),
                      InstanceMethod<&PublishWriterWrap::Write>("write"),
                      InstanceMethod<&PublishWriterWrap::Topic>("topic"),
                      InstanceMethod<&PublishWriterWrap::DeviceTopic>("deviceTopic"),
                      InstanceMethod<&PublishWriterWrap::SetEdgeNode>("setEdgeNode"),
                      InstanceMethod<&PublishWriterWrap::BeginEdgeNode>("beginEdgeNode"),
                      InstanceMethod<&PublishWriterWrap::Rebirth>("rebirth"),
                      InstanceMethod<&PublishWriterWrap::Births>("births"),
                      InstanceMethod<&PublishWriterWrap::NextBirth>("nextBirth"),
                      InstanceMethod<&PublishWriterWrap::Death>("death"),
                      InstanceMethod<&PublishWriterWrap::SetCompressing>("setCompressing"),
                      InstanceMethod<&PublishWriterWrap::SetDictionary>("setDictionary"),
                      InstanceMethod<&PublishWriterWrap::ProposeDictionary>("proposeDictionary"),
                      InstanceMethod<&PublishWriterWrap::TryDictionary>("tryDictionary"),
                      InstanceMethod<&PublishWriterWrap::Compression>("compression"),
                      InstanceMethod<&PublishWriterWrap::Sent>("sent"),
                      StaticMethod<&Compressions>("compressions")});
}

PublishWriterWrap::PublishWriterWrap(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<PublishWriterWrap>(info) {
  info.This().As<Napi::Object>().TypeTag(&kWriterTag);
}

PublishWriterWrap* PublishWriterWrap::From(Napi::Value value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kWriterTag)) return nullptr;
  return Unwrap(value.As<Napi::Object>());
}

void PublishWriterWrap::SetStages(const Napi::CallbackInfo& info) {
  std::vector<UplinkStage> stages;
  if (!ReadStages(info.Env(), info[0], &stages)) return;
  packet_.clear();
  KeepPackers(stages_, &stages);
  for (UplinkStage& stage : stages) stage.sent = sent_;
  stages_ = std::move(stages);
}

void PublishWriterWrap::SetLink(const Napi::CallbackInfo& info) {
  packet_.clear();
  is_v5_ = info[0].ToBoolean().Value();
  retain_available_ = info[1].ToBoolean().Value();
}

Napi::Value PublishWriterWrap::Prepare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  packet_.clear();
  Napi::Uint8Array bytes;
  uint32_t stage_id = 0, from = 0, to = 0;
  int32_t part = Message::kWhole;
  if (!ReadInt<uint32_t>(env, info[0], "stage", 0, UINT32_MAX, &stage_id) ||
      !ReadBytes(env, info[1], "bytes", &bytes)) {
    return env.Undefined();
  }
  const double* const meta = ReadMeta(env, info[2]);
  if (meta == nullptr || !ReadInt<uint32_t>(env, info[3], "from", 0, UINT32_MAX, &from) ||
      !ReadInt<uint32_t>(env, info[4], "to", 0, UINT32_MAX, &to) ||
      !ReadInt<int32_t>(env, info[5], "part", Message::kWhole, INT32_MAX, &part)) {
    return env.Undefined();
  }
  const auto stage = std::find_if(stages_.begin(), stages_.end(),
                                  [stage_id](const auto& known) { return known.id == stage_id; });
  Message message;
  if (stage == stages_.end() ||
      !MessageFrom(meta, {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()}, from,
                   to, part, &message)) {
    ThrowTypeError(env, "stage must be known, and bytes and meta those of a batch");
    return env.Undefined();
  }
  const size_t size = writer_.Prepare(message, *stage, is_v5_, retain_available_);
  if (packet_.capacity() > kKeptPacketBytes && size <= kKeptPacketBytes) packet_ = {};
  has_id_ = stage->qos > 0;
  is_sparkplug_ = size > 0 && writer_.is_sparkplug();
  if (size > 0) writer_.Write(/*id=*/0, /*dup=*/false, &packet_);
  return Napi::Number::New(env, static_cast<double>(size));
}

Napi::Value PublishWriterWrap::Write(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array out;
  double at = 0;
  uint16_t id = 0;
  if (!ReadBytes(env, info[0], "out", &out) ||
      !ReadNumber(env, info[1], "at", 0, static_cast<double>(out.ByteLength()), &at) ||
      !ReadInt<uint16_t>(env, info[2], "id", 0, UINT16_MAX, &id)) {
    return env.Undefined();
  }
  const auto from = static_cast<size_t>(at);
  if (packet_.empty() || out.ByteLength() - from < packet_.size()) {
    ThrowTypeError(env, "there must be a prepared packet, and room for it in out");
    return env.Undefined();
  }
  uint8_t* const to = out.Data() + from;
  std::memcpy(to, packet_.data(), packet_.size());
  if (has_id_) {
    // A message of an edge node has another sequence number when it is sent again.
    if (info[3].ToBoolean().Value() && !is_sparkplug_) to[0] |= kDup;
    uint8_t* const id_at = to + writer_.topic_at() + writer_.topic_bytes();
    id_at[0] = static_cast<uint8_t>(id >> 8);
    id_at[1] = static_cast<uint8_t>(id & 0xFF);
  }
  const size_t end = from + packet_.size();
  if (is_sparkplug_) {
    edge_node_->Commit();
    packet_.clear();
  }
  return Napi::Number::New(env, static_cast<double>(end));
}

sparkplug::EdgeNode* PublishWriterWrap::EdgeNodeOf(Napi::Env env) {
  if (!edge_node_) Fail(env, "there is no edge node: call setEdgeNode()");
  return edge_node_.get();
}

void PublishWriterWrap::SetEdgeNode(const Napi::CallbackInfo& info) {
  sparkplug::EdgeNodeOptions options;
  options.now_ms = [] { return Now::Read().wall_ms; };
  if (!ReadString(info.Env(), info[0], "group", &options.group) ||
      !ReadString(info.Env(), info[1], "node", &options.node)) {
    return;
  }
  for (const std::string& level : {options.group, options.node}) {
    if (level.empty() || level.size() > kMaxLevelBytes ||
        level.find_first_of(std::string_view("/+#\0", 4)) != std::string::npos) {
      Fail(info.Env(), "group and node must have 1 to 600 bytes, without / + # and NUL");
      return;
    }
  }
  options.run = static_cast<uint16_t>(1 + std::random_device()() % UINT16_MAX);
  packet_.clear();
  edge_node_ = std::make_unique<sparkplug::EdgeNode>(std::move(options));
  writer_.SetEdgeNode(edge_node_.get());
}

void PublishWriterWrap::BeginEdgeNode(const Napi::CallbackInfo& info) {
  uint8_t bd_seq = 0;
  uint32_t max_packet = 0;
  sparkplug::EdgeNode* const node = EdgeNodeOf(info.Env());
  if (!node || !ReadInt<uint8_t>(info.Env(), info[0], "bdSeq", 0, UINT8_MAX, &bd_seq) ||
      !ReadInt<uint32_t>(info.Env(), info[2], "maxPacket", 0, UINT32_MAX, &max_packet)) {
    return;
  }
  packet_.clear();
  node->Begin(bd_seq, info[1].ToBoolean().Value(), max_packet);
}

void PublishWriterWrap::Rebirth(const Napi::CallbackInfo& info) {
  sparkplug::EdgeNode* const node = EdgeNodeOf(info.Env());
  if (!node) return;
  packet_.clear();
  node->Rebirth();
}

Napi::Value PublishWriterWrap::Births(const Napi::CallbackInfo& info) {
  const bool is_any = !packet_.empty() && is_sparkplug_ && !edge_node_->before().empty();
  if (!is_any) return info.Env().Null();
  const std::string_view packets = edge_node_->before();
  return Napi::Buffer<char>::Copy(info.Env(), packets.data(), packets.size());
}

Napi::Value PublishWriterWrap::NextBirth(const Napi::CallbackInfo& info) {
  sparkplug::EdgeNode* const node = EdgeNodeOf(info.Env());
  if (!node) return info.Env().Undefined();
  packet_.clear();
  std::string packet;
  if (!node->AppendBirth(&packet)) return info.Env().Null();
  return Napi::Buffer<char>::Copy(info.Env(), packet.data(), packet.size());
}

Napi::Value PublishWriterWrap::Death(const Napi::CallbackInfo& info) {
  uint8_t bd_seq = 0;
  sparkplug::EdgeNode* const node = EdgeNodeOf(info.Env());
  if (!node || !ReadInt<uint8_t>(info.Env(), info[0], "bdSeq", 0, UINT8_MAX, &bd_seq)) {
    return info.Env().Undefined();
  }
  const std::string payload = node->Death(bd_seq);
  return Napi::Buffer<char>::Copy(info.Env(), payload.data(), payload.size());
}

// Returns null if the stage is unknown, or does not compress.
EnvelopePacker* PublishWriterWrap::PackerOf(Napi::Value stage) const {
  const double id = stage.ToNumber().DoubleValue();
  const auto found = std::find_if(stages_.begin(), stages_.end(),
                                  [id](const UplinkStage& known) { return known.id == id; });
  return found == stages_.end() ? nullptr : found->packer.get();
}

void PublishWriterWrap::SetCompressing(const Napi::CallbackInfo& info) {
  binding::SetCompressing(info, PackerOf(info[0]));
}

Napi::Value PublishWriterWrap::SetDictionary(const Napi::CallbackInfo& info) {
  return binding::SetDictionary(info, PackerOf(info[0]));
}

Napi::Value PublishWriterWrap::ProposeDictionary(const Napi::CallbackInfo& info) {
  return binding::ProposeDictionary(info, PackerOf(info[0]));
}

Napi::Value PublishWriterWrap::TryDictionary(const Napi::CallbackInfo& info) {
  return binding::TryDictionary(info, PackerOf(info[0]));
}

Napi::Value PublishWriterWrap::Compression(const Napi::CallbackInfo& info) {
  return CompressionNumbers(info, PackerOf(info[0]));
}

Napi::Value PublishWriterWrap::Sent(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object shown = Napi::Object::New(env);
  const std::pair<const char*, const std::atomic<uint64_t>&> fields[] = {
      {"packets", sent_->packets},
      {"records", sent_->records},
      {"headBytes", sent_->head},
      {"payloadBytes", sent_->payload},
      {"plainBytes", sent_->plain}};
  for (const auto& [name, value] : fields) shown.Set(name, static_cast<double>(value.load()));
  return shown;
}

std::string_view PublishWriterWrap::PreparedTopic() const {
  if (packet_.empty()) return {};
  return std::string_view(packet_).substr(writer_.topic_at(), writer_.topic_bytes());
}

Napi::Value PublishWriterWrap::Topic(const Napi::CallbackInfo& info) {
  const std::string_view topic = PreparedTopic();
  return Napi::String::New(info.Env(), topic.data(), topic.size());
}

Napi::Value PublishWriterWrap::DeviceTopic(const Napi::CallbackInfo& info) {
  const std::string_view topic = PreparedTopic();
  if (topic.empty() || !writer_.HasDeviceTopic()) return info.Env().Null();
  napi_value text = nullptr;
  // Latin-1 keeps every byte apart, also of a topic that is not valid UTF-8.
  if (napi_create_string_latin1(info.Env(), topic.data(), topic.size(), &text) != napi_ok) {
    return info.Env().Null();
  }
  return Napi::Value(info.Env(), text);
}

}  // namespace seganet::binding

#include "binding/uplink_options.h"

#include <string>
#include <utility>
#include <vector>

#include "binding/encoding/packers.h"
#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr double kMaxPacketBytes = 268'435'460;  // [MQTT 2.2.3]
constexpr int kMaxGroups = 4;

// Reads a piece of a topic: literal bytes, or 'device' or 'topic' for the record's value.
bool ReadPiece(Napi::Env env, Napi::Value value, TopicPart* piece) {
  if (value.IsEmpty()) return false;
  if (value.IsString()) {
    const std::string kind = value.As<Napi::String>().Utf8Value();
    if (kind != "device" && kind != "topic")
      return Fail(env, "a piece must be 'device', 'topic' or bytes");
    piece->kind = kind == "device" ? TopicPart::Kind::kDevice : TopicPart::Kind::kTopic;
    return true;
  }
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, value, "piece", &bytes)) return false;
  piece->text.assign(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  return true;
}

bool ReadTopic(Napi::Env env, Napi::Object from, const char* name,
               std::array<std::vector<TopicPart>, kClasses + 1>* topic) {
  const Napi::Value value = from.Get(name);
  if (value.IsEmpty()) return false;
  if (!value.IsArray() || value.As<Napi::Array>().Length() != topic->size()) {
    return Fail(env, std::string(name) + " must be an array with the pieces of each class, from 0");
  }
  const auto classes = value.As<Napi::Array>();
  for (uint32_t c = kCritical; c <= kClasses; ++c) {
    const Napi::Value pieces = classes.Get(c);
    if (!pieces.IsArray()) return Fail(env, std::string(name) + " must be an array of arrays");
    const auto list = pieces.As<Napi::Array>();
    (*topic)[c].resize(list.Length());
    for (uint32_t i = 0; i < list.Length(); ++i) {
      if (!ReadPiece(env, list.Get(i), &(*topic)[c][i])) return false;
    }
  }
  return true;
}

bool ReadHistory(Napi::Env env, Napi::Object from, History* history) {
  std::string name;
  if (!ReadString(env, from.Get("history"), "history", &name)) return false;
  if (name == "none") {
    *history = History::kNone;
  } else if (name == "property") {
    *history = History::kProperty;
  } else if (name == "suffix") {
    *history = History::kSuffix;
  } else {
    return Fail(env, "history must be none, property or suffix");
  }
  return true;
}

bool ReadFormat(Napi::Env env, Napi::Object from, Format* format) {
  const Napi::Value value = from.Get("format");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  std::string name;
  if (!ReadString(env, value, "format", &name)) return false;
  static constexpr const char* kNames[kFormats] = {"ndjson",     "json",       "cbor",
                                                   "senml-json", "senml-cbor", "sparkplug"};
  for (size_t i = 0; i < kFormats; ++i) {
    if (name != kNames[i]) continue;
    *format = static_cast<Format>(i);
    return true;
  }
  return Fail(env, "format must be ndjson, json, cbor, senml-json, senml-cbor or sparkplug");
}

bool ReadStage(Napi::Env env, Napi::Value value, UplinkStage* stage) {
  if (!value.IsObject()) return Fail(env, "a stage must be an object");
  const auto from = value.As<Napi::Object>();
  return ReadInt<uint32_t>(env, from.Get("id"), "id", 0, UINT32_MAX, &stage->id) &&
         ReadTopic(env, from, "topic", &stage->topic) &&
         ReadTopic(env, from, "recordTopic", &stage->record_topic) &&
         ReadText(env, from, "keyRaw", &stage->key_raw) &&
         ReadText(env, from, "keyJson", &stage->key_json) &&
         ReadInt<uint8_t>(env, from.Get("qos"), "qos", 0, 1, &stage->qos) &&
         ReadFormat(env, from, &stage->format) && ReadHistory(env, from, &stage->history) &&
         ReadText(env, from, "historySuffix", &stage->history_suffix) &&
         ReadPacker(env, from, &stage->packer);
}

}  // namespace

bool ReadTlsOptions(Napi::Env env, Napi::Object from, TlsOptions* options) {
  if (!ReadText(env, from, "ca", &options->ca) || !ReadText(env, from, "cert", &options->cert) ||
      !ReadText(env, from, "key", &options->key) ||
      !ReadText(env, from, "passphrase", &options->passphrase) ||
      !ReadText(env, from, "servername", &options->server_name)) {
    return false;
  }
  std::string version;
  if (!ReadText(env, from, "minVersion", &version)) return false;
  if (version != "TLSv1.2" && version != "TLSv1.3") {
    return Fail(env, "minVersion must be TLSv1.2 or TLSv1.3");
  }
  options->min_version = version == "TLSv1.3" ? 0x0304 : 0x0303;
  const Napi::Value alpn = from.Get("alpn");
  if (alpn.IsEmpty()) return false;
  if (alpn.IsUndefined()) return true;
  if (!alpn.IsArray()) return Fail(env, "alpn must be an array of names");
  const auto names = alpn.As<Napi::Array>();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    std::string name;
    if (!ReadString(env, names.Get(i), "alpn", &name)) return false;
    options->alpn.push_back(std::move(name));
  }
  return true;
}

bool ReadExpressOptions(Napi::Env env, Napi::Object from, ExpressOptions* options, int* order) {
  double max_packet = 0, max_unsent = 0;
  if (!ReadInt<int>(env, from.Get("order"), "order", 0, kMaxGroups - 1, order) ||
      !ReadNumber(env, from.Get("maxPacket"), "maxPacket", 1, kMaxPacketBytes, &max_packet) ||
      !ReadNumber(env, from.Get("maxUnsent"), "maxUnsent", 1, kMaxPacketBytes, &max_unsent)) {
    return false;
  }
  options->max_packet = static_cast<size_t>(max_packet);
  options->max_unsent = static_cast<size_t>(max_unsent);
  return true;
}

bool ReadStages(Napi::Env env, Napi::Value value, std::vector<UplinkStage>* stages) {
  if (!value.IsArray()) return Fail(env, "stages must be an array");
  const auto list = value.As<Napi::Array>();
  stages->resize(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) {
    if (!ReadStage(env, list.Get(i), &(*stages)[i])) return false;
  }
  return true;
}

}  // namespace seganet::binding

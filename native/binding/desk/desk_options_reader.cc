#include "binding/desk/desk_options_reader.h"

#include <memory>
#include <string>
#include <utility>

#include "binding/desk/forward_options_reader.h"
#include "binding/desk/path_prefix.h"
#include "binding/desk/post_options_reader.h"
#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMaxPrefixes = 64;
constexpr uint32_t kMaxKnownOptions = 64;

bool ReadPrefixes(Napi::Env env, Napi::Value value, coap::StreamOptions* stream) {
  if (value.IsEmpty()) return false;
  const bool is_list = value.IsArray() && value.As<Napi::Array>().Length() <= kMaxPrefixes;
  if (!is_list) return Fail(env, "prefixes must be an array of at most 64 strings");
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    std::string prefix;
    if (!ReadString(env, list.Get(i), "prefixes", &prefix)) return false;
    const bool has_gap =
        prefix.find("//") != std::string::npos || prefix.starts_with('/') || prefix.ends_with('/');
    if (has_gap || prefix.size() > kMaxPrefixBytes) {
      return Fail(env, "prefixes must be paths of at most 256 bytes, such as a/b");
    }
    stream->prefixes.push_back(std::move(prefix));
  }
  return true;
}

bool ReadKnownOptions(Napi::Env env, Napi::Value value, coap::StreamOptions* stream) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  const bool is_list = value.IsArray() && value.As<Napi::Array>().Length() <= kMaxKnownOptions;
  if (!is_list) return Fail(env, "knownOptions must be an array of at most 64 numbers");
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    uint16_t number = 0;
    if (!ReadInt<uint16_t>(env, list.Get(i), "knownOptions", 1, 65'535, &number)) return false;
    stream->known_options.push_back(number);
  }
  return true;
}

}  // namespace

bool ReadDeskOptions(Napi::Env env, Napi::Value value, uint32_t max_half_open, ListenSpec* spec) {
  if (!value.IsObject()) return Fail(env, "desk must be an object");
  const auto object = value.As<Napi::Object>();
  auto desk = std::make_shared<DeskOptions>();
  coap::StreamOptions& stream = desk->stream;
  stream.identifies = true;
  const Napi::Value csm = object.Get("csmOptional");
  if (csm.IsEmpty()) return false;
  stream.csm_optional = csm.ToBoolean();
  uint32_t timeout_ms = 10'000;
  if (!ReadPrefixes(env, object.Get("prefixes"), &stream) ||
      !ReadKnownOptions(env, object.Get("knownOptions"), &stream) ||
      !ReadOption(env, object, "pingS", 0u, 86'400u, &desk->ping_s) ||
      !ReadOption(env, object, "identifyTimeoutMs", 1u, 3'600'000u, &timeout_ms) ||
      !ReadOption(env, object, "maxBytesBefore", size_t{64}, size_t{1} << 20,
                  &stream.max_bytes_before) ||
      !ReadOption(env, object, "maxAskedBefore", size_t{1}, size_t{1024},
                  &stream.max_asked_before) ||
      !ReadOption(env, object, "maxAsked", size_t{1}, size_t{1024}, &stream.max_asked) ||
      !ReadOption(env, object, "maxObservers", size_t{0}, size_t{65'536}, &stream.max_relations) ||
      !ReadOption(env, object, "maxAsks", size_t{1}, size_t{1024}, &stream.max_asks) ||
      !ReadOption(env, object, "maxObservations", size_t{0}, size_t{4096},
                  &stream.max_observations)) {
    return false;
  }
  if (!ReadForwardOptions(env, object.Get("forward"), &desk->forward) ||
      !ReadPostOptions(env, object.Get("posts"), &desk->posts)) {
    return false;
  }
  desk->identify_timeout_us = int64_t{timeout_ms} * 1000;
  desk->max_unidentified = max_half_open;
  spec->desk = std::move(desk);
  return true;
}

}  // namespace seganet::binding

#include "binding/desk/forward_options_reader.h"

#include <cstdint>
#include <string>
#include <utility>

#include "binding/desk/path_prefix.h"
#include "binding/node/args.h"
#include "core/protocol/coap/exchange.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMaxOptions = 64;
constexpr size_t kMaxTimes = 64;

// Calls read(element) for each element of an array. Returns false after it has thrown.
template <typename Read>
bool ReadList(Napi::Env env, Napi::Value value, const std::string& name, Read&& read) {
  if (value.IsEmpty()) return false;
  if (!value.IsArray() || value.As<Napi::Array>().Length() > kMaxOptions) {
    return Fail(env, name + " must be an array of at most 64 elements");
  }
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::Value element = list.Get(i);
    if (element.IsEmpty() || !read(element)) return false;
  }
  return true;
}

bool ReadOptionRule(Napi::Env env, Napi::Value value, ForwardOptions* forward) {
  if (!value.IsArray()) {
    return Fail(env, "forward.options must be an array of [number, least, most, times]");
  }
  const auto row = value.As<Napi::Array>();
  ForwardedOption rule;
  if (!ReadInt<uint16_t>(env, row.Get(0u), "the number in forward.options", 1, UINT16_MAX,
                         &rule.number) ||
      !ReadInt<size_t>(env, row.Get(1u), "the least bytes in forward.options", 0,
                       coap::kMaxOptionBytes, &rule.least_bytes) ||
      !ReadInt<size_t>(env, row.Get(2u), "the most bytes in forward.options", 0,
                       coap::kMaxOptionBytes, &rule.most_bytes) ||
      !ReadInt<size_t>(env, row.Get(3u), "the times in forward.options", 1, kMaxTimes,
                       &rule.most)) {
    return false;
  }
  forward->options.push_back(rule);
  return true;
}

bool ReadFormat(Napi::Env env, Napi::Value value, ForwardOptions* forward) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!value.IsObject()) return Fail(env, "forward.format must be an object");
  const auto object = value.As<Napi::Object>();
  ForwardFormat format;
  const auto read = [env, object](const char* name, uint16_t least, uint16_t* number) {
    const Napi::Value member = object.Get(name);
    return !member.IsEmpty() && ReadInt<uint16_t>(env, member, name, least, UINT16_MAX, number);
  };
  if (!read("value", 0, &format.value) || !read("alias", 0, &format.alias) ||
      !read("acceptOption", 1, &format.accept_option) ||
      !read("contentOption", 1, &format.content_option) || !read("version", 0, &format.version)) {
    return false;
  }
  forward->format = format;
  return true;
}

}  // namespace

bool ReadForwardOptions(Napi::Env env, Napi::Value value,
                        std::shared_ptr<const ForwardOptions>* forward) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!value.IsObject()) return Fail(env, "forward must be an object");
  const auto object = value.As<Napi::Object>();
  auto read = std::make_shared<ForwardOptions>();
  uint32_t timeout_ms = 10'000;
  if (!ReadPathPrefix(env, object.Get("prefix"), "forward.prefix", &read->prefix) ||
      !ReadOption(env, object, "timeoutMs", 1u, 3'600'000u, &timeout_ms) ||
      !ReadOption(env, object, "mostQueries", size_t{0}, size_t{128}, &read->most_queries)) {
    return false;
  }
  const auto take_rule = [env, &read](Napi::Value rule) {
    return ReadOptionRule(env, rule, read.get());
  };
  const auto take_number = [env, &read](Napi::Value element) {
    uint16_t number = 0;
    if (!ReadInt<uint16_t>(env, element, "a number in forward.answerOptions", 1, UINT16_MAX,
                           &number)) {
      return false;
    }
    read->answer_options.push_back(number);
    return true;
  };
  if (!ReadList(env, object.Get("options"), "forward.options", take_rule) ||
      !ReadList(env, object.Get("answerOptions"), "forward.answerOptions", take_number) ||
      !ReadFormat(env, object.Get("format"), read.get())) {
    return false;
  }
  read->timeout_us = int64_t{timeout_ms} * 1000;
  *forward = std::move(read);
  return true;
}

}  // namespace seganet::binding

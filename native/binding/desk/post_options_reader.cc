#include "binding/desk/post_options_reader.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "binding/desk/path_prefix.h"
#include "binding/node/args.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMaxNumbers = 64;

bool ReadNumbers(Napi::Env env, Napi::Value value, const std::string& name,
                 std::vector<uint16_t>* numbers) {
  if (value.IsEmpty()) return false;
  if (!value.IsArray() || value.As<Napi::Array>().Length() > kMaxNumbers) {
    return Fail(env, name + " must be an array of at most 64 numbers");
  }
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    uint16_t number = 0;
    const Napi::Value element = list.Get(i);
    if (element.IsEmpty() ||
        !ReadInt<uint16_t>(env, element, name.c_str(), 0, UINT16_MAX, &number)) {
      return false;
    }
    numbers->push_back(number);
  }
  return true;
}

bool ReadBounds(Napi::Env env, Napi::Value value, CborBounds* bounds) {
  if (value.IsEmpty()) return false;
  if (!value.IsObject()) return Fail(env, "posts.body must be an object");
  const auto object = value.As<Napi::Object>();
  return ReadOption(env, object, "bytes", size_t{1}, size_t{1} << 24, &bounds->bytes) &&
         ReadOption(env, object, "depth", size_t{1}, size_t{64}, &bounds->depth) &&
         ReadOption(env, object, "items", size_t{1}, size_t{1} << 24, &bounds->items);
}

}  // namespace

bool ReadPostOptions(Napi::Env env, Napi::Value value, std::shared_ptr<const PostOptions>* posts) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!value.IsObject()) return Fail(env, "posts must be an object");
  const auto object = value.As<Napi::Object>();
  auto read = std::make_shared<PostOptions>();
  if (!ReadPathPrefix(env, object.Get("prefix"), "posts.prefix", &read->prefix) ||
      !ReadNumbers(env, object.Get("formats"), "posts.formats", &read->formats) ||
      !ReadNumbers(env, object.Get("ignoredOptions"), "posts.ignoredOptions",
                   &read->ignored_options) ||
      !ReadBounds(env, object.Get("body"), &read->body)) {
    return false;
  }
  *posts = std::move(read);
  return true;
}

}  // namespace seganet::binding

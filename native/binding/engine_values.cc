// JavaScript's Engine: the last values of its devices.
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "binding/engine_wrap.h"
#include "binding/node/args.h"
#include "core/protocol/mqtt/topic.h"
#include "core/record/first_number.h"
#include "core/record/rules.h"

namespace seganet::binding {
namespace {

constexpr uint32_t kMostRows = 1000;

// Reads a key; undefined or null = before all.
bool ReadKey(Napi::Env env, Napi::Value value, ValueKey* key) {
  if (value.IsEmpty()) return false;
  if (value.IsUndefined() || value.IsNull()) return true;
  if (!value.IsObject()) return Fail(env, "after must be an object with device and topic");
  const auto object = value.As<Napi::Object>();
  return ReadText(env, object, "device", &key->device) &&
         ReadText(env, object, "topic", &key->topic);
}

bool ReadQuery(Napi::Env env, Napi::Value value, ValueQuery* query, double* since) {
  if (!value.IsObject()) return Fail(env, "query must be an object");
  const auto object = value.As<Napi::Object>();
  auto limit = static_cast<uint32_t>(query->limit);
  if (!ReadKey(env, object.Get("after"), &query->after) ||
      !ReadOption(env, object, "limit", 1u, kMostRows, &limit) ||
      !ReadText(env, object, "device", &query->device) ||
      !ReadText(env, object, "filter", &query->filter) ||
      !ReadText(env, object, "search", &query->search) ||
      !ReadOption(env, object, "since", -kMaxSafeInteger, kMaxSafeInteger, since)) {
    return false;
  }
  query->limit = limit;
  return query->filter.empty() || ValidTopicFilter(query->filter) ||
         Fail(env, "filter must be a topic filter, such as plant/+/temp or plant/#");
}

Napi::Value KeyOf(Napi::Env env, bool is_complete, const ValueKey& key) {
  if (is_complete) return env.Null();
  Napi::Object object = Napi::Object::New(env);
  object.Set("device", key.device);
  object.Set("topic", key.topic);
  return object;
}

// Returns the double with the shortest text of the float: 21.1, not 21.100000381.
double Widen(float number) {
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
  double wide = 0;
  std::from_chars(text, end, wide);
  return wide;
}

Napi::Value LineOf(Napi::Env env, const ValueLine& line) {
  Napi::Array points = Napi::Array::New(env, line.size());
  for (uint32_t i = 0; i < line.size(); ++i) {
    const bool has_number = !std::isnan(line[i]);
    points.Set(i, has_number ? Napi::Number::New(env, Widen(line[i])) : env.Null());
  }
  return points;
}

Napi::Value PayloadOf(Napi::Env env, const ValueRow& row) {
  if (row.payload.size() != row.size) return env.Null();
  if (mqtt::ValidUtf8Payload(row.payload)) return Napi::String::New(env, row.payload);
  return Napi::Buffer<char>::Copy(env, row.payload.data(), row.payload.size());
}

Napi::Object RowOf(Napi::Env env, const ValueRow& row) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("device", row.device);
  object.Set("topic", row.topic);
  object.Set("ts", Napi::Number::New(env, static_cast<double>(row.ts_ms)));
  object.Set("class", Napi::Number::New(env, row.record_class));
  object.Set("seq", Napi::Number::New(env, row.seq));
  object.Set("size", Napi::Number::New(env, row.size));
  object.Set("payload", PayloadOf(env, row));
  const auto number = FirstNumber(row.payload);
  object.Set("number", number ? Napi::Number::New(env, *number) : env.Null());
  object.Set("line", row.has_line ? LineOf(env, row.line) : env.Null());
  object.Set("restored", Napi::Boolean::New(env, row.restored));
  return object;
}

}  // namespace

Napi::Value EngineWrap::Values(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ValueQuery query;
  double since = NAN;
  if (!ReadQuery(env, info[0], &query, &since)) return env.Undefined();
  const bool is_by_key = std::isnan(since);
  Engine& engine = handle_->engine;
  const ValuePage page =
      is_by_key ? engine.Values(query) : engine.ChangedValues(query, static_cast<int64_t>(since));
  Napi::Array rows = Napi::Array::New(env);
  for (const ValueRow& row : page.rows) {
    const Napi::HandleScope scope(env);
    rows.Set(rows.Length(), RowOf(env, row));
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("values", rows);
  result.Set("next", KeyOf(env, page.is_complete || !is_by_key, page.reached));
  result.Set("more", Napi::Boolean::New(env, !page.is_complete));
  result.Set("at", Napi::Number::New(env, static_cast<double>(page.at_us)));
  return result;
}

Napi::Value EngineWrap::ValueLevels(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto workers = static_cast<uint32_t>(handle_->engine.Workers().size());
  uint32_t worker = 0;
  std::string prefix;
  ValueKey after;
  if (handle_->engine.closed()) return env.Null();
  if (!ReadInt<uint32_t>(env, info[0], "worker", 0, workers - 1, &worker) ||
      !ReadString(env, info[1], "prefix", &prefix) || !ReadKey(env, info[2], &after)) {
    return env.Undefined();
  }
  const TopicLevels page = handle_->engine.ValueLevels(worker, prefix, after);
  Napi::Array rows = Napi::Array::New(env);
  for (const auto& [name, level] : page.levels) {
    const Napi::HandleScope scope(env);
    Napi::Object row = Napi::Object::New(env);
    row.Set("level", name);
    row.Set("values", Napi::Number::New(env, level.values));
    row.Set("hasChildren", Napi::Boolean::New(env, level.has_children));
    row.Set("ts", Napi::Number::New(env, static_cast<double>(level.ts_ms)));
    rows.Set(rows.Length(), row);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("levels", rows);
  result.Set("next", KeyOf(env, page.is_complete, page.reached));
  return result;
}

Napi::Value EngineWrap::SaveValues(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto workers = static_cast<uint32_t>(handle_->engine.Workers().size());
  uint32_t worker = 0;
  ValueKey after;
  if (handle_->engine.closed()) return env.Null();
  if (!ReadInt<uint32_t>(env, info[0], "worker", 0, workers - 1, &worker) ||
      !ReadKey(env, info[1], &after)) {
    return env.Undefined();
  }
  std::string rows;
  const bool is_complete = handle_->engine.SaveValues(worker, &after, &rows);
  Napi::Object result = Napi::Object::New(env);
  result.Set("rows", Napi::Buffer<char>::Copy(env, rows.data(), rows.size()));
  result.Set("next", KeyOf(env, is_complete, after));
  return result;
}

Napi::Value EngineWrap::RestoreValues(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array rows;
  if (!ReadBytes(env, info[0], "rows", &rows)) return env.Undefined();
  size_t restored = 0;
  const std::string_view bytes(reinterpret_cast<const char*>(rows.Data()), rows.ByteLength());
  if (!handle_->engine.RestoreValues(bytes, &restored)) {
    Fail(env, "rows must be rows of saveValues");
    return env.Undefined();
  }
  return Napi::Number::New(env, static_cast<double>(restored));
}

}  // namespace seganet::binding

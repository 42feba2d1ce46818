#include "binding/store_wrap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "binding/node/args.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kChunkMetaLength = 10;
constexpr size_t kWantedLength = 3;

// Returns the memory of a Float64Array with at least `length` elements; null = an exception is
// pending.
double* ReadMeta(Napi::Env env, Napi::Value value, const char* name, size_t length,
                 size_t* found = nullptr) {
  if (!value.IsTypedArray() ||
      value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      value.As<Napi::TypedArray>().ElementLength() < length) {
    Napi::TypeError::New(
        env, std::string(name) + " must be a Float64Array of at least " + std::to_string(length))
        .ThrowAsJavaScriptException();
    return nullptr;
  }
  if (found != nullptr) *found = value.As<Napi::TypedArray>().ElementLength();
  return value.As<Napi::Float64Array>().Data();
}

bool ReadRow(Napi::Env env, Napi::Value value, const char* name, int64_t* row) {
  double number = 0;
  if (!ReadNumber(env, value, name, 0, kMaxSafeInteger, &number)) return false;
  *row = static_cast<int64_t>(number);
  return true;
}

}  // namespace

Napi::Function StoreWrap::Define(Napi::Env env) {
  return DefineClass(
      env, "StoreSource",
      {InstanceMethod<&StoreWrap::Opened>("opened"), InstanceMethod<&StoreWrap::Due>("due"),
       InstanceMethod<&StoreWrap::Take>("take"), InstanceMethod<&StoreWrap::Committed>("committed"),
       InstanceMethod<&StoreWrap::Failed>("failed"), InstanceMethod<&StoreWrap::Dropped>("dropped"),
       InstanceMethod<&StoreWrap::Frees>("frees"), InstanceMethod<&StoreWrap::Freed>("freed"),
       InstanceMethod<&StoreWrap::Lost>("lost"), InstanceMethod<&StoreWrap::Removed>("removed"),
       InstanceMethod<&StoreWrap::SendAgain>("sendAgain"),
       InstanceMethod<&StoreWrap::Wanted>("wanted"), InstanceMethod<&StoreWrap::Loaded>("loaded"),
       InstanceMethod<&StoreWrap::Missing>("missing"), InstanceMethod<&StoreWrap::Close>("close")});
}

StoreWrap::StoreWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<StoreWrap>(info) {
  const Napi::Env env = info.Env();
  uint32_t token = 0;
  if (!ReadInt<uint32_t>(env, info[0], "token", 0, UINT32_MAX, &token)) return;
  if (!info[1].IsFunction()) {
    Napi::TypeError::New(env, "onDoorbell must be a function").ThrowAsJavaScriptException();
    return;
  }
  handle_ = FindEngine(token);
  if (!handle_) {
    Throw(env, Status::Closed("no open engine has the token " + std::to_string(token)));
    return;
  }
  if (!handle_->engine.options().log) {
    Throw(env, Status::InvalidArgument("the engine was created without `log`"));
    return;
  }
  bell_.Open(env, info[1].As<Napi::Function>());
  if (!handle_->engine.store().Attach(&bell_)) {
    bell_.Disconnect();
    Throw(env, Status::InvalidArgument("the engine's log is already served"));
    return;
  }
  queue_ = &handle_->engine.store();
  has_hook_ = true;
  // If a thread ends without close(), its batches must return so that they can be written.
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, this);
}

void StoreWrap::OnEnvironmentEnd(void* self) {
  auto* wrap = static_cast<StoreWrap*>(self);
  wrap->has_hook_ = false;
  wrap->CloseNow();
}

StoreWrap::~StoreWrap() {
  if (has_hook_) napi_remove_env_cleanup_hook(Env(), OnEnvironmentEnd, this);
  CloseNow();
}

void StoreWrap::CloseNow() {
  if (queue_ == nullptr) return;
  queue_->Detach();
  queue_ = nullptr;
  bell_.Disconnect();
}

void StoreWrap::Opened(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int64_t max_row = 0;
  if (!ReadRow(env, info[0], "maxRow", &max_row)) return;
  std::array<int64_t, kClasses + 1> records{};
  if (!info[1].IsArray() || info[1].As<Napi::Array>().Length() != records.size()) {
    Napi::TypeError::New(env, "records must be an array of 9 numbers").ThrowAsJavaScriptException();
    return;
  }
  for (uint32_t c = 1; c < records.size(); ++c) {
    if (!ReadRow(env, info[1].As<Napi::Array>().Get(c), "records", &records[c])) return;
  }
  std::map<std::string, int64_t> bytes;
  if (!info[2].IsUndefined()) {
    if (!info[2].IsArray()) {
      Fail(info.Env(), "nodes must be an array");
      return;
    }
    const auto nodes = info[2].As<Napi::Array>();
    for (uint32_t i = 0; i + 1 < nodes.Length(); i += 2) {
      std::string node;
      double n = 0;
      if (!ReadString(info.Env(), nodes.Get(i), "node", &node) ||
          !ReadNumber(info.Env(), nodes.Get(i + 1), "bytes", 0, kMaxSafeInteger, &n)) {
        return;
      }
      bytes[node] += static_cast<int64_t>(n);
    }
  }
  if (queue_ != nullptr) queue_->Opened(max_row, records, bytes);
}

Napi::Value StoreWrap::Due(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (queue_ == nullptr) return Napi::Number::New(env, -1);
  bell_.Answer();
  const int64_t now_us = MonotonicUs();
  const int64_t due_us = queue_->Due(now_us);
  if (due_us == kNever) return Napi::Number::New(env, -1);
  return Napi::Number::New(env, std::max(0.0, static_cast<double>(due_us - now_us) / 1000));
}

Napi::Value StoreWrap::Take(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array into;
  if (!ReadBytes(env, info[0], "into", &into)) return env.Undefined();
  double* const meta = ReadMeta(env, info[1], "meta", kChunkMetaLength);
  if (meta == nullptr) return env.Undefined();
  const StoreTask* task = queue_ == nullptr ? nullptr : queue_->Next(MonotonicUs());
  if (task == nullptr) return Napi::Number::New(env, -1);
  const SealedChunk& chunk = task->chunk;
  const size_t size = chunk.node.size() + task->reason.size() + chunk.bytes.size();
  if (size > into.ByteLength()) return Napi::Number::New(env, -static_cast<double>(size) - 2);
  uint8_t* to = into.Data();
  for (const std::string* part : {&chunk.node, &task->reason, &chunk.bytes}) {
    std::memcpy(to, part->data(), part->size());
    to += part->size();
  }
  meta[0] = static_cast<double>(chunk.ticket);
  meta[1] = chunk.record_class;
  meta[2] = chunk.records;
  meta[3] = chunk.batches;
  meta[4] = static_cast<double>(chunk.first_ts_ms);
  meta[5] = static_cast<double>(chunk.last_ts_ms);
  meta[6] = task->dead ? 1 : 0;
  meta[7] = static_cast<double>(chunk.node.size());
  meta[8] = static_cast<double>(task->reason.size());
  meta[9] = task->code;
  queue_->Taken();
  return Napi::Number::New(env, static_cast<double>(size));
}

uint64_t StoreWrap::Ticket(const Napi::CallbackInfo& info) {
  int64_t ticket = 0;
  if (!ReadRow(info.Env(), info[0], "ticket", &ticket) || queue_ == nullptr) return 0;
  return static_cast<uint64_t>(ticket);
}

void StoreWrap::Committed(const Napi::CallbackInfo& info) {
  int64_t row = 0;
  const uint64_t ticket = Ticket(info);
  if (ticket != 0 && ReadRow(info.Env(), info[1], "row", &row)) queue_->Committed(ticket, row);
}

void StoreWrap::Failed(const Napi::CallbackInfo& info) {
  if (const uint64_t ticket = Ticket(info); ticket != 0) queue_->Failed(ticket);
}

void StoreWrap::Dropped(const Napi::CallbackInfo& info) {
  if (const uint64_t ticket = Ticket(info); ticket != 0) queue_->Dropped(ticket);
}

Napi::Value StoreWrap::Frees(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  size_t length = 0;
  double* const into = ReadMeta(env, info[0], "into", 1, &length);
  if (into == nullptr) return env.Undefined();
  if (queue_ == nullptr) return Napi::Number::New(env, 0);
  const std::vector<int64_t> rows = queue_->TakeFrees(length);
  std::copy(rows.begin(), rows.end(), into);
  return Napi::Number::New(env, static_cast<double>(rows.size()));
}

void StoreWrap::Freed(const Napi::CallbackInfo&) {
  if (queue_ != nullptr) queue_->Freed();
}

void StoreWrap::Lost(const Napi::CallbackInfo&) {
  if (queue_ != nullptr) queue_->Lost();
}

void StoreWrap::Removed(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int64_t row = 0, records = 0;
  uint8_t record_class = 0;
  if (!ReadRow(env, info[0], "row", &row) ||
      !ReadInt<uint8_t>(env, info[1], "recordClass", 1, kClasses, &record_class) ||
      !ReadRow(env, info[2], "records", &records)) {
    return;
  }
  if (queue_ != nullptr) queue_->Removed(row, record_class, records);
}

void StoreWrap::SendAgain(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int64_t row = 0;
  std::string node;
  uint8_t record_class = 0;
  if (!ReadRow(env, info[0], "row", &row) || !ReadString(env, info[1], "node", &node) ||
      !ReadInt<uint8_t>(env, info[2], "recordClass", 1, kClasses, &record_class)) {
    return;
  }
  const uint32_t batches = info[3].IsArray() ? info[3].As<Napi::Array>().Length() : 0;
  if (batches == 0 || batches > UINT16_MAX) {
    Napi::TypeError::New(env, "records must be an array of 1 to 65535 numbers")
        .ThrowAsJavaScriptException();
    return;
  }
  std::vector<uint32_t> records(batches);
  for (uint32_t i = 0; i < batches; ++i) {
    const Napi::Value number = info[3].As<Napi::Array>().Get(i);
    if (!ReadInt<uint32_t>(env, number, "records", 1, UINT32_MAX, &records[i])) return;
  }
  if (queue_ == nullptr) return;
  if (!queue_->SendAgain(row, node, record_class, std::move(records))) {
    Napi::RangeError::New(env, "row must be a row that the engine does not know")
        .ThrowAsJavaScriptException();
  }
}

Napi::Value StoreWrap::Wanted(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  double* const meta = ReadMeta(env, info[0], "meta", kWantedLength);
  if (meta == nullptr) return env.Undefined();
  WantedRow wanted;
  if (queue_ == nullptr || !queue_->Wanted(&wanted)) return env.Null();
  meta[0] = wanted.record_class;
  meta[1] = static_cast<double>(wanted.after);
  meta[2] = static_cast<double>(wanted.up_to);
  return Napi::String::New(env, wanted.node);
}

Napi::Value StoreWrap::Loaded(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  int64_t row = 0, records = 0;
  Napi::Uint8Array body;
  if (!ReadRow(env, info[0], "row", &row) || !ReadRow(env, info[1], "records", &records) ||
      !ReadBytes(env, info[2], "body", &body)) {
    return env.Undefined();
  }
  if (queue_ == nullptr) return Napi::String::New(env, "ok");
  const Now now = Now::Read();
  const std::string_view bytes(reinterpret_cast<const char*>(body.Data()), body.ByteLength());
  const LoadResult result = queue_->Loaded(row, records, bytes, now.mono_us, now.wall_ms);
  return Napi::String::New(env, result == LoadResult::kOk ? "ok" : "corrupt");
}

void StoreWrap::Missing(const Napi::CallbackInfo&) {
  if (queue_ != nullptr) queue_->Missing();
}

void StoreWrap::Close(const Napi::CallbackInfo&) { CloseNow(); }

}  // namespace seganet::binding

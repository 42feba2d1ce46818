#include "binding/uplink_wire.h"

#include <unistd.h>

#include <climits>

#include "binding/args.h"
#include "binding/environment.h"
#include "binding/uplink_options.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kNumbers = 12;
// A large turn must not keep its memory for ever.
constexpr size_t kKeptBytes = 262144;

const char* NameOf(Rough rough) {
  switch (rough) {
    case Rough::kStage:
      return "stage";
    case Rough::kKind:
      return "records";
    case Rough::kTopic:
      return "topic";
    case Rough::kSize:
      return "size";
    case Rough::kBacklog:
      return "backlog";
    case Rough::kRefusal:
      return "refusal";
    case Rough::kSlow:
      return "slow";
    case Rough::kNone:
      break;
  }
  return "";
}

double AgeMs(int64_t since_us, int64_t now_us) {
  return static_cast<double>(now_us - since_us) / 1000;
}

// Null: an exception is pending.
std::shared_ptr<TlsContext> ReadContext(Napi::Env env, Napi::Object from) {
  TlsOptions options;
  if (!ReadTlsOptions(env, from, &options)) return nullptr;
  std::shared_ptr<TlsContext> context;
  TlsFailure why;
  if (Environment::Of(env)->tls.Get(std::move(options), &context, &why)) return context;
  Napi::Error error = Napi::Error::New(env, why.message);
  error.Set("code", why.code);
  error.ThrowAsJavaScriptException();
  return nullptr;
}

}  // namespace

Napi::Function UplinkWire::Define(Napi::Env env) {
  return DefineClass(
      env, "UplinkWire",
      {InstanceMethod<&UplinkWire::Write>("write"), InstanceMethod<&UplinkWire::Pause>("pause"),
       InstanceMethod<&UplinkWire::Finish>("finish"), InstanceMethod<&UplinkWire::Close>("close"),
       InstanceMethod<&UplinkWire::Describe>("describe"),
       InstanceMethod<&UplinkWire::Board>("board"), InstanceMethod<&UplinkWire::Land>("land"),
       InstanceMethod<&UplinkWire::Numbers>("numbers"),
       StaticMethod<&UplinkWire::CheckTls>("checkTls"),
       StaticValue("hasTls", Napi::Boolean::New(env, TlsContext::Available()))});
}

void UplinkWire::CheckTls(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    Napi::TypeError::New(env, "tls must be an object").ThrowAsJavaScriptException();
    return;
  }
  ReadContext(env, info[0].As<Napi::Object>());
}

UplinkWire::UplinkWire(const Napi::CallbackInfo& info) : Napi::ObjectWrap<UplinkWire>(info) {
  const Napi::Env env = info.Env();
  int fd = -1;
  if (!ReadInt(env, info[0], "fd", 0, INT_MAX, &fd)) return;
  if (!info[2].IsObject()) {
    Napi::TypeError::New(env, "handlers must be an object").ThrowAsJavaScriptException();
    return;
  }
  const auto handlers = info[2].As<Napi::Object>();
  const Napi::Value on_pubacks = handlers.Get("onPubacks");
  if (on_pubacks.IsEmpty()) return;
  taps_pubacks_ = on_pubacks.IsFunction();
  // What is meant to be encrypted must not go out as it stands.
  if (!info[1].IsNull() && !info[1].IsObject()) {
    Napi::TypeError::New(env, "tls must be an object or null").ThrowAsJavaScriptException();
    return;
  }
  std::unique_ptr<TlsClient> tls;
  if (info[1].IsObject()) {
    std::shared_ptr<TlsContext> context = ReadContext(env, info[1].As<Napi::Object>());
    if (!context) return;
    tls = std::make_unique<TlsClient>(std::move(context));
  }
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  const Status status = Wire::Make(loop, fd, std::move(tls), this, &wire_);
  if (!status.ok()) {
    Throw(env, status);
    return;
  }
  Environment::Of(env)->open_sockets.Forget(fd);
  handlers_ = Napi::Persistent(handlers);
  Ref();
  napi_add_async_cleanup_hook(env, OnEnvironmentEnd, this, &hook_);
}

UplinkWire::~UplinkWire() { LeaveExpress(); }

// The object is no more soon after, with its environment; the socket's handle needs the loop.
void UplinkWire::OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self) {
  auto* wire = static_cast<UplinkWire*>(self);
  wire->LeaveExpress();
  if (!wire->wire_) return;
  std::exchange(wire->wire_, nullptr)->Close([hook] { napi_remove_async_cleanup_hook(hook); });
}

// What is in flight is kept for land(): JavaScript hears of a lost connection only then.
void UplinkWire::CloseNow() {
  StopExpress();
  if (!wire_) return;
  const napi_async_cleanup_hook_handle hook = hook_;
  std::exchange(wire_, nullptr)->Close([hook] { napi_remove_async_cleanup_hook(hook); });
  handlers_.Reset();
  Unref();
}

void UplinkWire::Close(const Napi::CallbackInfo&) { CloseNow(); }

Napi::Value UplinkWire::Write(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, info[0], "bytes", &bytes)) return env.Undefined();
  if (!wire_) return Napi::Boolean::New(env, true);
  wire_->Write({reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()});
  return Napi::Boolean::New(env, wire_->unsent() == 0);
}

void UplinkWire::Pause(const Napi::CallbackInfo& info) {
  if (wire_) wire_->Pause(info[0].ToBoolean().Value());
}

void UplinkWire::Finish(const Napi::CallbackInfo&) {
  if (wire_) wire_->Finish();
}

Napi::Value UplinkWire::Describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!wire_) return env.Null();
  Napi::Object about = Napi::Object::New(env);
  about.Set("fd", wire_->fd());
  if (const TlsClient* tls = wire_->tls()) {
    const std::string der = tls->PeerCertificate();
    about.Set("certificate", Napi::Buffer<char>::Copy(env, der.data(), der.size()));
    about.Set("protocol", tls->protocol());
  }
  return about;
}

// --- The express path ---

void UplinkWire::Board(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SourceWrap* const source = SourceWrap::From(info[0]);
  if (!source || !info[1].IsObject()) {
    Napi::TypeError::New(env, "source must be an UplinkSource, and spec an object")
        .ThrowAsJavaScriptException();
    return;
  }
  ExpressOptions options;
  int order = 0;
  if (!ReadExpressOptions(env, info[1].As<Napi::Object>(), &options, &order)) return;
  UplinkTurns* turns = UplinkTurns::Of(env);
  if (!wire_ || !wire_->is_open() || express_ || !turns || !source->lanes() ||
      source->is_carried()) {
    Napi::Error::New(env, "no open connection, no open source, or one is on board already")
        .ThrowAsJavaScriptException();
    return;
  }
  order_ = order;
  turns_ = turns;
  source_ = source;
  express_ = std::make_unique<Express>(source->lanes(), source->outlet(), std::move(options));
  source->Carry(this, [this] {
    express_->Fed();
    turns_->Ask();
  });
  turns_->Join(this);
}

void UplinkWire::StopExpress() {
  if (!turns_) return;
  std::exchange(turns_, nullptr)->Leave(this);
  // Still told when it closes.
  if (source_) source_->Carry(this, nullptr);
}

void UplinkWire::LeaveExpress() {
  StopExpress();
  if (source_) std::exchange(source_, nullptr)->Carry(nullptr, nullptr);
  express_.reset();
}

void UplinkWire::OnSourceClosed() {
  source_ = nullptr;
  LeaveExpress();
}

// [identifier, batch, bytes, age in ms] of each packet in flight, in the order of sending.
Napi::Value UplinkWire::Land(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array flights = Napi::Array::New(env);
  if (!express_) return flights;
  const int64_t now_us = MonotonicUs();
  uint32_t at = 0;
  for (const Flights::Entry& entry : express_->flights().List()) {
    flights.Set(at++, entry.id);
    flights.Set(at++, static_cast<double>(entry.flight.batch));
    flights.Set(at++, entry.flight.bytes);
    flights.Set(at++, AgeMs(entry.flight.sent_us, now_us));
  }
  LeaveExpress();
  return flights;
}

void UplinkWire::Numbers(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsTypedArray() ||
      info[0].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      info[0].As<Napi::TypedArray>().ElementLength() < kNumbers) {
    Napi::TypeError::New(env, "into must be a Float64Array of at least 12")
        .ThrowAsJavaScriptException();
    return;
  }
  double* const to = info[0].As<Napi::Float64Array>().Data();
  std::fill(to, to + kNumbers, 0.0);
  if (!express_) return;
  const int64_t now_us = MonotonicUs();
  const ExpressNumbers& numbers = express_->numbers();
  const Flight* oldest = express_->flights().Oldest();
  to[0] = static_cast<double>(numbers.published);
  to[1] = static_cast<double>(numbers.redelivered);
  to[2] = static_cast<double>(numbers.acknowledged);
  to[3] = static_cast<double>(numbers.records);
  to[4] = numbers.largest_taken;
  to[5] = numbers.rtt_us / 1000;
  to[6] = numbers.least_rtt_us / 1000;
  to[7] = numbers.moved_us ? AgeMs(numbers.moved_us, now_us) : -1;
  to[8] = express_->flights().open();
  to[9] = oldest ? AgeMs(oldest->sent_us, now_us) : -1;
  to[10] = oldest && express_->flights().IsPassed(*oldest) ? 1 : 0;
  to[11] = express_->is_blocked() ? 1 : 0;
}

int64_t UplinkWire::next_turn_us() const {
  if (!express_) return kNever;
  // The kernel has taken all at once, so nothing will tell that it has.
  const bool has_room = express_->is_full() && wire_ && wire_->unsent() == 0;
  return express_->has_more() || has_room ? 0 : express_->look_at_us();
}

void UplinkWire::Turn() {
  if (!express_ || !wire_) return;
  source_->Answer();
  const uint64_t before = express_->numbers().records;
  const Rough rough = express_->Pump(wire_->unsent(), &out_);
  turns_->Count(express_->numbers().records - before);
  if (!out_.empty()) wire_->Write(out_);
  if (out_.capacity() > kKeptBytes) {
    out_ = {};
  } else {
    out_.clear();
  }
  if (rough != Rough::kNone) TellRough(rough);
}

void UplinkWire::TellRough(Rough rough) {
  Tell("onRough", {Napi::String::New(Env(), NameOf(rough))});
}

// --- What the connection brings ---

void UplinkWire::Tell(const char* name, std::initializer_list<napi_value> args) {
  if (handlers_.IsEmpty()) return;
  CallFromLoop(Env(), handlers_.Get(name).As<Napi::Function>(), args);
}

void UplinkWire::OnOpen() {
  const Napi::HandleScope scope(Env());
  Tell("onOpen", {});
}

void UplinkWire::OnDrained() {
  if (turns_) turns_->Ask();
  const Napi::HandleScope scope(Env());
  Tell("onDrain", {});
}

void UplinkWire::OnEnd(const TlsFailure& why) {
  const Napi::HandleScope scope(Env());
  Tell("onEnd", {Napi::String::New(Env(), why.code), Napi::String::New(Env(), why.message)});
}

void UplinkWire::OnPuback(uint16_t id, uint8_t reason_code) {
  if (!express_ || rough_ != Rough::kNone) {
    pubacks_.emplace_back(id, reason_code);
    return;
  }
  rough_ = express_->Acknowledge(id, reason_code, MonotonicUs());
  if (rough_ != Rough::kNone) pubacks_.emplace_back(id, reason_code);
}

void UplinkWire::OnOther(std::span<const uint8_t> bytes) {
  others_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void UplinkWire::OnData(std::span<const uint8_t> bytes) {
  if (!taps_pubacks_) {
    const Napi::HandleScope scope(Env());
    Tell("onBytes", {Napi::Buffer<uint8_t>::Copy(Env(), bytes.data(), bytes.size())});
    return;
  }
  reader_.Read(bytes, this);
  if (turns_) turns_->Ask();
  if (rough_ == Rough::kNone && pubacks_.empty() && others_.empty()) return;
  const Napi::Env env = Env();
  const Napi::HandleScope scope(env);
  // A handler may close this, and let go of it.
  const Napi::Value self = Value();
  // First, so that JavaScript knows the packets that are acknowledged then.
  if (const Rough rough = std::exchange(rough_, Rough::kNone); rough != Rough::kNone) {
    TellRough(rough);
  }
  if (!pubacks_.empty()) {
    Napi::Uint16Array pairs = Napi::Uint16Array::New(env, pubacks_.size() * 2);
    if (pairs.IsEmpty()) return;  // the environment ends
    for (size_t i = 0; i < pubacks_.size(); ++i) {
      pairs[2 * i] = pubacks_[i].first;
      pairs[2 * i + 1] = pubacks_[i].second;
    }
    pubacks_.clear();
    Tell("onPubacks", {pairs});
  }
  if (!others_.empty()) {
    const auto rest = Napi::Buffer<char>::Copy(env, others_.data(), others_.size());
    others_.clear();
    Tell("onBytes", {rest});
  }
}

}  // namespace seganet::binding

// The express path of an UplinkWire; the connection itself is in uplink_wire.cc.
#include <algorithm>

#include "binding/uplink_connection.h"
#include "binding/uplink_options.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kNumbers = 13;
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

}  // namespace

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
    Napi::TypeError::New(env, "into must be a Float64Array of at least 13")
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
  to[12] = static_cast<double>(numbers.unmatched);
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

void UplinkWire::OnPuback(uint16_t id, uint8_t reason_code) {
  if (!express_ || rough_ != Rough::kNone) {
    pubacks_.emplace_back(id, reason_code);
    return;
  }
  rough_ = express_->Acknowledge(id, reason_code, MonotonicUs());
  if (rough_ != Rough::kNone) pubacks_.emplace_back(id, reason_code);
}

}  // namespace seganet::binding

// The express path of an UplinkConnection; the connection itself is in uplink_connection.cc.
#include <algorithm>

#include "binding/in_flight_window_wrap.h"
#include "binding/publish_writer_wrap.h"
#include "binding/uplink_connection.h"
#include "binding/uplink_options.h"
#include "core/base/clock.h"

namespace seganet::binding {
namespace {

constexpr size_t kNumbers = 13;
// Identifier of a packet that is not in the window (nodes/lib/uplink/compression/aside.js), which
// has at most 1024 places.
constexpr uint16_t kAsideId = 65535;
// A buffer that a large turn has grown beyond this size is freed after the turn.
constexpr size_t kKeptBytes = 262144;

const char* NameOf(LeaveReason reason) {
  switch (reason) {
    case LeaveReason::kStage:
      return "stage";
    case LeaveReason::kKind:
      return "records";
    case LeaveReason::kTopic:
      return "topic";
    case LeaveReason::kSize:
      return "size";
    case LeaveReason::kBacklog:
      return "backlog";
    case LeaveReason::kRefusal:
      return "refusal";
    case LeaveReason::kSlow:
      return "slow";
    case LeaveReason::kNone:
      break;
  }
  return "";
}

double AgeMs(int64_t since_us, int64_t now_us) {
  return static_cast<double>(now_us - since_us) / 1000;
}

// Returns where to write the numbers, or null if an exception is pending.
double* ReadNumbersPlace(Napi::Env env, Napi::Value into) {
  if (!into.IsTypedArray() || into.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      into.As<Napi::TypedArray>().ElementLength() < kNumbers) {
    Napi::TypeError::New(env, "into must be a Float64Array of at least 13")
        .ThrowAsJavaScriptException();
    return nullptr;
  }
  return into.As<Napi::Float64Array>().Data();
}

}  // namespace

void UplinkConnection::Enter(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  SourceWrap* const source = SourceWrap::From(info[0]);
  const PublishWriterWrap* const writer = PublishWriterWrap::From(info[1]);
  InFlightWindowWrap* const window = InFlightWindowWrap::From(info[2]);
  if (!source || !writer || !window || !info[3].IsObject()) {
    Napi::TypeError::New(env,
                         "source must be an UplinkSource, writer a PublishWriter, window an "
                         "InFlightWindow, and spec an object")
        .ThrowAsJavaScriptException();
    return;
  }
  ExpressOptions options;
  int order = 0;
  const auto spec = info[3].As<Napi::Object>();
  if (!ReadExpressOptions(env, spec, &options, &order)) return;
  const bool subscribes = spec.Get("subscribes").ToBoolean();
  options.window = window->window();
  options.stages = writer->stages();
  options.is_v5 = writer->is_v5();
  options.retain_available = writer->retain_available();
  UplinkTurns* turns = UplinkTurns::Of(env);
  if (!connection_ || !connection_->is_open() || express_ || !turns || !source->lanes() ||
      source->has_user() || options.window->open() > 0) {
    Napi::Error::New(env,
                     "the connection or the source is closed, one is already on the express path, "
                     "or packets are in flight")
        .ThrowAsJavaScriptException();
    return;
  }
  const Hold hold(line_->turn());
  order_ = order;
  turns_ = turns;
  source_ = source;
  window_ = options.window;
  // JavaScript sets and reads packers while the express path uses them, and to compress is the work
  // of this thread.
  const bool compresses = std::any_of(options.stages.begin(), options.stages.end(),
                                      [](const UplinkStage& stage) { return stage.packer; });
  express_ = std::make_unique<Express>(source->lanes(), source->outlet(), std::move(options));
  counted_ = 0;
  window->UseTurn(std::shared_ptr<TurnLock>(line_, &line_->turn()));
  if (!compresses) {
    line_->Open(express_.get(), connection_, this, /*may_read_late=*/!subscribes);
    source->lanes()->SetDirect(source->outlet(), line_);
  }
  source->SetNap(turns->nap());
  source->SetUser(this, [this] {
    const Hold lock(line_->turn());
    express_->WithdrawDemand();
    turns_->Ask();
  });
  turns_->Join(this);
}

void UplinkConnection::StopExpress() {
  line_->Close();
  if (!turns_) return;
  std::exchange(turns_, nullptr)->Leave(this);
  // OnSourceClosed is still called.
  if (!source_) return;
  source_->lanes()->SetDirect(source_->outlet(), nullptr);
  source_->SetUser(this, nullptr);
}

void UplinkConnection::LeaveExpress() {
  StopExpress();
  if (source_) std::exchange(source_, nullptr)->SetUser(nullptr, nullptr);
  express_.reset();
  window_.reset();
  leave_reason_ = LeaveReason::kNone;  // set if a worker has read it meanwhile
}

void UplinkConnection::OnSourceClosed() {
  const Hold hold(line_->turn());
  source_ = nullptr;
  LeaveExpress();
}

// Returns [identifier, batch, bytes] of each packet in flight, in the order of sending, and [0,
// batch, 0] of a batch that was taken and not sent.
Napi::Value UplinkConnection::Leave(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array flights = Napi::Array::New(env);
  double* numbers = nullptr;
  if (!info[1].IsUndefined() && !(numbers = ReadNumbersPlace(env, info[1]))) return flights;
  const Hold hold(line_->turn());
  if (!express_) return flights;
  // In the same turn, so that no worker sends a packet that neither result contains.
  if (numbers) WriteNumbers(numbers);
  const std::shared_ptr<InFlightWindow> window = window_;
  uint32_t at = 0;
  for (const InFlightWindow::Entry& entry : window->List()) {
    flights.Set(at++, entry.id);
    flights.Set(at++, static_cast<double>(entry.flight.batch));
    flights.Set(at++, entry.flight.bytes);
  }
  if (const uint64_t* batch = express_->unsent_batch()) {
    flights.Set(at++, 0);
    flights.Set(at++, static_cast<double>(*batch));
    flights.Set(at++, 0);
  }
  // JavaScript's clock counts from elsewhere.
  const auto now_us = static_cast<int64_t>(info[0].ToNumber().DoubleValue() * 1000);
  window->ShiftTimes(now_us - MonotonicUs());
  LeaveExpress();
  return flights;
}

void UplinkConnection::Numbers(const Napi::CallbackInfo& info) {
  double* const to = ReadNumbersPlace(info.Env(), info[0]);
  if (!to) return;
  std::fill(to, to + kNumbers, 0.0);
  const Hold hold(line_->turn());
  if (express_) WriteNumbers(to);
}

// REQUIRES: the caller has the turn, and express_ is not null.
void UplinkConnection::WriteNumbers(double* to) const {
  const int64_t now_us = MonotonicUs();
  const ExpressNumbers& numbers = express_->numbers();
  const Flight* oldest = express_->window().Oldest();
  to[0] = static_cast<double>(numbers.published);
  to[1] = static_cast<double>(numbers.redelivered);
  to[2] = static_cast<double>(numbers.acknowledged);
  to[3] = static_cast<double>(numbers.records);
  to[4] = numbers.largest_taken;
  to[5] = numbers.rtt_us / 1000;
  to[6] = numbers.least_rtt_us / 1000;
  to[7] = numbers.moved_us ? AgeMs(numbers.moved_us, now_us) : -1;
  to[8] = express_->window().open();
  to[9] = oldest ? AgeMs(oldest->sent_us, now_us) : -1;
  to[10] = oldest && express_->window().IsPassed(*oldest) ? 1 : 0;
  to[11] = express_->is_blocked() ? 1 : 0;
  to[12] = static_cast<double>(numbers.unmatched);
}

bool UplinkConnection::is_waiting() const {
  const Hold hold(line_->turn());
  return express_ && express_->is_blocked();
}

int64_t UplinkConnection::next_turn_us() const {
  const Hold hold(line_->turn());
  if (!express_) return kNever;
  // The kernel has accepted everything at once, so no event will report that there is room.
  const bool has_room = express_->is_full() && connection_ && connection_->unsent() == 0;
  return express_->has_more() || has_room ? 0 : express_->look_at_us();
}

void UplinkConnection::Turn() {
  // The call of JavaScript below may release this object.
  const std::shared_ptr<DirectLine> line = line_;
  const Hold hold(line->turn());
  if (!express_ || !connection_) return;
  source_->Answer();
  connection_->Rewatch();
  LeaveReason reason = line_->TakeReason();
  // Of a PUBACK that a worker has read.
  if (reason == LeaveReason::kNone) reason = std::exchange(leave_reason_, LeaveReason::kNone);
  if (reason == LeaveReason::kNone) reason = express_->Pump(connection_->unsent(), &out_);
  turns_->Count(express_->numbers().records - std::exchange(counted_, express_->numbers().records));
  line_->SetCalm(turns_->is_calm());
  if (!out_.empty()) connection_->Write(out_);
  if (out_.capacity() > kKeptBytes) {
    out_ = {};
  } else {
    out_.clear();
  }
  if (reason != LeaveReason::kNone) return CallOnLeave(reason);
  line_->Share();
}

void UplinkConnection::CallOnLeave(LeaveReason reason) {
  CallHandler("onLeave", {Napi::String::New(Env(), NameOf(reason))});
}

bool UplinkConnection::OnBytesAside(std::span<const uint8_t> bytes) {
  reader_.Read(bytes, this);
  return leave_reason_ == LeaveReason::kNone && pubacks_.empty() && others_.empty();
}

void UplinkConnection::OnPuback(uint16_t id, uint8_t reason_code) {
  if (!express_ || leave_reason_ != LeaveReason::kNone || id == kAsideId) {
    pubacks_.emplace_back(id, reason_code);
    return;
  }
  leave_reason_ = express_->Acknowledge(id, reason_code, MonotonicUs());
  if (leave_reason_ != LeaveReason::kNone) pubacks_.emplace_back(id, reason_code);
}

}  // namespace seganet::binding

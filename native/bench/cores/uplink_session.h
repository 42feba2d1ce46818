// The thread of an uplink with one session for all classes, without TLS and without JavaScript: the
// connection, its express path and the moderation of its turns, driven as binding/uplink_turns.h
// and binding/uplink_connection.h do.
#ifndef SEGANET_BENCH_CORES_UPLINK_SESSION_H_
#define SEGANET_BENCH_CORES_UPLINK_SESSION_H_

#include <uv.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/cpu.h"
#include "core/base/nap.h"
#include "core/uplink/broker_reader.h"
#include "core/uplink/connection.h"
#include "core/uplink/direct_line.h"
#include "core/uplink/express.h"
#include "core/uplink/uplink_moderation.h"

namespace seganet::bench {

// Thread safety: the constructor, the destructor and the members of numbers from any thread.
class UplinkSession : private Connection::Listener,
                      private BrokerReader::Sink,
                      private DirectLine::Receiver {
 public:
  // Packets in flight, a quarter of them for class 1 only, as an uplink node has by default.
  static constexpr uint32_t kWindow = 128;
  static constexpr size_t kMaxUnsent = 65'536;

  // Owns `fd`, a connected socket. `stage`: the uplink stage of the plan.
  // `topic`: begins the topics of batches.
  UplinkSession(std::shared_ptr<Lanes> lanes, uint32_t stage, std::string_view topic, int fd)
      : lanes_(std::move(lanes)) {
    uv_loop_init(&loop_);
    wake_.data = check_.data = timer_.data = this;
    uv_async_init(&loop_, &wake_, [](uv_async_t* wake) { Of(wake)->OnWake(); });
    uv_check_init(&loop_, &check_);
    uv_check_start(&check_, [](uv_check_t* check) {
      if (Of(check)->is_wanted_) Of(check)->TurnAndRest();
    });
    uv_timer_init(&loop_, &timer_);
    outlet_ = lanes_->Attach(&bell_);
    lanes_->SetConnected(outlet_, true, MonotonicUs());
    stage_.id = stage;
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      stage_.topic[c] = {{TopicPart::Kind::kText, std::string(topic) + std::to_string(int{c})}};
      stage_.record_topic[c] = {{TopicPart::Kind::kTopic, ""}};
    }
    stage_.key_raw = stage_.key_json = "gateway";
    is_made_ = Connection::Make(&loop_, fd, nullptr, this, &connection_).ok();
    if (!is_made_) return;
    connection_->UseTurn(std::shared_ptr<TurnLock>(line_, &line_->turn()));
    thread_ = std::thread([this] {
      NameThisThread("seganet-uplink");
      uv_run(&loop_, UV_RUN_DEFAULT);
    });
  }
  ~UplinkSession() {
    stops_ = true;
    if (is_made_) {
      uv_async_send(&wake_);
      thread_.join();
    }
  }

  // Turns in which the packets had had no room for Express::kSlowUs. JavaScript would have taken
  // over; here the express path goes on.
  uint64_t slow_turns() const { return slow_turns_.load(std::memory_order_relaxed); }
  // The session ended, or left the express path for another reason.
  bool has_failed() const { return !is_made_ || has_failed_; }

 private:
  struct Bell : Doorbell {
    explicit Bell(UplinkSession* session) : of(session) {}
    void Call() override { uv_async_send(&of->wake_); }
    void EndNap() override { of->nap_.End(); }
    UplinkSession* const of;
  };

  template <typename Handle>
  static UplinkSession* Of(Handle* handle) {
    return static_cast<UplinkSession*>(handle->data);
  }

  void OnWake() {
    if (stops_) return Close();
    const std::lock_guard<TurnLock> hold(line_->turn());
    if (express_) express_->WithdrawDemand();
    is_wanted_ = true;
  }

  // As UplinkTurns::TurnAll.
  void TurnAndRest() {
    is_wanted_ = false;
    nap_.Begin();
    bool is_blocked = false;
    {
      const std::lock_guard<TurnLock> hold(line_->turn());
      if (!express_ || !connection_->is_open()) return;
      Turn();
      is_blocked = express_->is_blocked();
      records_ = express_->numbers().records;
    }
    moderation_.Rest(MonotonicUs(), records_, is_blocked);
    SetTimer();
  }

  // REQUIRES: the caller has the turn.
  void Turn() {
    bell_.Answer();
    connection_->Rewatch();
    LeaveReason reason = line_->TakeReason();
    if (reason == LeaveReason::kNone || reason == LeaveReason::kSlow) {
      reason = express_->Pump(connection_->unsent(), &out_);
    }
    line_->SetCalm(moderation_.interval_us() == 0);
    if (!out_.empty()) connection_->Write(out_);
    out_.clear();
    if (reason == LeaveReason::kSlow) slow_turns_.fetch_add(1, std::memory_order_relaxed);
    if (reason != LeaveReason::kNone && reason != LeaveReason::kSlow) has_failed_ = true;
    if (reason == LeaveReason::kNone) line_->Share();
  }

  void SetTimer() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    const bool has_room = express_->is_full() && connection_->unsent() == 0;
    const int64_t next_us = express_->has_more() || has_room ? 0 : express_->look_at_us();
    if (next_us == kNever) {
      uv_timer_stop(&timer_);
      return;
    }
    const int64_t wait_us = next_us == 0 ? 0 : std::max<int64_t>(0, next_us - MonotonicUs());
    uv_update_time(&loop_);
    uv_timer_start(
        &timer_, [](uv_timer_t* timer) { Of(timer)->TurnAndRest(); },
        static_cast<uint64_t>((wait_us + 999) / 1000), 0);
  }

  void Close() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    lanes_->SetDirect(outlet_, nullptr);
    line_->Close();
    lanes_->Detach(outlet_);
    connection_->Close([] {});
    for (auto* handle :
         {reinterpret_cast<uv_handle_t*>(&wake_), reinterpret_cast<uv_handle_t*>(&check_),
          reinterpret_cast<uv_handle_t*>(&timer_)}) {
      uv_close(handle, nullptr);
    }
  }

  void OnOpen() override {
    ExpressOptions options;
    options.window = std::make_shared<InFlightWindow>(kWindow, kWindow / 4);
    options.max_unsent = kMaxUnsent;
    options.stages = {stage_};
    express_ = std::make_unique<Express>(lanes_, outlet_, std::move(options));
    line_->Open(express_.get(), connection_, this, /*may_read_late=*/true);
    lanes_->SetDirect(outlet_, line_);
    is_wanted_ = true;
  }
  void OnData(std::span<const uint8_t> bytes) override {
    reader_.Read(bytes, this);
    is_wanted_ = true;
  }
  bool OnBytesAside(std::span<const uint8_t> bytes) override {
    reader_.Read(bytes, this);
    return !has_failed_;
  }
  void OnDrained() override { is_wanted_ = true; }
  void OnEnd(const TlsFailure&) override { has_failed_ = true; }
  void OnPuback(uint16_t id, uint8_t code) override {
    if (express_->Acknowledge(id, code, MonotonicUs()) != LeaveReason::kNone) has_failed_ = true;
  }
  void OnOther(std::span<const uint8_t>) override { has_failed_ = true; }

  const std::shared_ptr<Lanes> lanes_;
  const std::shared_ptr<DirectLine> line_ = std::make_shared<DirectLine>();
  UplinkStage stage_;
  uv_loop_t loop_{};
  uv_async_t wake_{};
  uv_check_t check_{};
  uv_timer_t timer_{};
  Nap nap_;
  UplinkModeration moderation_{MonotonicUs(), [this](int64_t us) { return nap_.Sleep(us); }};
  Bell bell_{this};
  Outlet* outlet_ = nullptr;
  Connection* connection_ = nullptr;
  BrokerReader reader_;
  std::unique_ptr<Express> express_;
  std::string out_;
  uint64_t records_ = 0;
  bool is_wanted_ = false;
  bool is_made_ = false;
  std::atomic<bool> stops_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<uint64_t> slow_turns_{0};
  std::thread thread_;
};

}  // namespace seganet::bench

#endif  // SEGANET_BENCH_CORES_UPLINK_SESSION_H_

// A session of an uplink with a broker, whose connection other threads use in turns (DirectLine).
#ifndef SEGANET_TEST_SUPPORT_DIRECT_LINE_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_DIRECT_LINE_SUPPORT_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/loop/loop_thread.h"
#include "core/runtime/attended_sessions.h"
#include "core/uplink/broker_reader.h"
#include "core/uplink/direct_line.h"
#include "test/support/connection_support.h"
#include "test/support/device_client.h"
#include "test/support/express_support.h"

namespace seganet::test {

// Reads PUBLISH packets and acknowledges each; not before `reads` is set.
class Broker {
 public:
  explicit Broker(int fd) : fd_(fd), thread_([this] { Run(); }) {}
  ~Broker() {
    reads = true;
    shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(fd_);
  }
  std::atomic<bool> reads{true};
  std::atomic<uint8_t> reason_code{0};  // of the PUBACKs; not 0 = they have one
  std::atomic<bool> hangs_after_puback{false};
  std::atomic<int> received{0};  // packets
  // Sends bytes to the session.
  void Send(std::string_view bytes) { (void)!send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void Hang() { shutdown(fd_, SHUT_RDWR); }
  void Reset() {
    sockaddr nowhere{};
    nowhere.sa_family = AF_UNSPEC;
    EXPECT_EQ(connect(fd_, &nowhere, sizeof nowhere), 0);
  }
  // Returns all payloads. REQUIRES: the session has closed the connection.
  const std::vector<std::string>& Finish() {
    thread_.join();
    return payloads_;
  }

 private:
  void Run() {
    std::string input;
    char bytes[4096];
    while (true) {
      while (!reads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
      if (count <= 0) return;
      input.append(bytes, static_cast<size_t>(count));
      Answer(&input);
    }
  }
  // Returns the size of the packet at the beginning of `input`, or more than input.size().
  static size_t SizeOf(std::string_view input) {
    size_t size = 0;
    for (size_t at = 1; at < input.size(); ++at) {
      const auto byte = static_cast<uint8_t>(input[at]);
      size |= size_t{byte & 0x7fu} << (7 * (at - 1));
      if ((byte & 0x80) == 0) return at + 1 + size;
    }
    return SIZE_MAX;
  }
  void Answer(std::string* input) {
    for (size_t size; (size = SizeOf(*input)) <= input->size();) {
      const auto read = ReadPublishes(std::string_view(*input).substr(0, size));
      input->erase(0, size);
      payloads_.push_back(read[0].payload);
      ++received;
      std::string puback{0x40, 2, static_cast<char>(read[0].id >> 8),
                         static_cast<char>(read[0].id)};
      if (const uint8_t code = reason_code) {
        puback[1] = 3;
        puback.push_back(static_cast<char>(code));
      }
      Send(puback);
      if (hangs_after_puback) Hang();
    }
  }

  const int fd_;
  std::vector<std::string> payloads_;
  std::thread thread_;
};

// A worker that attends sessions and does nothing else.
class Attendant : public LoopThread {
 public:
  explicit Attendant() { EXPECT_TRUE(Start("attendant", kUnpinned).ok()); }
  ~Attendant() override { Stop(); }
  bool Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd) {
    auto offer = std::make_shared<AttendedSessions::Offer>(std::move(session), attendance, fd);
    return Post([this, offer = std::move(offer)] { sessions_.Add(offer.get()); });
  }
  // Calls `send` in a turn of the worker.
  void InTurn(const std::function<void()>& send) {
    Call([&] {
      send();
      sessions_.EndTurn();
    });
  }
  size_t sessions() {
    size_t count = 0;
    Call([&] { count = sessions_.size(); });
    return count;
  }

 private:
  void OnStop() override { sessions_.Close(); }
  AttendedSessions sessions_{loop()};
};

// A session and its thread, as binding/uplink_connection.h drives them.
class Session : private Connection::Listener,
                private BrokerReader::Sink,
                private DirectLine::Receiver {
 public:
  Session(int fd, std::shared_ptr<Lanes> lanes, bool may_read_late)
      : may_read_late_(may_read_late), lanes_(std::move(lanes)) {
    uv_loop_init(&loop_);
    wake_.data = this;
    uv_async_init(&loop_, &wake_,
                  [](uv_async_t* wake) { static_cast<Session*>(wake->data)->OnWake(); });
    bell_.wake = &wake_;
    outlet_ = lanes_->Attach(&bell_);
    lanes_->SetConnected(outlet_, true, MonotonicUs());
    EXPECT_TRUE(Connection::Make(&loop_, fd, nullptr, this, &connection_).ok());
    connection_->UseTurn(std::shared_ptr<TurnLock>(line_, &line_->turn()));
    thread_ = std::thread([this] { uv_run(&loop_, UV_RUN_DEFAULT); });
  }
  // Returns the number of turns of the session's thread that its doorbell caused.
  int Stop() {
    stops_ = true;
    uv_async_send(&wake_);
    thread_.join();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    return wakes_;
  }
  DirectLine& line() { return *line_; }
  bool is_attended() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    return line_->is_attended();
  }
  bool is_late() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    return line_->is_late();
  }
  // What the broker sent except PUBACKs.
  std::string others() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    return handled_;
  }
  // The reason codes of refusing PUBACKs that the session's thread handled.
  std::string refusals() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    return handled_refusals_;
  }
  // Calls `meanwhile` while the session's thread does nothing, then leaves the express path before
  // that thread answers its doorbell.
  void LeaveAfter(const std::function<void()>& meanwhile) {
    std::promise<void> waits, goes_on, left_path;
    {
      const std::lock_guard<TurnLock> hold(line_->turn());
      leave_ = [&] {
        waits.set_value();
        goes_on.get_future().wait();
        line_->Close();
        express_.reset();
        left_path.set_value();
      };
    }
    uv_async_send(&wake_);
    waits.get_future().wait();
    meanwhile();
    goes_on.set_value();
    left_path.get_future().wait();
  }
  // Sets whether the rate is low, and takes a turn.
  void SetCalm(bool is_calm) {
    is_calm_ = is_calm;
    uv_async_send(&wake_);
  }
  std::atomic<bool> is_open{false};
  std::atomic<uint32_t> in_flight{0};
  std::atomic<bool> left{false};
  std::atomic<bool> ended{false};
  std::atomic<int> reads{0};  // by the session's thread

 private:
  struct Bell : Doorbell {
    void Call() override { uv_async_send(wake); }
    uv_async_t* wake = nullptr;
  };

  void OnWake() {
    std::unique_lock<TurnLock> hold(line_->turn());
    if (const auto leave = std::exchange(leave_, nullptr)) {
      hold.unlock();
      return leave();
    }
    if (stops_) {
      line_->Close();
      lanes_->Detach(outlet_);
      connection_->Close([] {});
      uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
      return;
    }
    ++wakes_;
    bell_.Answer();
    if (express_) express_->WithdrawDemand();
    Turn();
  }
  void Turn() {
    const std::lock_guard<TurnLock> hold(line_->turn());
    if (!express_) return;
    connection_->Rewatch();
    LeaveReason reason = line_->TakeReason();
    if (refused_) left = true;
    if (reason == LeaveReason::kNone) reason = express_->Pump(connection_->unsent(), &out_);
    if (!out_.empty()) connection_->Write(std::exchange(out_, {}));
    if (reason != LeaveReason::kNone) left = true;
    in_flight = express_->window().open();
    if (express_->has_more()) uv_async_send(&wake_);
    line_->SetCalm(is_calm_);
    if (!left) line_->Share();
  }
  void OnOpen() override {
    ExpressOptions options;
    options.window = std::make_shared<InFlightWindow>(16, 0);
    options.stages = {StageByClass(1)};
    options.max_unsent = 4096;
    express_ = std::make_unique<Express>(lanes_, outlet_, std::move(options));
    line_->Open(express_.get(), connection_, this, may_read_late_);
    lanes_->SetDirect(outlet_, line_);
    Turn();
    is_open = true;
  }
  void OnData(std::span<const uint8_t> bytes) override {
    if (!bytes.empty()) ++reads;
    reader_.Read(bytes, this);
    handled_ += std::exchange(others_, {});
    handled_refusals_ += std::exchange(refusals_, {});
    Turn();
  }
  bool OnBytesAside(std::span<const uint8_t> bytes) override {
    reader_.Read(bytes, this);
    return others_.empty() && !refused_;
  }
  void OnDrained() override { Turn(); }
  void OnEnd(const TlsFailure&) override { ended = true; }
  void OnPuback(uint16_t id, uint8_t code) override {
    if (!express_) return;
    if (express_->Acknowledge(id, code, MonotonicUs()) == LeaveReason::kNone) return;
    refused_ = true;
    refusals_.push_back(static_cast<char>(code));
  }
  void OnOther(std::span<const uint8_t> bytes) override {
    others_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  const bool may_read_late_;
  const std::shared_ptr<Lanes> lanes_;
  const std::shared_ptr<DirectLine> line_ = std::make_shared<DirectLine>();
  uv_loop_t loop_{};
  uv_async_t wake_{};
  Bell bell_;
  Outlet* outlet_ = nullptr;
  Connection* connection_ = nullptr;
  BrokerReader reader_;
  std::unique_ptr<Express> express_;
  std::string out_;
  std::string others_, handled_;             // guarded by the turn
  bool refused_ = false;                     // guarded by the turn
  std::string refusals_, handled_refusals_;  // guarded by the turn
  std::atomic<bool> is_calm_{true};
  std::atomic<bool> stops_{false};
  std::function<void()> leave_;  // guarded by the turn
  int wakes_ = 0;
  std::thread thread_;
};

// With the parameter, a worker attends the sessions.
class DirectLineTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    LanesContext context = PlainLanes(&budget_, &latency_, &sequence_,
                                      [this](const Batch&, bool) { done_.fetch_add(1); });
    if (GetParam()) {
      attendant_ = std::make_unique<Attendant>();
      context.attend = [this](std::shared_ptr<DirectSession> session, uint64_t number, int fd) {
        return Attend(std::move(session), number, fd);
      };
    }
    lanes_ = std::make_shared<Lanes>(std::move(context));
    StartSession();
  }
  // Called when a worker is to attend the session.
  virtual bool Attend(std::shared_ptr<DirectSession> session, uint64_t number, int fd) {
    return attendant_->Attend(std::move(session), number, fd);
  }
  void TearDown() override {
    if (session_) session_->Stop();
    lanes_->Clear(Drop::kClosed);
  }

  void StartSession() {
    const std::array<int, 2> pair = TcpPair();
    broker_ = std::make_unique<Broker>(pair[1]);
    session_ = std::make_unique<Session>(pair[0], lanes_, may_read_late_);
    ASSERT_TRUE(Until([this] { return session_->is_open.load(); }));
    EXPECT_EQ(session_->is_attended(), GetParam());
  }
  // Returns the number of turns of the session's thread that its doorbell caused.
  int EndSession() {
    const int wakes = std::exchange(session_, nullptr)->Stop();
    const std::vector<std::string>& payloads = broker_->Finish();
    arrived_.insert(arrived_.end(), payloads.begin(), payloads.end());
    return wakes;
  }

  // `receipt`: handle of what waits for the acknowledgment, 0 = nothing.
  void Put(uint8_t record_class, const std::string& payload, uint32_t stage = 1,
           uint64_t receipt = 0) {
    Record record;
    record.device = "d";
    record.topic = "t";
    record.payload = payload;
    record.record_class = record_class;
    record.arrived_us = MonotonicUs();
    record.receipt.handle = receipt;
    BatchPtr batch = SingleBatch(record);
    batch->stage = stage;
    budget_.AddRecords(record_class, 1);
    lanes_->Push(std::move(batch));
  }
  // Pushes `count` batches on each of some threads, of two classes in turn.
  void PutFromThreads(int threads, int count) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([this, t, count] {
        for (int i = 0; i < count; ++i) {
          const uint8_t c = i % 2 == 0 ? kCritical : kNormal;
          Put(c, std::to_string(t * 2 + i % 2) + ":" + std::to_string(i));
        }
      });
    }
    for (std::thread& each : all) each.join();
  }
  // Each stream (thread and class) arrived completely, and what arrived first is in order.
  void ExpectAll(int threads, int count) {
    std::set<std::string> seen;
    std::map<std::string, int> last;
    for (const std::string& payload : arrived_) {
      if (!seen.insert(payload).second) continue;
      const std::string text = payload.substr(payload.find_first_of("0123456789"));
      const size_t colon = text.find(':');
      const int number = std::stoi(text.substr(colon + 1));
      const auto [it, is_new] = last.try_emplace(text.substr(0, colon), -1);
      ASSERT_GT(number, it->second) << text;
      it->second = number;
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(threads * count));
    EXPECT_EQ(last.size(), static_cast<size_t>(threads) * 2);
  }

  bool may_read_late_ = true;
  Budget budget_{1 << 26};
  LatencyByClass latency_;
  std::atomic<uint64_t> sequence_{0};
  std::atomic<int> done_{0};
  std::shared_ptr<Lanes> lanes_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<Session> session_;
  std::vector<std::string> arrived_;  // at all brokers, one after the other
  std::unique_ptr<Attendant> attendant_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_DIRECT_LINE_SUPPORT_H_

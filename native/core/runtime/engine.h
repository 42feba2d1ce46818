// The engine: owns the workers, the acceptor, the plan, the lanes of the uplinks and the memory
// budget.
#ifndef SEGANET_CORE_RUNTIME_ENGINE_H_
#define SEGANET_CORE_RUNTIME_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"
#include "core/base/status.h"
#include "core/devices/desk/request_desk.h"
#include "core/devices/device_events.h"
#include "core/devices/identities.h"
#include "core/devices/pending_commands.h"
#include "core/loop/memory_share.h"
#include "core/plan/plan.h"
#include "core/queue/budget.h"
#include "core/queue/lanes.h"
#include "core/reception/acceptor.h"
#include "core/runtime/engine_options.h"
#include "core/runtime/lane_homes.h"
#include "core/runtime/rebalancer.h"
#include "core/runtime/store_queue.h"
#include "core/runtime/worker.h"

namespace seganet {

enum class PushResult {
  kOk = 0,
  kFull = 1,      // memory has no room for the class, or a queue is full: try again
  kTooLong = 2,   // device, topic or payload exceeds its limit, or the device id is empty
  kClosed = 3,    // the engine is closed
  kNoStage = 4,   // the plan has no such stage
  kNoRoute = 5,   // the stage leads to no uplink and sends no messages
  kOddTopic = 6,  // IsOddTopic, for the topic or the device
};

enum class RestoreResult : uint8_t {
  kRestored = 0,
  kExpired = 1,
  kDamaged = 2,
  kTooLate = 3,  // devices may have connected already
};

struct WorkerInfo {
  size_t index;
  int tid;
  int cpu;             // -1 = not pinned
  std::string reason;  // why it is not pinned
  uint32_t capacity;   // of its core; the strongest core has 1024
  uint32_t slots;      // number of slots that it owns, of Placement::kSlots
  double busy;         // Worker::busy
  uint64_t agents;     // open device connections
  int64_t silent_us;   // time since the thread made progress
};

// Thread safety: all members from the thread that created the engine, unless a comment says
// otherwise.
class Engine : private ReceiptSink {
 public:
  // `bell` rings when messages or completions wait; it outlives the engine.
  explicit Engine(Doorbell* bell);
  ~Engine() override;  // closes
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Starts the threads. Returns Status::InvalidArgument for invalid options, or Status::System if a
  // thread cannot start; the engine is closed then. REQUIRES: called once.
  Status Start(const EngineOptions& options);

  // Replaces the plan. Returns an error, and keeps the current plan, if `stages` is invalid.
  Status ApplyPlan(std::vector<StageSpec> stages);

  // Opens the listener of a source stage of the plan. Returns its port in `*bound_port`.
  Status Listen(uint32_t stage, const ListenSpec& spec, uint16_t* bound_port);

  // Uses this context for new handshakes of a stage that listens with DTLS. No effect for another.
  Status RenewDtls(uint32_t stage, const std::shared_ptr<const DtlsContext>& context);

  // Closes the stage's listener and the connections of its devices; returns when that is done.
  void Unlisten(uint32_t stage);

  // Creates a socket pair and returns one end in `*fd`, which the caller owns. The acceptor serves
  // the other end like a device's connection to source stage `stage`. Any thread.
  Status OpenStream(uint32_t stage, const StreamPeer& peer, int* fd);

  // Takes out logins that wait for an answer, at most `most`. Each login is returned once.
  std::vector<LoginRequest> TakeLogins(size_t most = SIZE_MAX);
  // Ends a pending login: `device` is the id under which the device is accepted; nothing refuses
  // the login. Returns false if no connection waits under `id`.
  bool AnswerLogin(uint64_t id, std::optional<std::string> device);

  // Puts a record into a stage. With `assign_seq`, the device's next sequence number replaces
  // record.seq.
  PushResult Push(uint32_t stage, const Record& record, bool assign_seq);

  // Sends a command to a device; its ticket comes back in TakeCommandResults. Sets
  // command.deadline_us. Returns kFull if too many commands are in flight.
  PushResult Command(seganet::Command command, int64_t timeout_us);
  std::vector<CommandResult> TakeCommandResults() { return commands_.Take(); }

  // Ends the connection of a device. With `server`, asks it to connect to another one
  // (AgentSession::Redirect). Returns false if it has none.
  bool DismissDevice(std::string_view device,
                     const std::optional<std::string>& server = std::nullopt);
  // Ends the connection of a device that has connected to another gateway, as a new connection to
  // this engine would. Returns false if it has none.
  bool TakeOverDevice(std::string_view device);

  // The request desk, for connections of a listener with ListenSpec::desk. A connection has a
  // number; the calls with an unknown one have no effect, and return false.
  //
  // Returns the oldest events of source stage `stage`, at most `most`.
  std::vector<DeskEvent> TakeDesk(uint32_t stage, size_t most) { return desk_.Take(stage, most); }
  // What passes through the request desks of all listeners.
  DeskFigures desk_figures() const { return desk_.figures(); }
  // Answers a request (StreamSession::Answer).
  bool AnswerRequest(uint64_t connection, std::string token, uint8_t code,
                     coap::OptionValues options, std::string payload);
  // Gives the same answer to several requests, for less than one AnswerRequest() each. Unknown
  // connections get none.
  void AnswerRequests(const std::vector<DeskAddressee>& to, DeskReply reply);
  // The connection has proven to be a device. It moves to the worker of the device, and an older
  // connection of the device is closed. False also if the connection has another device, or the id
  // is not allowed.
  bool IdentifyConnection(uint64_t connection, DeskIdentity identity);
  // A request that has no answer yet can no longer be overtaken by later ones of its connection,
  // because JavaScript has passed it on (StreamSession::Settle).
  bool SettleRequest(uint64_t connection, const std::string& token);
  // Lets another owner use the device of a connection, until it is forgotten: by requests that the
  // workers forward (ForwardOptions). At most kMostGrants a connection.
  bool GrantConnection(uint64_t connection, const std::string& owner, GrantRights rights);
  // The connection stays, without a device.
  bool ForgetConnection(uint64_t connection, std::string reason);
  bool CloseConnection(uint64_t connection, std::string reason);
  // Makes a record of the connection's device; `handle` comes back in a kRecorded event after kOk.
  // kNoStage: the connection is unknown. `post`: the record is a post to this topic, 0 = to none.
  PushResult RecordOfConnection(uint64_t connection, uint64_t handle, std::string topic,
                                std::string payload, uint8_t record_class, uint64_t post = 0);
  // Opens a topic: posts of its owner's connections become records without JavaScript
  // (DeskOptions::posts). Sets spec.id, and returns it; 0 if kMostTopics are open, or the owner,
  // the name or the subject is not allowed. A topic with the same owner and name is closed.
  uint64_t OpenTopic(DeskTopicSpec spec);
  static constexpr size_t kMostTopics = 65'536;
  // No effect for an unknown topic, as for the next two.
  void CloseTopic(uint64_t id);
  // True: JavaScript gets a kPosted event for each post that becomes safe, or for the latest one
  // (RequestDesk::Posted).
  void FollowTopic(uint64_t id, bool on);
  // A kLatest event with the latest post that is safe follows, for `handle`: a post that was
  // answered before this call, or a later one, if there is room (DeskTopics); else an earlier one.
  void AskLatest(uint32_t stage, uint64_t handle, uint64_t id);
  // Sends a request to a device. Returns its handle, under which the answers arrive as events of
  // `stage` (DeviceAsks); 0 = too many requests are open, or the engine is closed. Sets ask.handle
  // and ask.deadline_us.
  uint64_t AskDevice(uint32_t stage, DeviceAsk ask, int64_t timeout_us);
  // Ends a request or an observation. An event that waits may still arrive.
  void CancelAsk(uint64_t handle);

  std::vector<DeviceEvent> TakeEvents(size_t most = DeviceEvents::kMost) {
    return events_.Take(most);
  }

  // Returns the first `limit` devices whose id is greater than `after`, in the order of ids. Waits
  // for the workers.
  std::vector<AgentInfo> Agents(const std::string& after, size_t limit);

  // The last values (EngineOptions::values). Each call waits for the workers, and looks at
  // LastValues::kMostExamined values of each at most.
  //
  // LastValues::Page of all workers. A page may have no row and not be complete.
  ValuePage Values(const ValueQuery& query);
  // LastValues::Changed of all workers. `at_us` of the page is `since_us` of the next call; then no
  // change is missing, and one may come twice.
  ValuePage ChangedValues(const ValueQuery& query, int64_t since_us);
  // LastValues::Levels and Save of worker `worker`. REQUIRES: worker < Workers().size().
  TopicLevels ValueLevels(size_t worker, std::string_view prefix, const ValueKey& after);
  bool SaveValues(size_t worker, ValueKey* after, std::string* rows);
  // Adds values of an earlier run, which are marked as restored. Returns false if a row is damaged;
  // those before it were added. `*restored`: sum of Worker::RestoreValues.
  bool RestoreValues(std::string_view rows, size_t* restored);
  // Returns what a forecast stage of the plan has learned; null = there is no such stage, or the
  // engine is closed.
  std::shared_ptr<Forecasts> ForecastsOf(uint32_t stage) const;
  // Forecasts::SavePart, on the worker to which the part belongs.
  bool SaveForecasts(Forecasts* forecasts, ForecastCursor* cursor, std::string* rows);
  // Copies series (Forecasts::Look), one for each key. Waits for the workers, each of which only
  // copies. A series that changes its worker meanwhile may be missing.
  std::vector<ForecastView> LookAtForecasts(Forecasts* forecasts,
                                            const std::vector<uint64_t>& keys);
  int64_t kept_values() const { return values_.kept.load(std::memory_order_relaxed); }
  int64_t value_bytes() const { return values_.memory.used(); }

  // Returns the class that a priority stage of the plan assigns, or `current` if there is no such
  // stage.
  uint8_t ClassOf(uint32_t stage, std::string_view device, std::string_view topic,
                  std::string_view payload, uint8_t current) const;

  // Copies waiting frames into `to`, whole frames only, and returns the bytes. If that is 0 because
  // the next frame is larger than `capacity`, sets `*needed` to that frame's size.
  size_t TakeMessages(char* to, size_t capacity, size_t* needed = nullptr);
  std::vector<Completion> TakeCompletions();

  // Reports what became of messages of records that wait for their flow (DeferredReceipts). Unknown
  // ids have no effect.
  void EndDeferrals(const std::vector<Deferral>& ends);
  // Returns the number of records that wait for a flow.
  int64_t deferred() const { return deferred_.load(std::memory_order_relaxed); }
  // Returns the number of open windows. Read it before the number of records in memory: a window is
  // open until its record is in memory.
  int64_t windows() const { return windows_.open.load(std::memory_order_acquire); }

  // Seals the open batches of a stage; 0 = of all stages.
  void Flush(uint32_t stage);

  // Makes every record that is not on disk due for writing, from now on. For an orderly stop.
  void SaveAll();

  // Acknowledge::kReplicated: true = from now on, a record on the local disk is safe, as with
  // Acknowledge::kSafe. False at the start. What was acknowledged stays so.
  void SetDiskCounts(bool counts);

  // Restores the MQTT sessions of an earlier run from their rows (session_row.h), one result for
  // each. `exact`: the earlier run ended in order. Any thread, between Start and Close.
  std::vector<RestoreResult> RestoreSessions(const std::vector<std::string_view>& rows, bool exact);
  // Has the store thread save all MQTT sessions as if their connections ended now.
  // REQUIRES: StopReading was called.
  void SaveSessions();
  // The MQTT sessions that the store thread saves.
  SessionOutbox& sessions() { return sessions_; }

  // Closes the listeners and half-open connections. The connections of devices stay, and so do CoAP
  // over UDP and DTLS. A stage listens again after Unlisten and Listen.
  void StopAccepting();

  // Closes the listeners, stops reading devices and publishes their wills; the connections stay
  // open until Close.
  void StopReading();

  // True: no record of a device enters until it is called with false. MQTT devices are not read;
  // CoAP devices that use UDP get 5.03. Connections stay open, and pushed records enter. Returns
  // when the records that were read before have passed the plan.
  void HoldReading(bool hold);

  // Stops the threads. Records that are still held are dropped and counted as "closed". Idempotent.
  void Close();
  bool closed() const { return closed_; }

  // Returns the lanes of uplink `number`, and creates them if they are new. Any thread.
  std::shared_ptr<Lanes> LanesOf(uint32_t number) { return lanes_.Get(number); }

  // The queue that the store thread serves.
  StoreQueue& store() { return store_; }
  const EngineOptions& options() const { return options_; }
  // Returns the records that are neither on disk nor acknowledged by the cloud, by class.
  std::array<int64_t, kClasses + 1> Unsaved();

  // Returns the records that the cloud acknowledged, by class.
  std::array<int64_t, kClasses + 1> Delivered();
  // Returns how many of these were acknowledged after the patience of their batch, although the
  // session was up (BatcherOptions::patience_ms).
  std::array<int64_t, kClasses + 1> Late();

  uint32_t WorkerOf(std::string_view device) const;
  std::vector<WorkerInfo> Workers() const;
  RebalanceCounts rebalanced() const { return exchange_.counts(); }
  const Budget& budget() const { return budget_; }
  const LatencyByClass& latency() const { return latency_; }
  int64_t devices() const { return devices_.load(std::memory_order_relaxed); }
  bool slowed() const { return slowed_from() != 0; }
  // The most urgent class whose devices are not read; 0 = none.
  uint8_t slowed_from() const { return throttle_.slowed_from(); }
  const Plan* plan() const { return plan_.get(); }

  // Returns the sums over all threads.
  void ReadCounters(std::array<uint64_t, kCounters>* counters,
                    std::array<std::array<uint64_t, kClassSlots>, kDrops>* drops,
                    std::array<uint64_t, kCloseReasonCount>* close_reasons);

 private:
  // Returns the sums of counters by class over all lanes.
  std::array<int64_t, kClasses + 1> Sum(std::array<SingleWriter, kClassSlots> CounterBlock::*of);
  WorkerShared SharedOfWorkers();
  Status StartWorkers(const std::vector<int>& cpus);
  Status StartAcceptor();
  Status ListenDatagrams(const Stage& source, const ListenSpec& spec, uint16_t* bound_port);
  void OnDone(const Batch& batch, bool delivered);
  void Complete(const std::vector<Completion>& completions);
  void OnRoom();
  Worker* WorkerAtDesk(uint64_t connection);
  // Registers a connection without a device and returns its worker; the acceptor's thread only.
  uint32_t PlaceAtDesk(Handoff* handoff);
  // A connection moves to `worker`; a null parcel if it has closed.
  void ArriveAtDesk(uint32_t worker, uint64_t connection,
                    const std::shared_ptr<DeskParcel>& parcel);
  bool Sweep();
  void ResumeWorkers();
  void EndUnfinished();
  std::unique_lock<std::mutex> Route();
  void Return(size_t worker, std::vector<Receipt> receipts) override;
  void Withhold(size_t worker, std::vector<Receipt> receipts) override;
  LanesContext ContextOfLanes();

  Doorbell* const bell_;
  EngineOptions options_;
  bool closed_ = true;

  Budget budget_{0};
  LatencyByClass latency_;
  DeviceEvents events_{bell_};
  PendingCommands commands_{bell_};
  Identities identities_;
  RequestDesk desk_{bell_};
  uint64_t last_topic_ = 0;
  std::unordered_set<uint64_t> topics_;  // that are open
  uint32_t next_desk_worker_ = 0;        // used by the acceptor's thread
  MemoryShare unfinished_;
  MemoryShare kept_;
  SharedValues values_;
  std::atomic<int64_t> devices_{0};
  std::atomic<int64_t> connections_{0};
  std::atomic<int64_t> deferred_{0};
  WindowTotals windows_;
  Throttle throttle_{&budget_};

  std::shared_ptr<const Plan> plan_;
  std::vector<uint32_t> listening_;
  SessionOutbox sessions_;
  Subscribers subscribers_;
  Rebalancer exchange_;
  std::vector<std::unique_ptr<Worker>> workers_;
  PendingLogins logins_;
  std::unique_ptr<Acceptor> acceptor_;
  size_t next_ring_ = 0;  // TakeMessages starts with a different worker each time

  std::atomic<uint64_t> sequence_{0};
  SavePolicy save_;
  std::atomic<bool> disk_counts_{true};
  ClassLimits limits_;
  SelectionOptions selection_;
  StoreQueue store_{&budget_, this, [this] { return lanes_.All(); }};

  LaneHomes lanes_{[this] { return ContextOfLanes(); }};

  std::mutex completions_mutex_;
  std::vector<Completion> completions_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_ENGINE_H_

// A worker: one pinned thread that owns the connections of its devices; it reads, acknowledges,
// classifies and batches (SegaNet's IoT agents). Workers share nothing: a record takes no lock on
// its path.
#ifndef SEGANET_CORE_RUNTIME_WORKER_H_
#define SEGANET_CORE_RUNTIME_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/base/nap.h"
#include "core/devices/agent.h"
#include "core/devices/agent_commands.h"
#include "core/devices/agent_registry.h"
#include "core/devices/command_table.h"
#include "core/devices/device_table.h"
#include "core/devices/kept_sessions.h"
#include "core/devices/last_values.h"
#include "core/devices/pending_commands.h"
#include "core/devices/presence.h"
#include "core/devices/unfinished_packets.h"
#include "core/devices/urgent/urgent_agents.h"
#include "core/devices/wills.h"
#include "core/loop/loop_thread.h"
#include "core/loop/sweep_timer.h"
#include "core/loop/time_wheel.h"
#include "core/loop/wakeup_moderation.h"
#include "core/plan/pipeline.h"
#include "core/queue/byte_ring.h"
#include "core/reception/acceptor.h"
#include "core/reception/lingering_close.h"
#include "core/reception/stream_setups.h"
#include "core/runtime/attended_sessions.h"
#include "core/runtime/datagram_endpoints.h"
#include "core/runtime/desk/desk_server.h"
#include "core/runtime/load_meter.h"
#include "core/runtime/pushed_records.h"
#include "core/runtime/read_pauses.h"
#include "core/runtime/receipt_server.h"
#include "core/runtime/session_offers.h"
#include "core/runtime/session_row.h"
#include "core/runtime/slot_mover.h"
#include "core/runtime/worker_options.h"

namespace seganet {

// Thread safety: TakeMessages from the engine's thread; Adopt, JoinIdentities, SetPlan, Flush,
// CloseStage, StopReading, Resume, EndUnfinished, SaveSessions, RestoreSessions, ServeSubscribers,
// SendValues, StartCommand, DismissDevice, Agents, WithValues, RestoreValues, load,
// unfinished().bytes and the counters from any thread; pushed(), receipts(), desk(), mover() and
// datagrams() as their classes say.
class Worker : public LoopThread, private AgentHost, private DeskServer::Owner {
 public:
  Worker(const WorkerOptions& options, const WorkerShared& shared);
  ~Worker() override;

  // Takes ownership of a device's connection.
  void Adopt(Handoff handoff);

  // Has the devices join their identities (Identities::Activate); returns when that is done.
  void JoinIdentities();

  // Replaces the plan; returns when that is done.
  void SetPlan(std::shared_ptr<const Plan> plan);
  // Ends the open windows and seals the open batches of a stage; 0 = of all stages.
  void Flush(uint32_t stage);

  // Closes the connections and sockets of source stage `stage`; returns when that is done.
  void CloseStage(uint32_t stage);

  // Stops reading devices and publishes all wills: those that wait, and those of connected devices.
  // Returns when that is done.
  void StopReading();

  // True: reads no devices until it is called with false. Returns when no read is under way.
  void HoldReading(bool hold);

  // Reads the devices again whose class has room.
  void Resume();

  const UnfinishedPackets& unfinished() const { return unfinished_; }
  // Closes the connection that has held the most of that memory for the longest time, if the total
  // still exceeds its limit.
  void EndUnfinished();

  // Attends an uplink's session: reads its connection in place of its thread, while DirectSession
  // says so. Takes ownership of `fd`. Returns false if the thread does not run. Any thread, also
  // after Stop.
  bool Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd);

  PushedRecords& pushed() { return pushed_; }
  ReceiptServer& receipts() { return receipts_; }
  DeskServer& desk() { return desk_; }
  SlotMover& mover() { return mover_; }
  DatagramEndpoints& datagrams() { return datagrams_; }

  // Saves all MQTT sessions as if their connections ended now, and no change after that. Returns
  // when the sessions are ready for the store thread. REQUIRES: StopReading was called.
  void SaveSessions();
  // Adds sessions of an earlier run. REQUIRES: this worker owns their devices, which have not
  // connected in this run.
  void RestoreSessions(std::vector<RestoredSession> sessions);

  // Sends records that wait for local subscribers of this worker.
  void ServeSubscribers(SubscriberList list);
  // Sends the last values of this worker's devices to a new subscription.
  void SendValues(std::shared_ptr<LastValueRequest> request);

  // Sends a command to a device of this worker. REQUIRES: WorkerShared::commands accepted it
  // (Open).
  void StartCommand(Command command);
  // Ends the connection of a device. With `server`, asks it to connect to another one
  // (AgentSession::Redirect). Returns false if it has none.
  bool DismissDevice(std::string_view id, const std::optional<std::string>& server);
  // See Engine::TakeOverDevice.
  bool TakeOverDevice(std::string_view id);

  // Returns ListAgents of this worker's devices.
  std::vector<AgentInfo> Agents(const std::string& after, size_t limit);

  // Runs `task` with the last values, on the thread, and waits for it. Returns false if the thread
  // does not run.
  bool WithValues(const std::function<void(LastValues*, const Now&)>& task);
  // Adds values of an earlier run to those of their devices. Returns the number of rows before the
  // first one without room. REQUIRES: this worker owns their devices.
  size_t RestoreValues(const std::vector<ValueRow>& rows);

  // Copies whole frames for JavaScript and returns their bytes.
  size_t TakeMessages(char* to, size_t capacity);
  // Returns the size of the next frame; 0 = none.
  size_t NextMessageBytes() { return messages_.Front().size(); }

  const LoadMeter& load() const { return load_; }
  const CounterBlock& counters() const { return counters_; }
  const CloseReasonCounters& close_reasons() const { return close_reasons_; }

 private:
  // LoopThread
  void OnStart() override;
  void OnWake() override;
  void OnStop() override;

  // AgentHost
  bool MayRead(Agent* agent) override { return pauses_.MayRead(agent); }
  std::span<uint8_t> read_buffer(const Agent& agent) override;
  int64_t OnRead(size_t bytes) override;
  void OnBuffered(Agent* agent, size_t bytes, bool is_new) override;
  void OnTurnUsedUp() override { unread_ = true; }
  void OnPolled(Agent* agent) override { urgent_.OnPolled(agent); }
  Admission OnConnect(Agent* agent, std::string_view device) override;
  RecordAnswer OnRecord(Agent* agent, const IncomingRecord& incoming) override;
  bool MayPublish(Agent* agent, std::string_view topic) override;
  bool MaySubscribe(Agent* agent, std::string_view filter) override;
  void OnSubscriber(Agent* agent, Subscriber* subscriber) override {
    subscriber->Enter(static_cast<uint32_t>(options_.index), agent);
  }
  void OnValuesAsked(const std::shared_ptr<const Interest>& interest) override;
  void OnTopicRefused() override { counters_.Add(Counter::kTopicsRefused); }
  void OnControl(Agent* agent) override;
  void OnListening(Agent* agent) override;
  void OnCommandAnswer(Agent*, uint64_t id, bool taken) override { commands_.Answer(id, taken); }
  void OnClosed(Agent* agent, AgentEnd end) override;
  void OnDescriptor(int fd, AgentEnd end) override;

  // DeskServer::Owner
  void PassRecords() override { fanout_.Pass(); }
  MovedAgent TakeOut(Agent* agent) override;
  Agent* Continue(MovedAgent moved) override;
  void Enter(Agent* agent) override;
  void Register(Agent* agent) override;
  void Disconnected(Agent* agent) override;

  std::unique_ptr<AgentSession> MakeSession(Agent* agent, const Handoff& handoff);
  bool Sweep();
  bool IsStill() const;
  void OnTime();
  void ArmTimer();
  void Moderate();
  void RegisterAll(const Plan& before);
  void RegisterBehind(Agent* agent);
  Device* DeviceOf(Agent* agent, const IncomingRecord& incoming);
  Device* NewBehind(Agent* agent, std::string_view id);
  void ListensBehind(Agent* agent);
  void ReportBehind();
  void CountIfSends(Agent* agent);
  void Emit(const WillRecord& made);

  const WorkerOptions options_;
  const WorkerShared shared_;
  CounterBlock counters_;
  CloseReasonCounters close_reasons_;
  ByteRing messages_;
  LastValues values_;
  DeviceTable devices_;
  ReceiptServer receipts_;
  Pipeline pipeline_;
  ReadPauses pauses_;
  Presence presence_;
  CommandTable commands_;
  Wills wills_;
  KeptSessions kept_;
  AgentCommands agent_commands_{&devices_, &kept_};
  SessionOffers offers_;
  SubscriberFanout fanout_;
  LastValueSender value_sender_;

  StreamSetups setups_;
  DeskServer desk_;
  std::vector<uint8_t> read_buffer_;
  PushedRecords pushed_;
  std::unordered_set<Agent*> agents_;
  TimeWheel wheel_;  // of agents
  UnfinishedPackets unfinished_;
  Now now_;  // time of the current read or wake-up
  LingeringClose lingering_;
  uv_timer_t deadline_timer_;
  SweepTimer sweep_timer_{[this] { return Sweep(); }};
  uv_prepare_t before_poll_;
  uint32_t clock_reads_ = 0;     // device reads since the clock was read
  std::string bridged_id_;       // scratch memory of DeviceOf
  bool reports_behind_ = false;  // ReportBehind has something to report
  bool unread_ = false;          // a device has more to read than its share of this turn
  WakeupModeration moderation_;
  Nap nap_;
  UrgentAgents urgent_{&nap_};
  int64_t armed_us_ = kNever;  // due time of deadline_timer_
  SlotMover mover_;
  DatagramEndpoints datagrams_;
  AttendedSessions attended_{loop()};
  std::atomic<uint32_t> adopting_{0};  // adopted connections without an agent yet
  LoadMeter load_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_WORKER_H_

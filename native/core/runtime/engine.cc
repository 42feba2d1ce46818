#include "core/runtime/engine.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/cpu.h"
#include "core/base/cpu_capacity.h"
#include "core/base/require.h"
#include "core/queue/make_room.h"
#include "core/record/odd_topic.h"

namespace seganet {
namespace {

constexpr int64_t kLeastUnfinished = 16 * kMiB;  // limit for incomplete packets, at least

// Returns the options of worker `index` of `workers`.
WorkerOptions OptionsOfWorker(const EngineOptions& options, size_t index, size_t workers) {
  WorkerOptions result;
  result.index = index;
  result.workers = workers;
  result.max_packet_bytes = options.max_packet_bytes;
  // Devices may return under new ids. The rows of devices that left keep their sequence numbers for
  // a while.
  result.max_devices = size_t{options.max_devices} * 4;
  result.max_kept = options.max_devices;
  result.wake_interval_us = options.wake_interval_us;
  result.acknowledge_at_once = options.acknowledge == Acknowledge::kReceived;
  result.odd_topics = options.odd_topics;
  result.linger_us = PolicyOf(options).linger_us;
  result.unfinished_us = options.unfinished_us;
  result.values = options.values;
  result.ring_bytes =
      std::max<size_t>(options.message_ring_mib * kMiB, size_t{options.max_packet_bytes} * 4);
  return result;
}

bool HasBridges(const Plan& plan) {
  return std::any_of(plan.stages().begin(), plan.stages().end(),
                     [](const Stage& stage) { return !stage.spec.source.bridges.empty(); });
}

}  // namespace

Engine::Engine(Doorbell* bell)
    : bell_(bell),
      plan_(std::make_shared<Plan>(std::vector<StageSpec>(), 0, nullptr, nullptr)),
      logins_(bell) {}

Engine::~Engine() { Close(); }

Status Engine::Start(const EngineOptions& options) {
  SEGANET_REQUIRE(workers_.empty());
  if (Status status = ValidateOptions(options); !status.ok()) return status;
  std::vector<int> wanted;
  if (Status status = ParseCpuList(options.cpus, &wanted); !status.ok()) return status;
  std::vector<int> cpus;
  Status assigned = AssignCpus(AllowedCpus(), wanted, options.workers, &cpus);
  if (!assigned.ok()) return assigned;

  options_ = options;
  SetLimits(options, &budget_);
  save_ = PolicyOf(options);
  disk_counts_ = options.acknowledge != Acknowledge::kReplicated;
  limits_ = LimitsOf(options);
  selection_ = SelectionOf(options);
  store_.SetOptions({options.epoch, limits_.ttl_us});
  closed_ = false;
  const int64_t quarter = int64_t{options.memory_mib} * kMiB / 4;
  // A packet that a device has begun to send must be read to its end, even if memory is short.
  unfinished_.SetLimit(std::max(quarter, kLeastUnfinished));
  kept_.SetLimit(quarter);
  values_.memory.SetLimit(options.values.memory_mib * kMiB);
  commands_.SetMostBytes(static_cast<size_t>(quarter));
  Status status = StartWorkers(cpus);
  if (status.ok()) status = StartAcceptor();
  if (!status.ok()) Close();
  return status;
}

// Returns what the workers get from this engine.
WorkerShared Engine::SharedOfWorkers() {
  return {
      .budget = &budget_,
      .message_bell = bell_,
      .identities = &identities_,
      .devices = &devices_,
      .connections = &connections_,
      .throttle = &throttle_,
      .resume = [this] { ResumeWorkers(); },
      .complete = [this](const std::vector<Completion>& all) { Complete(all); },
      .events = &events_,
      .commands = &commands_,
      .unfinished = &unfinished_,
      .end_unfinished = [this] { EndUnfinished(); },
      .kept = &kept_,
      .values = &values_,
      .cross =
          [this](uint32_t worker, uint32_t stage, CrossedDatagrams datagrams) {
            return workers_[worker]->datagrams().Take(stage, std::move(datagrams));
          },
      .exchange = &exchange_,
      .deferred = &deferred_,
      .sessions = &sessions_,
      .windows = &windows_,
      .subscribers = &subscribers_,
      .wake_subscribers =
          [this](uint32_t worker, SubscriberList list) {
            workers_[worker]->ServeSubscribers(std::move(list));
          },
      .send_values =
          [this](const std::shared_ptr<LastValueRequest>& request) {
            for (const std::unique_ptr<Worker>& worker : workers_) worker->SendValues(request);
          },
      .desk = &desk_,
      .desk_arrive =
          [this](uint32_t worker, uint64_t connection, const std::shared_ptr<DeskParcel>& parcel) {
            ArriveAtDesk(worker, connection, parcel);
          },
      .at_forwarding =
          [this](uint32_t worker, std::function<void(DeskForwarding*)> task) {
            Worker* const to = workers_[worker].get();
            to->Post([to, task = std::move(task)] { task(&to->desk().forwarding()); });
          }};
}

Status Engine::StartWorkers(const std::vector<int>& cpus) {
  exchange_.Start(options_, WorkerCapacities(cpus), &workers_);
  sessions_.Start(cpus.size(), [this] {
    for (const auto& worker : workers_) worker->Nudge();
  });
  const WorkerShared shared = SharedOfWorkers();
  for (size_t i = 0; i < cpus.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(OptionsOfWorker(options_, i, cpus.size()), shared));
    Status status = workers_.back()->Start("seganet-w" + std::to_string(i), cpus[i]);
    if (!status.ok()) return status;
  }
  return {};
}

Status Engine::StartAcceptor() {
  AcceptorOptions acceptor_options;
  acceptor_options.max_connections = options_.max_devices;
  // The sweep runs on the acceptor's thread, which has the least to do.
  acceptor_options.on_sweep = [this] { return Sweep(); };
  acceptor_ = std::make_unique<Acceptor>(
      acceptor_options, &connections_, &logins_, [this](Handoff handoff) {
        const auto route = Route();
        const uint32_t owner = handoff.desk ? PlaceAtDesk(&handoff) : WorkerOf(handoff.device);
        workers_[owner]->Adopt(std::move(handoff));
      });
  return acceptor_->Start("seganet-accept", LoopThread::kUnpinned);
}

Status Engine::ApplyPlan(std::vector<StageSpec> stages) {
  if (closed_) return Status::Closed("the engine is closed");
  if (Status status = ValidatePlan(stages); !status.ok()) return status;
  auto plan = std::make_shared<const Plan>(
      std::move(stages), workers_.size(), plan_.get(),
      [this](uint32_t uplink) { return lanes_.Get(uplink); },
      [this](const std::string& name) { return store_.ledger()->DiskBytes(name); });
  const SlotExchange::Hold hold(&exchange_);
  // A worker may use the new plan before the waiting batches have moved.
  const std::vector<std::shared_ptr<Lanes>> gaining = lanes_.Gaining(*plan);
  for (const std::shared_ptr<Lanes>& lanes : gaining) lanes->SetPaused(true);
  // Before any batch waits at a new stage: the log stores it under the stage's name.
  store_.SetPlan(*plan);
  // Before a worker may meet a bridge.
  if (HasBridges(*plan) && identities_.Activate()) {
    for (const auto& worker : workers_) worker->JoinIdentities();
  }
  for (const auto& worker : workers_) worker->SetPlan(plan);
  plan_ = plan;
  lanes_.Apply(*plan);
  for (const std::shared_ptr<Lanes>& lanes : gaining) lanes->SetPaused(false);
  return {};
}

PushResult Engine::Push(uint32_t stage, const Record& record, bool assign_seq) {
  if (closed_) return PushResult::kClosed;
  const Stage* found = plan_->Find(stage);
  if (found == nullptr) return PushResult::kNoStage;
  if (!found->takes) return PushResult::kNoRoute;
  // An envelope has no single device.
  const bool envelope = (record.flags & kFlagEnvelope) != 0;
  if (record.device.empty() != envelope || record.device.size() > kMaxDeviceBytes ||
      record.topic.size() > kMaxTopicBytes || record.payload.size() > options_.max_packet_bytes) {
    return PushResult::kTooLong;
  }
  if (!options_.odd_topics && (IsOddTopic(record.topic) || IsOddTopic(record.device))) {
    return PushResult::kOddTopic;
  }
  // Uses the record's class at this point. A later stage may make the record more urgent, but
  // memory that is reserved for class 1 is not for records that only may become class 1.
  if (throttle_.MayGoOn(record.record_class) != Throttle::Verdict::kGoOn) return PushResult::kFull;
  // Messages that return from a flow have priority over new records of its sources.
  if (record.deferral != 0 && found->spec.kind == StageKind::kSource &&
      deferred() >= kMostDeferred) {
    return PushResult::kFull;
  }
  const auto route = Route();
  Worker& owner = *workers_[WorkerOf(record.device)];
  return owner.pushed().Push(stage, record, assign_seq) ? PushResult::kOk : PushResult::kFull;
}

PushResult Engine::Command(seganet::Command command, int64_t timeout_us) {
  if (closed_) return PushResult::kClosed;
  if (command.device.empty() || command.device.size() > kMaxDeviceBytes || command.topic.empty() ||
      command.topic.size() > kMaxTopicBytes || command.payload.size() > options_.max_packet_bytes) {
    return PushResult::kTooLong;
  }
  if (identities_.active()) command.bridge = identities_.BridgeOf(command.device);
  if (!commands_.Open(command)) return PushResult::kFull;
  command.deadline_us = MonotonicUs() + timeout_us;
  Worker& owner = *workers_[WorkerOf(command.connection())];
  owner.StartCommand(std::move(command));
  return PushResult::kOk;
}

bool Engine::DismissDevice(std::string_view device, const std::optional<std::string>& server) {
  if (closed_) return false;
  // The device stays with its worker meanwhile.
  const SlotExchange::Hold hold(&exchange_);
  return workers_[WorkerOf(device)]->DismissDevice(device, server);
}

bool Engine::TakeOverDevice(std::string_view device) {
  if (closed_) return false;
  const SlotExchange::Hold hold(&exchange_);
  return workers_[WorkerOf(device)]->TakeOverDevice(device);
}

std::vector<AgentInfo> Engine::Agents(const std::string& after, size_t limit) {
  const SlotExchange::Hold hold(&exchange_);
  std::vector<std::vector<AgentInfo>> lists;
  for (const auto& worker : workers_) lists.push_back(worker->Agents(after, limit));
  return MergeAgents(std::move(lists), limit);
}

uint8_t Engine::ClassOf(uint32_t stage, std::string_view device, std::string_view topic,
                        std::string_view payload, uint8_t current) const {
  const Stage* found = plan_->Find(stage);
  if (found == nullptr || found->spec.kind != StageKind::kPriority) return current;
  return found->classifier.ClassOf(device, topic, payload, current);
}

size_t Engine::TakeMessages(char* to, size_t capacity, size_t* needed) {
  if (closed_) return 0;
  bell_->Answer();
  size_t used = 0;
  size_t next_bytes = 0;
  for (size_t i = 0; i < workers_.size(); ++i) {
    next_ring_ = (next_ring_ + 1) % workers_.size();
    Worker& worker = *workers_[next_ring_];
    used += worker.TakeMessages(to + used, capacity - used);
    next_bytes = std::max(next_bytes, worker.NextMessageBytes());
  }
  if (used == 0 && needed != nullptr) *needed = next_bytes;
  return used;
}

std::vector<Completion> Engine::TakeCompletions() {
  bell_->Answer();
  std::vector<Completion> taken;
  const std::lock_guard<std::mutex> lock(completions_mutex_);
  taken.swap(completions_);
  return taken;
}

void Engine::EndDeferrals(const std::vector<Deferral>& ends) {
  std::vector<std::vector<Deferral>> by_worker(workers_.size());
  for (const Deferral& end : ends) {
    const uint32_t worker = DeferredReceipts::WorkerOf(end.id);
    if (worker < by_worker.size()) by_worker[worker].push_back(end);
  }
  for (size_t i = 0; i < by_worker.size(); ++i) {
    if (!by_worker[i].empty()) workers_[i]->receipts().EndDeferrals(by_worker[i]);
  }
}

void Engine::Flush(uint32_t stage) {
  for (const auto& worker : workers_) worker->Flush(stage);
}

void Engine::StopAccepting() {
  if (closed_) return;
  for (uint32_t stage : listening_) acceptor_->Unlisten(stage);
}

void Engine::StopReading() {
  if (closed_) return;
  exchange_.HoldForever();
  StopAccepting();
  for (const auto& worker : workers_) worker->StopReading();
}

void Engine::HoldReading(bool hold) {
  if (closed_) return;
  for (const auto& worker : workers_) worker->HoldReading(hold);
}

void Engine::Close() {
  if (closed_) return;
  closed_ = true;
  exchange_.HoldForever();
  if (acceptor_) acceptor_->Stop();
  for (const auto& worker : workers_) worker->Stop();
  for (const auto& lanes : lanes_.All()) lanes->Clear(Drop::kClosed);
}

void Engine::SaveAll() {
  for (const auto& lanes : lanes_.All()) lanes->SaveAll();
}

void Engine::SetDiskCounts(bool counts) {
  if (options_.acknowledge != Acknowledge::kReplicated) return;
  disk_counts_.store(counts, std::memory_order_release);
  if (counts) store_.Wake();
}

std::array<int64_t, kClasses + 1> Engine::Unsaved() {
  std::array<int64_t, kClasses + 1> sum{};
  for (const auto& lanes : lanes_.All()) {
    const auto records = lanes->Unsaved();
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += records[c];
  }
  return sum;
}

LanesContext Engine::ContextOfLanes() {
  LanesContext context;
  context.budget = &budget_;
  context.latency = &latency_;
  context.sequence = &sequence_;
  context.receipts = this;
  context.on_done = [this](const Batch& batch, bool delivered) { OnDone(batch, delivered); };
  context.on_room = [this] { OnRoom(); };
  context.on_demand = [this] {
    for (const auto& worker : workers_) worker->Nudge();
  };
  context.attend = [this](std::shared_ptr<DirectSession> session, uint64_t attendance, int fd) {
    if (workers_.empty()) {
      close(fd);
      return false;
    }
    // The busiest worker has most of the records, and so of the acknowledgments.
    const auto busiest =
        std::max_element(workers_.begin(), workers_.end(), [](const auto& one, const auto& other) {
          return one->load().busy() < other->load().busy();
        });
    return (*busiest)->Attend(std::move(session), attendance, fd);
  };
  context.save = save_;
  context.disk_counts = &disk_counts_;
  context.limits = limits_;
  context.selection = selection_;
  context.epoch = options_.epoch;
  if (save_.log) {
    context.ledger = store_.ledger();
    context.dead_letters = store_.dead_letters();
  }
  context.on_due = [this](int64_t due_us) { store_.WakeAt(due_us); };
  context.wake_log = [this] { store_.Wake(); };
  context.wake_log_again = [this] { store_.WakeAgain(); };
  context.on_full = [this](uint8_t record_class) { MakeRoom(lanes_.All(), budget_, record_class); };
  return context;
}

void Engine::OnDone(const Batch& batch, bool delivered) {
  if (batch.ticket != 0) Complete({{batch.ticket, delivered}});
}

void Engine::Complete(const std::vector<Completion>& completions) {
  {
    const std::lock_guard<std::mutex> lock(completions_mutex_);
    completions_.insert(completions_.end(), completions.begin(), completions.end());
  }
  bell_->Ring();
}

void Engine::Return(size_t worker, std::vector<Receipt> receipts) {
  if (worker < workers_.size()) workers_[worker]->receipts().Return(std::move(receipts));
}

void Engine::Withhold(size_t worker, std::vector<Receipt> receipts) {
  if (worker < workers_.size()) workers_[worker]->receipts().Withhold(receipts);
}

void Engine::OnRoom() {
  if (throttle_.Relax()) ResumeWorkers();
}

void Engine::ResumeWorkers() {
  for (const auto& worker : workers_) worker->Resume();
}

// Returns true if no record waits for a time.
bool Engine::Sweep() {
  const int64_t now = MonotonicUs();
  for (const auto& lanes : lanes_.All()) lanes->Sweep(now);
  exchange_.Tick(now);
  const auto backlog = store_.ledger()->sums().backlog;
  return budget_.held() == 0 && !slowed() &&
         std::all_of(backlog.begin(), backlog.end(), [](int64_t records) { return records == 0; });
}

void Engine::EndUnfinished() {
  const auto most =
      std::max_element(workers_.begin(), workers_.end(), [](const auto& one, const auto& other) {
        return one->unfinished().bytes() < other->unfinished().bytes();
      });
  (*most)->EndUnfinished();
}

uint32_t Engine::WorkerOf(std::string_view device) const {
  return exchange_.placement().WorkerOf(device);
}

// To be held from the call of WorkerOf until the item is in that worker's queue.
std::unique_lock<std::mutex> Engine::Route() {
  return exchange_.active() ? std::unique_lock(exchange_.routes()) : std::unique_lock<std::mutex>();
}

std::vector<WorkerInfo> Engine::Workers() const {
  std::vector<uint32_t> slots(workers_.size());
  for (uint32_t slot = 0; slot < Placement::kSlots && !slots.empty(); ++slot) {
    ++slots[exchange_.placement().Owner(slot)];
  }
  const int64_t now = MonotonicUs();
  std::vector<WorkerInfo> infos;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = *workers_[i];
    const int64_t silent_us = std::max<int64_t>(0, now - worker.load().measured_us());
    infos.push_back({i, worker.tid(), worker.cpu(), worker.pin_error(), exchange_.capacity(i),
                     slots[i], worker.load().busy(), worker.load().connections(), silent_us});
  }
  return infos;
}

std::array<int64_t, kClasses + 1> Engine::Sum(
    std::array<SingleWriter, kClassSlots> CounterBlock::*of) {
  std::array<int64_t, kClasses + 1> sums{};
  for (const auto& lanes : lanes_.All()) {
    const CounterBlock& block = lanes->counters();
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += (block.*of)[c].Get();
  }
  return sums;
}

std::array<int64_t, kClasses + 1> Engine::Delivered() { return Sum(&CounterBlock::delivered); }

std::array<int64_t, kClasses + 1> Engine::Late() { return Sum(&CounterBlock::late); }

void Engine::ReadCounters(std::array<uint64_t, kCounters>* counters,
                          std::array<std::array<uint64_t, kClassSlots>, kDrops>* drops,
                          std::array<uint64_t, kCloseReasonCount>* close_reasons) {
  *counters = {};
  *drops = {};
  *close_reasons = {};
  const auto add_block = [&](const CounterBlock& block) {
    for (size_t i = 0; i < kCounters; ++i) (*counters)[i] += block.counters[i].Get();
    for (size_t d = 0; d < kDrops; ++d) {
      for (size_t c = 0; c < kClassSlots; ++c) (*drops)[d][c] += block.drops[d][c].Get();
    }
  };
  const auto add_reasons = [&](const CloseReasonCounters& reasons) {
    for (size_t i = 0; i < reasons.size(); ++i) (*close_reasons)[i] += reasons[i].Get();
  };
  for (const auto& worker : workers_) {
    add_block(worker->counters());
    add_reasons(worker->close_reasons());
  }
  if (acceptor_) {
    add_block(acceptor_->counters());
    add_reasons(acceptor_->close_reasons());
  }
  for (const auto& lanes : lanes_.All()) add_block(lanes->counters());
  add_block(store_.counters());
}

}  // namespace seganet

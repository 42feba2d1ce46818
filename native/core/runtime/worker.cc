#include "core/runtime/worker.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/devices/coap_agent_session.h"
#include "core/devices/mqtt_agent_session.h"
#include "core/loop/poll_handle.h"

namespace seganet {
namespace {

constexpr size_t kReadBufferBytes = 16'384;
constexpr size_t kModeratedDevices = 32;

}  // namespace

Worker::Worker(const WorkerOptions& options, const WorkerShared& shared)
    : options_(options),
      shared_(shared),
      messages_(options.ring_bytes),
      values_(options.values, static_cast<uint32_t>(options.index), shared.values, &counters_),
      devices_(options.max_devices, shared.devices, shared.identities),
      receipts_({.thread = this,
                 .worker = static_cast<uint32_t>(options.index),
                 .deferred = shared.deferred,
                 .budget = shared.budget,
                 .kept_memory = shared.kept,
                 .kept = &kept_,
                 .devices = &devices_}),
      pipeline_(PipelineContext{options.index, shared.budget, &counters_, &messages_,
                                shared.message_bell, shared.devices, options.linger_us,
                                receipts_.deferred(), receipts_.windows(), shared.windows, &now_}),
      pauses_(shared.throttle, shared.deferred, &pipeline_, &counters_),
      presence_(
          static_cast<uint32_t>(options.index), shared.events, &counters_,
          [this](Device* device, std::string_view topic, std::string_view payload) {
            Emit({device->id, device->stage, std::string(topic), std::string(payload), kFlagQos1});
          }),
      commands_(shared.commands, (uint64_t{options.index} << 48) + 1),
      wills_(shared.kept, [this](const WillRecord& will) { Emit(will); }),
      kept_(
          options.max_kept, shared.kept,
          [this](const std::string& device) {
            commands_.Gone(device);
            wills_.SessionEnded(device);
            receipts_.late().Drop(device);
          },
          [this](uint64_t id) { return !commands_.Has(id); }),
      offers_({.worker = static_cast<uint32_t>(options.index),
               .outbox = shared.sessions,
               .kept = &kept_,
               .devices = &devices_,
               .commands = &commands_}),
      fanout_({.subscribers = shared.subscribers,
               .counters = &counters_,
               .wake = shared.wake_subscribers}),
      value_sender_(
          {.thread = this, .values = &values_, .fanout = &fanout_, .pipeline = &pipeline_}),
      setups_(options.max_packet_bytes, options.odd_topics),
      desk_(this, {.thread = this,
                   .worker = static_cast<uint32_t>(options.index),
                   .workers = static_cast<uint32_t>(options.workers),
                   .max_packet_bytes = options.max_packet_bytes,
                   .desk = shared.desk,
                   .counters = &counters_,
                   .now = &now_,
                   .devices = &devices_,
                   .setups = &setups_,
                   .adopting = &adopting_,
                   .connections = shared.connections,
                   .arrive = shared.desk_arrive,
                   .at_worker = shared.at_forwarding}),
      read_buffer_(kReadBufferBytes),
      pushed_({.thread = this,
               .ring_bytes = options.ring_bytes,
               .acknowledge_at_once = options.acknowledge_at_once,
               .complete = shared.complete,
               .nap = &nap_,
               .now = &now_,
               .counters = &counters_,
               .pipeline = &pipeline_,
               .pauses = &pauses_,
               .devices = &devices_,
               .values = &values_,
               .receipts = &receipts_.table(),
               .fanout = &fanout_,
               .exchange = shared.exchange,
               .mover = &mover_}),
      wheel_(MonotonicUs()),
      unfinished_(shared.unfinished, options.unfinished_us),
      moderation_(options.wake_interval_us),
      mover_({.thread = this,
              .worker = static_cast<uint32_t>(options.index),
              .exchange = shared.exchange,
              .transfer = this,
              .agents = &agents_,
              .adopting = &adopting_,
              .now = &now_,
              .pushed = &pushed_,
              .messages = &messages_,
              .pipeline = &pipeline_,
              .pauses = &pauses_,
              .devices = &devices_,
              .values = &values_,
              .kept = &kept_,
              .wills = &wills_,
              .commands = &commands_,
              .late = &receipts_.late(),
              .desk = &desk_}),
      datagrams_({.thread = this,
                  .loop = loop(),
                  .options = &options_,
                  .shared = &shared_,
                  .counters = &counters_,
                  .now = &now_,
                  .pipeline = &pipeline_,
                  .pauses = &pauses_,
                  .mover = &mover_,
                  .devices = &devices_,
                  .values = &values_,
                  .presence = &presence_,
                  .commands = &commands_,
                  .receipts = &receipts_.table(),
                  .fanout = &fanout_}) {
  commands_.Add(&agent_commands_);
}

Worker::~Worker() { Stop(); }

void Worker::OnStart() {
  uv_timer_init(loop(), &deadline_timer_);
  deadline_timer_.data = this;
  sweep_timer_.Start(loop());
  load_.Begin(MonotonicUs());
  // Once per turn of the loop, not once per record.
  uv_prepare_init(loop(), &before_poll_);
  before_poll_.data = this;
  uv_prepare_start(&before_poll_, [](uv_prepare_t* handle) {
    auto* self = static_cast<Worker*>(handle->data);
    self->clock_reads_ = 0;
    // Before a bridge moves.
    if (self->reports_behind_) self->ReportBehind();
    if (!self->mover_.empty()) self->mover_.Try();
    self->pipeline_.EndTurn(MonotonicUs());
    if (self->kept_.saves().waiting() > 0) self->offers_.OfferDue();
    self->receipts_.EndTurn();
    // Answers and requests that reads of this turn forwarded leave together.
    self->desk_.Flush();
    if (!self->fanout_.idle()) self->fanout_.EndTurn(MonotonicUs());
    self->attended_.EndTurn();
    self->Moderate();
    self->ArmTimer();
    self->sweep_timer_.EndTurn();
  });
}

void Worker::OnStop() {
  pushed_.Drain();
  pipeline_.EndWindows(0, nullptr, MonotonicUs());
  pipeline_.Flush(0, SealReason::kFlush);
  // Devices get the acknowledgements of safe records before their connections end.
  receipts_.Serve();
  attended_.Close();
  // Presence and will records would be dropped, and nothing reads events anymore.
  presence_.Mute();
  wills_.Mute();
  desk_.EndAsks();
  const std::vector<Agent*> agents(agents_.begin(), agents_.end());
  for (Agent* agent : agents) agent->Close(AgentEnd::kStopped);
  lingering_.CloseAll();
  datagrams_.Close(0);
  commands_.AllGone();
  uv_close(Handle(&deadline_timer_), nullptr);
  sweep_timer_.Close();
  uv_close(Handle(&before_poll_), nullptr);
}

bool Worker::Attend(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd) {
  // Shared, because a task can be copied.
  auto offer = std::make_shared<AttendedSessions::Offer>(std::move(session), attendance, fd);
  return Post([this, offer = std::move(offer)] { attended_.Add(offer.get()); });
}

void Worker::Adopt(Handoff handoff) {
  const int fd = handoff.fd;
  const uint64_t connection = handoff.connection;
  adopting_.fetch_add(1, std::memory_order_relaxed);
  auto task = [this, handoff = std::move(handoff)] {
    adopting_.fetch_sub(1, std::memory_order_relaxed);
    now_ = Now::Read();
    // Before the device subscribes.
    if (offers_.IsOutdated()) offers_.Serve();
    auto* agent = new Agent(this, loop(), handoff.fd, handoff.stage, handoff.device,
                            handoff.address, handoff.proven);
    agents_.insert(agent);
    receipts_.table().Enroll(agent);
    Register(agent);
    agent->SetSession(handoff.desk ? desk_.MakeSession(agent, handoff)
                                   : MakeSession(agent, handoff));
    OnRead(handoff.bytes.size());
    wheel_.Add(agent, now_.mono_us);
    if (!mover_.empty()) mover_.Freeze(agent);
    agent->Start(handoff.bytes);
  };
  if (!Post(std::move(task))) {
    adopting_.fetch_sub(1, std::memory_order_relaxed);
    close(fd);
    shared_.connections->fetch_sub(1, std::memory_order_relaxed);
    if (connection != 0) shared_.desk->Close(connection, {}, {});
  }
}

std::unique_ptr<AgentSession> Worker::MakeSession(Agent* agent, const Handoff& handoff) {
  const SourceSettings& source = agent->source();
  if (source.protocol == Protocol::kCoap) {
    return std::make_unique<CoapAgentSession>(agent->owner(),
                                              setups_.Get(agent->stage(), source, nullptr),
                                              handoff.device, handoff.answered);
  }
  auto session = std::make_unique<MqttAgentSession>(
      agent->owner(), MqttLimitsOf(source, options_.max_packet_bytes, options_.odd_topics), &kept_,
      &wills_, shared_.subscribers);
  if (handoff.made_up_id) session->SetAssignedId(std::string(NameAt(source, handoff.device)));
  return session;
}

void Worker::JoinIdentities() {
  Call([this] { devices_.JoinAll(); });
}

void Worker::SetPlan(std::shared_ptr<const Plan> plan) {
  Call([this, &plan] {
    // Records that push() accepted have stage ids of the old plan.
    pushed_.Drain();
    // Wills of a stage that leaves have no route in the new plan.
    wills_.PublishOf([&plan](uint32_t stage) { return plan->Find(stage) == nullptr; });
    const std::shared_ptr<const Plan> before = pipeline_.shared_plan();
    pipeline_.SetPlan(std::move(plan), MonotonicUs());
    datagrams_.OnPlan();
    setups_.Clear();
    RegisterAll(*before);
  });
}

void Worker::Flush(uint32_t stage) {
  Post([this, stage] {
    pushed_.Drain();
    pipeline_.EndWindows(stage, nullptr, MonotonicUs());
    pipeline_.Flush(stage, SealReason::kFlush);
  });
}

void Worker::CloseStage(uint32_t stage) {
  Call([this, stage] {
    const std::vector<Agent*> agents(agents_.begin(), agents_.end());
    for (Agent* agent : agents) {
      if (agent->stage() == stage) agent->Close(AgentEnd::kStopped);
    }
    devices_.Update([this, stage](Device* device) {
      if (device->proven_at != stage) return;
      device->proven_at = 0;
      devices_.UpdateOwn(device);
    });
    datagrams_.Close(stage);
  });
}

void Worker::StopReading() {
  Call([this] {
    pauses_.Stop();
    wills_.PublishAll();
    // [MQTT-3.1.2-8] The gateway is about to close these connections, without a DISCONNECT of the
    // device. Their records need the pipeline, which is gone when the connections end.
    for (Agent* agent : agents_) {
      if (agent->connected()) agent->session().PublishWill();
    }
    datagrams_.StopReading();
  });
}

void Worker::HoldReading(bool hold) {
  Call([this, hold] {
    pauses_.Hold(hold);
    pauses_.Resume();
  });
}

void Worker::Resume() {
  Post([this] { pauses_.Resume(); });
}

void Worker::SaveSessions() {
  Call([this] {
    // QoS 2 identifiers whose records are safe by now are part of the sessions.
    receipts_.Serve();
    offers_.OfferLast(agents_);
  });
}

void Worker::RestoreSessions(std::vector<RestoredSession> sessions) {
  Post([this, shared = std::make_shared<std::vector<RestoredSession>>(std::move(sessions))] {
    offers_.Restore(std::move(*shared));
  });
}

void Worker::ServeSubscribers(SubscriberList list) {
  Post([this, list = std::move(list)] {
    for (const std::shared_ptr<Subscriber>& each : list) {
      Agent* const agent = each->AgentAt(static_cast<uint32_t>(options_.index));
      if (agent != nullptr) agent->TakeRecords();
    }
  });
}

void Worker::SendValues(std::shared_ptr<LastValueRequest> request) {
  Post([this, request = std::move(request)] { value_sender_.Add(request); });
}

void Worker::OnValuesAsked(const std::shared_ptr<const Interest>& interest) {
  if (options_.values.memory_mib == 0) return;
  shared_.send_values(std::make_shared<LastValueRequest>(interest));
}

void Worker::StartCommand(Command command) {
  const uint32_t ticket = command.ticket;
  const size_t bytes = command.bytes();
  if (!Post([this, command = std::move(command)] {
        // The device moved to another worker while the command was in the queue.
        if (shared_.exchange->placement().WorkerOf(command.connection()) != options_.index) {
          shared_.exchange->Forward(command);
        } else {
          commands_.Start(command);
        }
      })) {
    shared_.commands->End(ticket, CommandEnd::kGone, bytes);
  }
}

bool Worker::DismissDevice(std::string_view id, const std::optional<std::string>& server) {
  bool has_connection = false;
  Call([&] {
    const Device* const device = devices_.Find(id);
    has_connection = device != nullptr && device->agent != nullptr;
    if (!has_connection) return;
    if (server) device->agent->session().Redirect(*server);
    device->agent->Close(AgentEnd::kDismissed);
  });
  return has_connection;
}

bool Worker::TakeOverDevice(std::string_view id) {
  bool has_connection = false;
  Call([&] {
    const Device* const device = devices_.Find(id);
    has_connection = device != nullptr && device->agent != nullptr;
    if (!has_connection) return;
    counters_.Add(Counter::kTakeOvers);
    device->agent->Close(AgentEnd::kTakenOver);
  });
  return has_connection;
}

std::vector<AgentInfo> Worker::Agents(const std::string& after, size_t limit) {
  std::vector<AgentInfo> agents;
  Call([&] {
    agents =
        ListAgents(devices_, after, limit, static_cast<uint32_t>(options_.index), MonotonicUs());
  });
  return agents;
}

bool Worker::WithValues(const std::function<void(LastValues*, const Now&)>& task) {
  return Call([&] { task(&values_, Now::Read()); });
}

size_t Worker::RestoreValues(const std::vector<ValueRow>& rows) {
  size_t restored = 0;
  Call([&] {
    const int64_t now_us = MonotonicUs();
    for (const ValueRow& row : rows) {
      Device* device = devices_.Find(row.device);
      // Devices that are heard need the rows more.
      if (device == nullptr && !devices_.is_full()) device = devices_.Get(row.device, 0);
      if (device == nullptr || !values_.Restore(device, row, now_us)) return;
      ++restored;
    }
  });
  return restored;
}

size_t Worker::TakeMessages(char* to, size_t capacity) {
  size_t used = 0;
  for (std::string_view frame = messages_.Front(); frame.data() != nullptr;
       frame = messages_.Front()) {
    if (frame.size() > capacity - used) break;
    std::memcpy(to + used, frame.data(), frame.size());
    used += frame.size();
    messages_.Pop();
  }
  if (used > 0 && pauses_.waits_for_messages() && messages_.used() < messages_.capacity() / 4) {
    Wake();
  }
  return used;
}

void Worker::OnWake() {
  moderation_.Count();
  nap_.Begin();
  receipts_.Serve();
  offers_.Serve();
  pushed_.Serve();
  pauses_.Resume();
  pauses_.ResumeAfterFlow();
  value_sender_.Serve();
}

// Naps if that saves wake-ups. With few devices, no record is delayed. Data of an urgent device
// ends the nap.
void Worker::Moderate() {
  // A peer waits for the answer to a forwarded request, and for nothing else.
  const bool may = !std::exchange(unread_, false) && !desk_.forwarding().is_busy() &&
                   agents_.size() >= kModeratedDevices;
  const int64_t now = MonotonicUs();
  const int64_t nap_us = moderation_.NapUs(now, may);
  if (nap_us == 0) return;
  const int64_t slept_us = nap_.Sleep(nap_us);
  if (slept_us >= nap_us) return;
  counters_.Add(Counter::kNapsEnded);
  moderation_.WokeAt(now + slept_us);
}

void Worker::ArmTimer() {
  const int64_t deadline = std::min({pipeline_.NextDeadline(), pauses_.NextDeadline(),
                                     fanout_.NextDeadline(), value_sender_.NextDeadline()});
  if (deadline >= armed_us_) return;
  armed_us_ = deadline;
  const int64_t wait_us = std::max<int64_t>(0, deadline - MonotonicUs());
  uv_timer_start(
      &deadline_timer_, [](uv_timer_t* timer) { static_cast<Worker*>(timer->data)->OnTime(); },
      static_cast<uint64_t>(wait_us + 999) / 1000, 0);
}

void Worker::OnTime() {
  armed_us_ = kNever;
  const int64_t now = MonotonicUs();
  pipeline_.OnTime(now);
  pauses_.ResumeRated(now);
  value_sender_.Serve();
}

// Returns true if nothing waits for the next sweep.
bool Worker::Sweep() {
  const int64_t now = MonotonicUs();
  load_.Measure(now, agents_.size());
  wheel_.Turn(now, [now](TimeWheel::Item* item) { return static_cast<Agent*>(item)->OnTime(now); });
  lingering_.Sweep(now);
  devices_.Sweep(now);
  values_.Sweep();
  commands_.Expire(now);
  desk_.Sweep(now);
  wills_.OnTime(now);
  kept_.Expire(now);
  offers_.OfferDue();
  datagrams_.KeepReading();
  for (Agent* agent : unfinished_.TooSlow(now)) agent->CloseUnfinished();
  urgent_.Sweep(now);
  // If the records that filled a class leave before the class is marked as full, nothing else
  // resumes its devices (Throttle).
  if (shared_.throttle->Relax()) shared_.resume();
  receipts_.Serve();
  pushed_.Serve();
  pauses_.Resume();
  pauses_.ResumeAfterFlow();
  return IsStill();
}

// Returns true if no device waits for a time that is shorter than some seconds.
bool Worker::IsStill() const {
  return pauses_.IsStill() && mover_.empty() && lingering_.waiting() == 0 &&
         unfinished_.bytes() == 0 && datagrams_.empty() && desk_.empty() &&
         shared_.throttle->slowed_from() == 0;
}

}  // namespace seganet

#include "core/runtime/datagram_endpoints.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "core/base/jenkins.h"
#include "core/devices/agent.h"
#include "core/devices/coap_convert.h"
#include "core/reception/coap_listener_settings.h"

namespace seganet {
namespace {

// Limit for datagrams in flight from other workers. A worker that cannot keep up loses the excess,
// as its socket would.
constexpr size_t kMaxCrossedBytes = 4u << 20;
constexpr uint32_t kFullRetryS = 2;         // the uplink frees memory continuously
constexpr uint32_t kNoDeviceRetryS = 60;    // until some device has been silent for this long
constexpr uint32_t kRowsPerConnection = 4;  // WorkerOptions::max_devices

size_t BytesOf(const CrossedDatagrams& datagrams) {
  return datagrams.bytes.size() + datagrams.entries.size() * sizeof(CrossedDatagrams::Entry);
}

}  // namespace

Status DatagramEndpoints::Open(uint32_t stage, int fd, const DatagramSpec& spec) {
  int error = UV_ECANCELED;  // the thread has ended
  const bool runs = context_.thread->Call([&] {
    CoapEndpointOptions options;
    options.stage = stage;
    options.worker = static_cast<uint32_t>(context_.options->index);
    options.workers = static_cast<uint32_t>(context_.options->workers);
    options.settings =
        CoapSettings(context_.pipeline->plan().SettingsOf(stage),
                     context_.options->max_packet_bytes, context_.options->odd_topics);
    options.limits =
        CoapLimits(options.settings, context_.options->max_devices / kRowsPerConnection);
    options.seed = spec.seed;
    options.dtls = spec.dtls;
    options.dtls_limits = spec.dtls_limits;
    options.cookie_secret = spec.cookie_secret;
    options.settings.proven_addresses = spec.dtls != nullptr;
    auto* endpoint = new CoapEndpoint(this, context_.loop, fd, context_.counters, options);
    error = endpoint->error();
    if (error != 0) {
      endpoint->Close();
      return;
    }
    context_.receipts->Enroll(endpoint);
    context_.commands->Add(endpoint);
    endpoints_[stage] = endpoint;
    if (context_.pauses->stopped()) endpoint->StopReading();
  });
  if (!runs) close(fd);
  if (error == 0) return {};
  return Status::System(std::string("cannot watch the port: ") + uv_strerror(error), -error);
}

void DatagramEndpoints::RenewDtls(uint32_t stage, std::shared_ptr<const DtlsContext> context) {
  context_.thread->Post([this, stage, context = std::move(context)] {
    const auto it = endpoints_.find(stage);
    if (it != endpoints_.end()) it->second->RenewDtls(context);
  });
}

void DatagramEndpoints::Close(uint32_t stage) {
  for (auto it = endpoints_.begin(); it != endpoints_.end();) {
    if (stage != 0 && it->first != stage) {
      ++it;
      continue;
    }
    CoapEndpoint* const endpoint = it->second;
    context_.devices->Update([&](Device* device) {
      if (!device->observing || !endpoint->Listens(device->id)) return;
      device->observing = ObservesElsewhere(endpoint, device->id);
      context_.devices->UpdateOwn(device);
      context_.commands->Gone(device->id);
    });
    context_.commands->Remove(endpoint);
    context_.receipts->Leave(endpoint);
    endpoint->Close();
    it = endpoints_.erase(it);
  }
}

void DatagramEndpoints::StopReading() {
  for (const auto& [stage, endpoint] : endpoints_) endpoint->StopReading();
}

void DatagramEndpoints::KeepReading() {
  if (context_.pauses->stopped()) return;
  for (const auto& [stage, endpoint] : endpoints_) endpoint->KeepReading();
}

bool DatagramEndpoints::Take(uint32_t stage, CrossedDatagrams datagrams) {
  const size_t bytes = BytesOf(datagrams);
  if (crossed_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMaxCrossedBytes) {
    crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  const bool runs = context_.thread->Post([this, stage, bytes, datagrams = std::move(datagrams)] {
    crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    const auto it = endpoints_.find(stage);
    if (it != endpoints_.end() && !context_.pauses->stopped()) it->second->OnCrossed(datagrams);
  });
  if (!runs) crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return runs;
}

void DatagramEndpoints::Cross(uint32_t worker, uint32_t stage, CrossedDatagrams datagrams) {
  const size_t count = datagrams.entries.size();
  const bool taken = context_.shared->cross(worker, stage, std::move(datagrams));
  context_.counters->Add(taken ? Counter::kDatagramsCrossed : Counter::kDatagramsLost, count);
}

uint32_t DatagramEndpoints::OwnerOf(std::string_view device) {
  return context_.shared->exchange->placement().WorkerOf(device);
}

void DatagramEndpoints::OnDatagrams(size_t datagrams, size_t bytes) {
  *context_.now = Now::Read();
  if (datagrams == 0) return;
  context_.counters->Add(Counter::kReads);
  context_.counters->Add(Counter::kDatagrams, datagrams);
  context_.counters->Add(Counter::kBytesReceived, bytes);
}

// Returns the device's row, with the registration at this source. Returns nullptr if there is no
// room for the device, or if it is about to arrive from another worker or has just left.
Device* DatagramEndpoints::Locate(CoapEndpoint* endpoint, std::string_view id) {
  Device* device =
      context_.mover->Owns(id) ? context_.devices->Get(id, context_.now->mono_us) : nullptr;
  if (device == nullptr) return nullptr;
  const uint32_t stage = endpoint->stage();
  if (device->registered_in != plan_number_ || device->registered_at != stage) {
    const Plan& plan = context_.pipeline->plan();
    const auto registered = plan.DevicesOf(stage);
    device->registered_class = registered == nullptr ? 0 : registered->Of(id);
    const SourceSettings& source = plan.SettingsOf(stage);
    device->permissions = DevicePermissions::Of(source.permissions, id, NameAt(source, id));
    device->registered_in = plan_number_;
    device->registered_at = stage;
  }
  return device;
}

// Records that the device is present at the current peer address.
void DatagramEndpoints::Arrive(CoapEndpoint* endpoint, Device* device) {
  if (!device->counted) context_.counters->Add(Counter::kDevicesConnected);
  context_.devices->Count(device, context_.now->mono_us);
  device->stage = endpoint->stage();
  const coap::Peer* peer = endpoint->at_hand();
  if (peer == nullptr) return;
  const uint32_t hash = JenkinsHash(peer->text(), 0);
  if (hash == device->far_end_hash && !device->address.empty()) return;
  device->far_end_hash = hash;
  device->address = FarEnd(DtlsServer::IsSession(*peer) ? DtlsServer::AddressOf(*peer) : *peer);
}

// True if the datagram being processed may use this device id: it has proven it, or nothing has.
bool DatagramEndpoints::MayServe(CoapEndpoint* endpoint, Device* device) {
  if (!endpoint->proves()) return device->proven_at == 0;
  if (std::exchange(device->proven_at, endpoint->stage()) == 0) context_.devices->UpdateOwn(device);
  // A connection that has proven nothing ends, as in Worker::OnConnect().
  if (device->agent != nullptr && !device->agent->proven()) {
    context_.counters->Add(Counter::kTakeOvers);
    device->agent->Close(AgentEnd::kTakenOver);
  }
  return true;
}

RecordAnswer DatagramEndpoints::Admit(CoapEndpoint* endpoint, Device* device,
                                      const SourceSettings& source,
                                      const coap::Incoming& incoming) {
  if (!MayServe(endpoint, device) ||
      (device->permissions && !device->permissions->MayPublish(incoming.topic))) {
    context_.counters->Add(Counter::kNotAllowed);
    return {.verdict = RecordAnswer::Verdict::kNotAllowed};
  }
  const TokenRate rate{source.rate, source.burst};
  if (const int64_t wait_us = device->bucket.WaitUs(rate, context_.now->mono_us); wait_us > 0) {
    context_.counters->Add(Counter::kThrottled);
    return {.verdict = RecordAnswer::Verdict::kTooFast,
            .retry_s = static_cast<uint32_t>((wait_us + 999'999) / 1'000'000)};
  }
  // The class that the record will probably get: as in ReadPauses::MayRead, unless the device names
  // it.
  uint8_t c = incoming.record_class;
  if (c == 0) c = device->latest_class;
  if (c == 0) c = device->registered_class;
  if (c == 0) c = kCritical;
  if (!context_.pauses->HasRoomFor(c) || context_.pauses->WaitsForFlow(source)) {
    return {.verdict = RecordAnswer::Verdict::kFull, .retry_s = kFullRetryS};
  }
  device->bucket.Pay(rate, context_.now->mono_us);
  return {};
}

RecordAnswer DatagramEndpoints::OnDatagramRecord(CoapEndpoint* endpoint,
                                                 const coap::Incoming& incoming) {
  Device* device = Locate(endpoint, incoming.device);
  if (device == nullptr) {
    context_.counters->Add(Counter::kConnectionsRefused);
    const uint32_t retry_s = context_.mover->Owns(incoming.device) ? kNoDeviceRetryS : kFullRetryS;
    return {.verdict = RecordAnswer::Verdict::kFull, .retry_s = retry_s};
  }
  const SourceSettings& source = context_.pipeline->plan().SettingsOf(endpoint->stage());
  const RecordAnswer admitted = Admit(endpoint, device, source, incoming);
  if (admitted.verdict != RecordAnswer::Verdict::kNotAllowed) Arrive(endpoint, device);
  if (admitted.verdict != RecordAnswer::Verdict::kTaken) return admitted;

  Record record;
  record.device = device->id;
  record.topic = incoming.topic;
  record.payload = incoming.payload;
  if (incoming.record_class != 0) {
    record.record_class = incoming.record_class;
  } else if (device->registered_class != 0) {
    record.record_class = device->registered_class;
  }
  record.flags = incoming.confirmable ? kFlagQos1 : 0;
  record.seq = device->TakeSeq();
  record.ts_ms = context_.now->wall_ms;
  record.arrived_us = context_.now->mono_us;
  context_.counters->Add(Counter::kRecordsReceived);
  const bool waits = !context_.options->acknowledge_at_once && incoming.handle != 0;
  if (waits) record.receipt = endpoint->ReceiptFor(incoming.handle);
  if (source.delivered && incoming.handle != 0) {
    record.deferred = endpoint->ReceiptFor(incoming.handle);
  }
  const Passage passage = context_.pipeline->Run(endpoint->stage(), record);
  record.record_class = passage.record_class;
  context_.shared->exchange->CountRecord(device->slot);
  device->CountRecord(endpoint->stage(), record.record_class, record.payload.size(),
                      context_.now->mono_us);
  context_.values->Keep(device, record);
  if (!passage.taken) return AnswerOf(passage.untaken, kNotTakenRetryS);
  context_.fanout->OnRecord(source, record, context_.now->mono_us);
  return {.copies = (waits ? passage.copies : 0) + passage.deferred};
}

bool DatagramEndpoints::MayObserve(CoapEndpoint* endpoint, std::string_view id) {
  Device* device = Locate(endpoint, id);
  if (device == nullptr) return false;
  if (MayServe(endpoint, device)) {
    if (!device->permissions) return true;
    const SourceSettings& source = context_.pipeline->plan().SettingsOf(endpoint->stage());
    const std::string filter = CoapCommandFilter(NameAt(source, id));
    if (!filter.empty() && device->permissions->MaySubscribe(filter)) return true;
  }
  context_.counters->Add(Counter::kNotAllowed);
  return false;
}

void DatagramEndpoints::OnObserved(CoapEndpoint* endpoint, std::string_view id, bool on) {
  Device* device =
      on ? context_.devices->Get(id, context_.now->mono_us) : context_.devices->Find(id);
  if (device == nullptr) return;
  if (on) {
    Arrive(endpoint, device);
    device->observing = true;
    context_.devices->UpdateOwn(device);
    context_.presence->Listening(device);
    return;
  }
  device->observing = ObservesElsewhere(endpoint, id);
  context_.devices->UpdateOwn(device);
  device->last_seen_us = context_.now->mono_us;
}

bool DatagramEndpoints::ObservesElsewhere(const CoapEndpoint* except,
                                          std::string_view device) const {
  for (const auto& [stage, endpoint] : endpoints_) {
    if (endpoint != except && endpoint->Listens(device)) return true;
  }
  return false;
}

bool DatagramEndpoints::IsAt(CoapEndpoint* endpoint, std::string_view id) {
  const Device* device = context_.devices->Find(id);
  return device != nullptr && device->counted && device->stage == endpoint->stage();
}

bool DatagramEndpoints::IsProven(std::string_view id) {
  const Device* device = context_.devices->Find(id);
  return device != nullptr && device->proven_at != 0;
}

void DatagramEndpoints::OnDatagramCommandAnswer(uint64_t id, uint8_t result) {
  if (result == coap::kCommandLost) {
    context_.commands->Lost(id);
  } else {
    context_.commands->Answer(id, result == coap::kCommandTaken);
  }
}

}  // namespace seganet

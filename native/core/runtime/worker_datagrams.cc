// Worker: devices that speak CoAP over UDP.

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/base/jenkins.h"
#include "core/runtime/coap_words.h"
#include "core/runtime/worker.h"

namespace seganet {
namespace {

// Of datagrams on their way from other workers: a worker that cannot keep up loses what is over,
// as its socket would.
constexpr size_t kMaxCrossedBytes = 4u << 20;
constexpr uint32_t kFullRetryS = 2;       // memory empties as fast as the uplink sends
constexpr uint32_t kNoDeviceRetryS = 60;  // until some device has been silent for so long
constexpr uint32_t kRowsAConnection = 4;  // WorkerOptions::max_devices

size_t BytesOf(const CrossedDatagrams& datagrams) {
  return datagrams.bytes.size() + datagrams.entries.size() * sizeof(CrossedDatagrams::Entry);
}

}  // namespace

void Worker::OpenDatagrams(uint32_t stage, int fd, uint64_t seed) {
  const bool runs = Call([=, this] {
    CoapEndpointOptions options;
    options.stage = stage;
    options.worker = static_cast<uint32_t>(options_.index);
    options.workers = static_cast<uint32_t>(options_.workers);
    options.settings = CoapSettings(pipeline_.plan().SettingsOf(stage), options_.max_packet_bytes);
    options.limits = CoapLimits(options.settings, options_.max_devices / kRowsAConnection);
    options.seed = seed;
    auto* endpoint = new CoapEndpoint(this, loop(), fd, &counters_, options);
    receipt_rows_.Enroll(endpoint);
    endpoints_[stage] = endpoint;
    if (!reading_) endpoint->StopReading();
  });
  if (!runs) close(fd);
}

// 0 = of all stages.
void Worker::CloseEndpoints(uint32_t stage) {
  for (auto it = endpoints_.begin(); it != endpoints_.end();) {
    if (stage != 0 && it->first != stage) {
      ++it;
      continue;
    }
    receipt_rows_.Leave(it->second);
    it->second->Close();
    it = endpoints_.erase(it);
  }
}

bool Worker::TakeDatagrams(uint32_t stage, CrossedDatagrams datagrams) {
  const size_t bytes = BytesOf(datagrams);
  if (crossed_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMaxCrossedBytes) {
    crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  const bool runs = Post([this, stage, bytes, datagrams = std::move(datagrams)] {
    crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    const auto it = endpoints_.find(stage);
    if (it != endpoints_.end() && reading_) it->second->OnCrossed(datagrams);
  });
  if (!runs) crossed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return runs;
}

void Worker::Cross(uint32_t worker, uint32_t stage, CrossedDatagrams datagrams) {
  const size_t count = datagrams.entries.size();
  const bool taken = shared_.cross(worker, stage, std::move(datagrams));
  counters_.Add(taken ? Counter::kDatagramsCrossed : Counter::kDatagramsLost, count);
}

uint32_t Worker::OwnerOf(std::string_view device) {
  return WorkerFor(device, static_cast<uint32_t>(options_.workers));
}

void Worker::OnDatagrams(size_t datagrams, size_t bytes) {
  now_ = Now::Read();
  if (datagrams == 0) return;
  counters_.Add(Counter::kReads);
  counters_.Add(Counter::kDatagrams, datagrams);
  counters_.Add(Counter::kBytesReceived, bytes);
}

// A socket of datagrams is always read, because a device that is not answered sends again: what
// has no room is refused instead, with the time after which to try again.
RecordAnswer Worker::OnDatagramRecord(CoapEndpoint* endpoint, const coap::Incoming& incoming) {
  using Verdict = RecordAnswer::Verdict;
  const SourceSettings& source = pipeline_.plan().SettingsOf(endpoint->stage());
  Device* device = devices_.Get(incoming.device, now_.mono_us);
  if (device == nullptr) {
    counters_.Add(Counter::kConnectionsRefused);
    return {.verdict = Verdict::kFull, .retry_s = kNoDeviceRetryS};
  }
  const bool was_counted = device->counted;
  devices_.Count(device, now_.mono_us);
  if (!was_counted) counters_.Add(Counter::kDevicesConnected);
  const TokenRate rate{source.rate, source.burst};
  if (const int64_t wait_us = device->bucket.WaitUs(rate, now_.mono_us); wait_us > 0) {
    counters_.Add(Counter::kThrottled);
    return {.verdict = Verdict::kTooFast,
            .retry_s = static_cast<uint32_t>((wait_us + 999'999) / 1'000'000)};
  }
  if (!HasRoomFor(LikelyClass(*endpoint, device, incoming.record_class))) {
    return {.verdict = Verdict::kFull, .retry_s = kFullRetryS};
  }
  device->bucket.Pay(rate, now_.mono_us);

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
  record.seq = device->next_seq++;
  record.ts_ms = now_.wall_ms;
  record.arrived_us = now_.mono_us;
  counters_.Add(Counter::kRecordsReceived);
  const bool waits = !options_.acknowledge_at_once && incoming.slot != 0;
  if (waits) record.receipt = endpoint->ReceiptFor(incoming.slot);
  const Passage passage = pipeline_.Run(endpoint->stage(), record);
  device->latest_class = passage.record_class;
  return {.copies = waits ? passage.copies : 0};
}

// Which class this record will end with: as MayRead has it, unless the device says it.
uint8_t Worker::LikelyClass(const CoapEndpoint& endpoint, Device* device, uint8_t said) {
  auto registered_in = pipeline_.plan().DevicesOf(endpoint.stage());
  if (registered_in != device->registered_in) {
    device->registered_class = registered_in == nullptr ? 0 : registered_in->Of(device->id);
    device->registered_in = std::move(registered_in);
  }
  if (said != 0) return said;
  if (device->latest_class != 0) return device->latest_class;
  return device->registered_class != 0 ? device->registered_class : kCritical;
}

bool Worker::HasRoomFor(uint8_t record_class) {
  if (AllMustPause()) return false;
  const Throttle::Verdict verdict = shared_.throttle->MayGoOn(record_class);
  if (verdict == Throttle::Verdict::kBegins) counters_.Add(Counter::kSlowed);
  return verdict == Throttle::Verdict::kGoOn;
}

bool Worker::MayObserve(CoapEndpoint*, std::string_view) { return true; }

void Worker::OnObserved(CoapEndpoint*, std::string_view, bool) {}

void Worker::OnDatagramCommandAnswer(uint64_t, uint8_t) {}

}  // namespace seganet

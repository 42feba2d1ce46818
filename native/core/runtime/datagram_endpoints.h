// Devices that speak CoAP over UDP or DTLS, on one worker: a socket for each of their sources.
#ifndef SEGANET_CORE_RUNTIME_DATAGRAM_ENDPOINTS_H_
#define SEGANET_CORE_RUNTIME_DATAGRAM_ENDPOINTS_H_

#include <uv.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/base/status.h"
#include "core/devices/agent_session.h"
#include "core/devices/coap_endpoint.h"
#include "core/devices/command_table.h"
#include "core/devices/device_table.h"
#include "core/devices/presence.h"
#include "core/devices/receipt_table.h"
#include "core/dtls/dtls_context.h"
#include "core/dtls/dtls_server.h"
#include "core/loop/loop_thread.h"
#include "core/plan/pipeline.h"
#include "core/plan/plan.h"
#include "core/runtime/read_pauses.h"
#include "core/runtime/slot_mover.h"
#include "core/runtime/worker_options.h"

namespace seganet {

// How a source receives datagrams; the same on all workers.
struct DatagramSpec {
  uint64_t seed = 0;  // secret and random, as the next one
  HelloCookies::Secret cookie_secret{};
  std::shared_ptr<const DtlsContext> dtls;  // null = without DTLS
  DtlsLimits dtls_limits;                   // of one worker
};

// The dependencies of DatagramEndpoints. All objects outlive it.
struct DatagramEndpointsContext {
  LoopThread* thread;  // the worker
  uv_loop_t* loop;     // of the thread
  const WorkerOptions* options;
  const WorkerShared* shared;
  CounterBlock* counters;
  Now* now;  // time of the current turn
  Pipeline* pipeline;
  ReadPauses* pauses;
  const SlotMover* mover;
  DeviceTable* devices;
  LastValues* values;
  Presence* presence;
  CommandTable* commands;
  ReceiptTable* receipts;
  SubscriberFanout* fanout;
};

// A datagram socket is always read, because a device without an answer sends again. Records without
// room are refused instead, with a time to retry.
//
// Thread safety: Open, RenewDtls and Take from any thread; everything else from the worker's
// thread.
class DatagramEndpoints final : private CoapHost {
 public:
  explicit DatagramEndpoints(const DatagramEndpointsContext& context) : context_(context) {}
  DatagramEndpoints(const DatagramEndpoints&) = delete;
  DatagramEndpoints& operator=(const DatagramEndpoints&) = delete;

  // Takes ownership of a UDP socket of source stage `stage`. Returns an error if the socket cannot
  // be watched; it is closed then.
  Status Open(uint32_t stage, int fd, const DatagramSpec& spec);
  // Uses this context for new DTLS handshakes at the source.
  void RenewDtls(uint32_t stage, std::shared_ptr<const DtlsContext> context);
  // Processes datagrams of this worker's devices that another worker received. Returns false, and
  // drops them, if too many are in flight already.
  bool Take(uint32_t stage, CrossedDatagrams datagrams);

  // Closes the sockets of a source stage; 0 = of all stages.
  void Close(uint32_t stage);
  // Reads no socket any more. ReadPauses::Stop was called.
  void StopReading();
  // Reads sockets again whose reading an error ended. To be called several times a second.
  void KeepReading();
  // The pipeline has another plan: looks up the devices' registrations again.
  void OnPlan() { ++plan_number_; }
  bool empty() const { return endpoints_.empty(); }

 private:
  // CoapHost
  void OnDatagrams(size_t datagrams, size_t bytes) override;
  RecordAnswer OnDatagramRecord(CoapEndpoint* endpoint, const coap::Incoming& incoming) override;
  bool MayObserve(CoapEndpoint* endpoint, std::string_view device) override;
  void OnObserved(CoapEndpoint* endpoint, std::string_view device, bool on) override;
  bool IsAt(CoapEndpoint* endpoint, std::string_view device) override;
  bool IsProven(std::string_view device) override;
  void OnDatagramCommandAnswer(uint64_t id, uint8_t result) override;
  uint32_t OwnerOf(std::string_view device) override;
  void Cross(uint32_t worker, uint32_t stage, CrossedDatagrams datagrams) override;

  Device* Locate(CoapEndpoint* endpoint, std::string_view id);
  void Arrive(CoapEndpoint* endpoint, Device* device);
  bool ObservesElsewhere(const CoapEndpoint* except, std::string_view device) const;
  bool MayServe(CoapEndpoint* endpoint, Device* device);
  RecordAnswer Admit(CoapEndpoint* endpoint, Device* device, const SourceSettings& source,
                     const coap::Incoming& incoming);

  const DatagramEndpointsContext context_;
  std::unordered_map<uint32_t, CoapEndpoint*> endpoints_;  // by stage
  std::atomic<size_t> crossed_bytes_{0};                   // in flight from other workers
  uint32_t plan_number_ = 1;                               // number of the current plan
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DATAGRAM_ENDPOINTS_H_

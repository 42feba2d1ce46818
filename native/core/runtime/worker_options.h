// What an engine gives to its workers.
#ifndef SEGANET_CORE_RUNTIME_WORKER_OPTIONS_H_
#define SEGANET_CORE_RUNTIME_WORKER_OPTIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/doorbell.h"
#include "core/devices/coap_endpoint.h"
#include "core/devices/desk/request_desk.h"
#include "core/devices/device_events.h"
#include "core/devices/identities.h"
#include "core/devices/last_values.h"
#include "core/devices/pending_commands.h"
#include "core/devices/subscribers/subscriber_fanout.h"
#include "core/loop/memory_share.h"
#include "core/plan/windows.h"
#include "core/queue/budget.h"
#include "core/queue/throttle.h"
#include "core/record/receipt.h"
#include "core/record/record.h"
#include "core/runtime/last_value_sender.h"
#include "core/runtime/session_outbox.h"
#include "core/runtime/slot_moves.h"

namespace seganet {

struct WorkerOptions {
  size_t index = 0;
  size_t workers = 1;  // of the engine
  size_t max_packet_bytes = 262'144;
  size_t max_devices = 40'000;     // rows of the device table
  size_t max_kept = 10'000;        // MQTT sessions without a connection
  size_t ring_bytes = 4u << 20;    // per direction
  int64_t wake_interval_us = 800;  // EngineOptions::wake_interval_us
  bool acknowledge_at_once = true;
  bool odd_topics = false;                        // EngineOptions::odd_topics
  int64_t unfinished_us = 30'000'000;             // EngineOptions::unfinished_us
  std::array<int64_t, kClasses + 1> linger_us{};  // PipelineContext::linger_us
  LastValuesOptions values;
};

class DeskForwarding;
struct DeskParcel;

// Objects and callbacks that the workers of an engine share. They outlive the workers.
struct WorkerShared {
  Budget* budget;
  Doorbell* message_bell;  // rings when messages wait for JavaScript
  Identities* identities;
  std::atomic<int64_t>* devices;      // number of connected devices
  std::atomic<int64_t>* connections;  // number of open sockets
  Throttle* throttle;
  // Makes all workers read the devices again whose class has room.
  std::function<void()> resume;
  // Reports the tickets of pushed records that are safe.
  std::function<void(const std::vector<Completion>&)> complete;
  DeviceEvents* events;
  PendingCommands* commands;
  MemoryShare* unfinished;  // memory of incomplete packets
  // Closes a connection with an incomplete packet, on the worker that holds the most of such
  // packets.
  std::function<void()> end_unfinished;
  MemoryShare* kept;  // memory for devices that are not connected: sessions and wills
  SharedValues* values;
  // Passes datagrams to the worker that owns their devices. Returns false if they are lost.
  std::function<bool(uint32_t worker, uint32_t stage, CrossedDatagrams)> cross;
  SlotExchange* exchange;          // which worker owns which device
  std::atomic<int64_t>* deferred;  // records that wait for a flow (DeferredReceipts)
  SessionOutbox* sessions;         // to and from the disk
  WindowTotals* windows;
  Subscribers* subscribers;
  // SubscriberFanoutContext::wake
  std::function<void(uint32_t worker, SubscriberList list)> wake_subscribers;
  // Lets all workers send their last values to a new subscription.
  std::function<void(const std::shared_ptr<LastValueRequest>& request)> send_values;
  RequestDesk* desk;
  // DeskServerContext::arrive
  std::function<void(uint32_t worker, uint64_t connection, std::shared_ptr<DeskParcel>)>
      desk_arrive;
  // DeskForwardingContext::at_worker
  std::function<void(uint32_t worker, std::function<void(DeskForwarding*)> task)> at_forwarding;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_WORKER_OPTIONS_H_

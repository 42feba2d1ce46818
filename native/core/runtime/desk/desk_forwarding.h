// Requests that pass from a peer's connection to a device's without JavaScript, on one worker.
#ifndef SEGANET_CORE_RUNTIME_DESK_DESK_FORWARDING_H_
#define SEGANET_CORE_RUNTIME_DESK_DESK_FORWARDING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/clock.h"
#include "core/base/counters.h"
#include "core/devices/desk/desk_session.h"
#include "core/devices/desk/device_asks.h"
#include "core/devices/desk/forward_table.h"
#include "core/devices/desk/forwardings.h"
#include "core/protocol/coap/exchange.h"
#include "core/runtime/desk/desk_connections.h"

namespace seganet {

class DeskForwarding;

// The dependencies of a DeskForwarding. All objects outlive it.
struct DeskForwardingContext {
  uint32_t worker;   // its index
  uint32_t workers;  // of the engine
  CounterBlock* counters;
  const Now* now;  // time of the current turn
  DeskConnections* connections;
  DeviceAsks* asks;
  // Runs a task with the DeskForwarding of another worker, in the order of the calls of one worker.
  // No effect if that worker has stopped.
  std::function<void(uint32_t worker, std::function<void(DeskForwarding*)> task)> at_worker;
};

// The worker of the peer decides by its copy of the table (ForwardTable) and passes the request to
// the worker of the device, which asks the device (DeviceAsks) and passes the answer back. Each of
// these passages keeps the order.
//
// Thread safety: owned by one worker.
class DeskForwarding {
 public:
  explicit DeskForwarding(const DeskForwardingContext& context) : context_(context) {}
  DeskForwarding(const DeskForwarding&) = delete;
  DeskForwarding& operator=(const DeskForwarding&) = delete;

  // Returns how a request is forwarded; nothing if it is not.
  std::optional<ForwardPlan> Plan(const DeskSession& session, const coap::Asked& asked) const {
    return PlanForward(table_, session, asked, context_.now->mono_us);
  }
  // Forwards a request of the session's peer. REQUIRES: `plan` is of Plan(), in this turn.
  void Forward(const DeskSession& session, const coap::Asked& asked, ForwardPlan plan);
  // Passes on a device's answer. Returns false, and has no effect, if the handle is not of a
  // forwarded request.
  bool PassAnswer(uint64_t handle, const coap::AskAnswer& answer);

  // Notifies all workers who may use the device of a connection.
  void Publish(const DeskSession& session);
  // Notifies all workers that the connection no longer takes requests.
  void Withdraw(const DeskSession& session);

  // True if a peer of this worker, or a device of this worker, has a request without an answer.
  bool is_busy() const { return out_ > 0 || forwardings_.size() > 0; }

 private:
  void Start(uint64_t connection, DeviceAsk ask, const Forwarding& forwarding);
  void End(const Forwarding& forwarding, const coap::AskAnswer& answer);
  void Answer(const Forwarding& forwarding, const coap::AskAnswer& answer);
  void AtOtherWorkers(const std::function<void(DeskForwarding*)>& task);

  const DeskForwardingContext context_;
  ForwardTable table_;
  Forwardings forwardings_;  // to devices of this worker
  size_t out_ = 0;           // from peers of this worker, without an answer
};

// Returns the gateway's answer to a request that finds no room.
coap::AskAnswer TooManyRequests();

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DESK_DESK_FORWARDING_H_

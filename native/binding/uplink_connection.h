// JavaScript's UplinkConnection (native/index.d.ts): the connection of an uplink session to its
// broker, and its express path.
#ifndef SEGANET_BINDING_UPLINK_CONNECTION_H_
#define SEGANET_BINDING_UPLINK_CONNECTION_H_

#include <napi.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "binding/source_wrap.h"
#include "binding/uplink_turns.h"
#include "core/uplink/broker_reader.h"
#include "core/uplink/connection.h"
#include "core/uplink/direct_line.h"
#include "core/uplink/express.h"

namespace seganet::binding {

// Keeps itself alive (a reference to itself) until it is closed or its environment ends.
//
// Thread safety: the thread of its environment. Each method holds the turn of line_ while it uses
// what the express path uses, because workers send on it too.
class UplinkConnection : public Napi::ObjectWrap<UplinkConnection>,
                         private Connection::Listener,
                         private BrokerReader::Sink,
                         private DirectLine::Receiver,
                         private UplinkTurns::Member,
                         private SourceWrap::LanesUser {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit UplinkConnection(const Napi::CallbackInfo& info);
  ~UplinkConnection() override;

 private:
  // Holds the turn of line_.
  using Hold = std::lock_guard<TurnLock>;

  // Methods of the JavaScript class.
  static void CheckTls(const Napi::CallbackInfo& info);
  Napi::Value Write(const Napi::CallbackInfo& info);
  void Pause(const Napi::CallbackInfo& info);
  void Finish(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);
  Napi::Value Describe(const Napi::CallbackInfo& info);
  void Enter(const Napi::CallbackInfo& info);
  Napi::Value Leave(const Napi::CallbackInfo& info);
  void Numbers(const Napi::CallbackInfo& info);

  void OnOpen() override;
  void OnData(std::span<const uint8_t> bytes) override;
  void OnDrained() override;
  void OnEnd(const TlsFailure& why) override;

  bool OnBytesAside(std::span<const uint8_t> bytes) override;

  void OnPuback(uint16_t id, uint8_t reason_code) override;
  void OnOther(std::span<const uint8_t> bytes) override;

  void Turn() override;
  int order() const override { return order_; }
  bool is_waiting() const override;
  int64_t next_turn_us() const override;

  void OnSourceClosed() override;

  void CallHandler(const char* name, std::initializer_list<napi_value> args);
  void CallOnLeave(LeaveReason reason);
  void StopExpress();
  void LeaveExpress();
  void CloseNow();
  void WriteNumbers(double* to) const;

  static void OnEnvironmentEnd(napi_async_cleanup_hook_handle hook, void* self);

  Napi::ObjectReference handlers_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  Connection* connection_ = nullptr;  // null when closed
  bool taps_pubacks_ = false;
  BrokerReader reader_;
  // The results of one read, for JavaScript.
  std::vector<std::pair<uint16_t, uint8_t>> pubacks_;
  std::string others_;
  LeaveReason leave_reason_ = LeaveReason::kNone;  // set if a PUBACK of this read ended express

  std::unique_ptr<Express> express_;        // kept after close() until leave()
  std::shared_ptr<InFlightWindow> window_;  // of the express path
  SourceWrap* source_ = nullptr;            // of the express path
  UplinkTurns* turns_ = nullptr;            // null: the express path does not send
  const std::shared_ptr<DirectLine> line_ = std::make_shared<DirectLine>();
  uint64_t counted_ = 0;  // records of the express path that turns_ knows
  int order_ = 0;
  std::string out_;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_UPLINK_CONNECTION_H_

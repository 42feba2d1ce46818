// JavaScript's Engine (native/index.d.ts): checks and copies arguments and results.
#ifndef SEGANET_BINDING_ENGINE_WRAP_H_
#define SEGANET_BINDING_ENGINE_WRAP_H_

#include <napi.h>

#include <memory>

#include "binding/engine_registry.h"

namespace seganet::binding {

class EngineWrap : public Napi::ObjectWrap<EngineWrap> {
 public:
  static Napi::Function Define(Napi::Env env);

  explicit EngineWrap(const Napi::CallbackInfo& info);
  ~EngineWrap() override;

 private:
  Napi::Value Workers(const Napi::CallbackInfo& info);
  Napi::Value WorkerOf(const Napi::CallbackInfo& info);
  void ApplyPlan(const Napi::CallbackInfo& info);
  Napi::Value Listen(const Napi::CallbackInfo& info);
  void RenewDtls(const Napi::CallbackInfo& info);
  void Unlisten(const Napi::CallbackInfo& info);
  // engine_logins.cc
  Napi::Value TakeLogins(const Napi::CallbackInfo& info);
  Napi::Value AnswerLogin(const Napi::CallbackInfo& info);
  Napi::Value DismissDevice(const Napi::CallbackInfo& info);
  Napi::Value TakeOverDevice(const Napi::CallbackInfo& info);
  // engine_desk.cc
  Napi::Value TakeDesk(const Napi::CallbackInfo& info);
  Napi::Value AnswerRequest(const Napi::CallbackInfo& info);
  void AnswerRequests(const Napi::CallbackInfo& info);
  Napi::Value IdentifyConnection(const Napi::CallbackInfo& info);
  Napi::Value SettleRequest(const Napi::CallbackInfo& info);
  Napi::Value GrantConnection(const Napi::CallbackInfo& info);
  Napi::Value ForgetConnection(const Napi::CallbackInfo& info);
  Napi::Value CloseConnection(const Napi::CallbackInfo& info);
  Napi::Value RecordOfConnection(const Napi::CallbackInfo& info);
  Napi::Value AskDevice(const Napi::CallbackInfo& info);
  void CancelAsk(const Napi::CallbackInfo& info);
  Napi::Value OpenTopic(const Napi::CallbackInfo& info);
  void CloseTopic(const Napi::CallbackInfo& info);
  void FollowTopic(const Napi::CallbackInfo& info);
  void AskLatestPost(const Napi::CallbackInfo& info);
  Napi::Value Push(const Napi::CallbackInfo& info);
  Napi::Value Classify(const Napi::CallbackInfo& info);
  Napi::Value TakeMessages(const Napi::CallbackInfo& info);
  Napi::Value TakeCompletions(const Napi::CallbackInfo& info);
  void EndDeferrals(const Napi::CallbackInfo& info);
  void Flush(const Napi::CallbackInfo& info);
  // engine_devices.cc
  Napi::Value Command(const Napi::CallbackInfo& info);
  Napi::Value TakeCommandResults(const Napi::CallbackInfo& info);
  Napi::Value TakeEvents(const Napi::CallbackInfo& info);
  Napi::Value Agents(const Napi::CallbackInfo& info);
  // engine_values.cc
  Napi::Value Values(const Napi::CallbackInfo& info);
  Napi::Value ValueLevels(const Napi::CallbackInfo& info);
  Napi::Value SaveValues(const Napi::CallbackInfo& info);
  Napi::Value RestoreValues(const Napi::CallbackInfo& info);
  // engine_forecasts.cc
  Napi::Value SaveForecasts(const Napi::CallbackInfo& info);
  Napi::Value RestoreForecasts(const Napi::CallbackInfo& info);
  Napi::Value TeachForecast(const Napi::CallbackInfo& info);
  Napi::Value LookAtForecasts(const Napi::CallbackInfo& info);
  void SaveAll(const Napi::CallbackInfo& info);
  void SetDiskCounts(const Napi::CallbackInfo& info);
  void StopAccepting(const Napi::CallbackInfo& info);
  void StopReading(const Napi::CallbackInfo& info);
  void SaveSessions(const Napi::CallbackInfo& info);
  void EndRestore(const Napi::CallbackInfo& info);
  void HoldReading(const Napi::CallbackInfo& info);
  Napi::Value Stats(const Napi::CallbackInfo& info);
  Napi::Value Fingerprint(const Napi::CallbackInfo& info);
  Napi::Value Parts(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  static void OnEnvironmentEnd(void* self);
  void CloseNow();

  // Null only if construction failed or the environment has ended.
  std::shared_ptr<EngineHandle> handle_;
  uint32_t token_ = 0;
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_ENGINE_WRAP_H_

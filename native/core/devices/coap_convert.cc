#include "core/devices/coap_convert.h"

#include "core/record/rules.h"

namespace seganet {
namespace {

constexpr std::string_view kCommands = "cmd/";

coap::Verdict VerdictOf(RecordAnswer::Verdict verdict) {
  switch (verdict) {
    case RecordAnswer::Verdict::kTaken:
      return coap::Verdict::kTaken;
    case RecordAnswer::Verdict::kFull:
      return coap::Verdict::kFull;
    case RecordAnswer::Verdict::kTooFast:
    case RecordAnswer::Verdict::kPartFull:
      return coap::Verdict::kTooFast;
    case RecordAnswer::Verdict::kNotAllowed:
    case RecordAnswer::Verdict::kNoPart:
      return coap::Verdict::kNotAllowed;
    case RecordAnswer::Verdict::kNotTaken:
      return coap::Verdict::kNotTaken;
  }
  return coap::Verdict::kFull;
}

}  // namespace

coap::Answer CoapAnswer(const RecordAnswer& answer) {
  return {VerdictOf(answer.verdict), answer.copies, answer.retry_s};
}

CommandStart FromCoap(coap::CommandStart start) {
  switch (start) {
    case coap::CommandStart::kSent:
      return CommandStart::kSent;
    case coap::CommandStart::kNotListening:
      return CommandStart::kNotListening;
    case coap::CommandStart::kBusy:
      return CommandStart::kBusy;
    case coap::CommandStart::kTooLarge:
      return CommandStart::kTooLarge;
  }
  return CommandStart::kBusy;
}

std::string CoapCommandTopic(std::string_view topic, std::string_view device,
                             std::string_view command_path) {
  std::string_view rest = topic;
  if (!rest.starts_with(kCommands)) return std::string(topic);
  rest.remove_prefix(kCommands.size());
  if (!rest.starts_with(device)) return std::string(topic);
  rest.remove_prefix(device.size());
  if (!rest.empty() && rest.front() != '/') return std::string(topic);
  return std::string(command_path) + "/" + std::string(device) + std::string(rest);
}

std::string CommandTopicFor(std::string_view name, std::string_view topic,
                            std::string_view device) {
  if (name.size() == device.size()) return std::string(topic);
  std::string_view rest = topic;
  if (!rest.starts_with(kCommands)) return std::string(topic);
  rest.remove_prefix(kCommands.size());
  if (!rest.starts_with(device)) return std::string(topic);
  rest.remove_prefix(device.size());
  if (!rest.empty() && rest.front() != '/') return std::string(topic);
  return std::string(kCommands) + std::string(name) + std::string(rest);
}

std::string CoapCommandFilter(std::string_view device) {
  std::string filter = std::string(kCommands) + std::string(device) + "/#";
  return ValidTopicFilter(filter) ? filter : "";
}

}  // namespace seganet

// Runs topic filters, globs, rules and rows of bridges on any bytes and checks the invariants of
// matching. Input: filter or glob, NUL, topic or device.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cpu.h"
#include "core/plan/bridges.h"
#include "core/record/record.h"
#include "core/record/rules.h"

namespace {

void Check(bool law) {
  if (!law) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using seganet::GlobMatches, seganet::TopicMatches, seganet::ValidTopicFilter;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const std::string_view filter = input.substr(0, split);
  const std::string_view text =
      split == std::string_view::npos ? std::string_view() : input.substr(split + 1);
  const bool plain = filter.find_first_of("+#") == std::string_view::npos;
  const bool dollar = !text.empty() && text.front() == '$';

  if (ValidTopicFilter(filter)) {
    const bool matches = TopicMatches(filter, text);
    if (plain) Check(matches == (filter == text));
    if (filter == "#") Check(matches == !dollar);
    // A filter with its last level replaced by # also matches.
    const size_t slash = filter.rfind('/');
    if (matches && slash != std::string_view::npos) {
      Check(TopicMatches(std::string(filter.substr(0, slash + 1)) + "#", text));
    }
    // The same first level in both changes nothing, unless the topic began with $.
    if (!dollar) {
      Check(TopicMatches("x/" + std::string(filter), "x/" + std::string(text)) == matches);
    }
    const seganet::Rule rule{std::string(filter), "", seganet::kHigh};
    Check(seganet::ValidateRules({rule}).ok());
    Check(seganet::Classifier({rule}, 0).ClassOf("d", text, "", 4) == (matches ? 2 : 4));
  } else {
    Check(!plain || filter.empty() || filter.size() > seganet::kMaxTopicBytes);
  }

  // The worst case of a glob is quadratic; the engine's length limit keeps it small.
  const std::string_view glob = filter.substr(0, seganet::kMaxDeviceBytes);
  const std::string_view device = text.substr(0, seganet::kMaxDeviceBytes);
  const bool matches = GlobMatches(glob, device);
  if (glob.find_first_of("*?") == std::string_view::npos) Check(matches == (glob == device));
  if (matches) Check(GlobMatches("*" + std::string(glob) + "*", device));
  Check(GlobMatches(std::string(glob) + "*", std::string(device) + "x") ||
        !GlobMatches(std::string(glob) + "*", device));

  // The filter as that of a bridge: an id is one whole level of a topic that it matches.
  const std::vector<seganet::BridgeRow> rows{{"b", std::string(filter), ""}, {"b", "", "id"}};
  if (seganet::ValidateBridges(rows).ok()) {
    std::string buffer;
    const seganet::BridgedDevice found =
        seganet::BridgeRows::Of(rows, "b")->DeviceOf(text, text, &buffer);
    Check(found.id.size() <= seganet::kMaxDeviceBytes);
    Check(found.id.find('\0') == std::string_view::npos);
    if (!found.prefix.empty()) {
      Check(text.starts_with(found.prefix) && found.prefix.ends_with(found.id));
      Check(!found.id.empty() && found.id.find('/') == std::string_view::npos);
    }
  }

  std::vector<int> cpus;
  if (seganet::ParseCpuList(filter, &cpus).ok()) Check(cpus.size() <= 1024);
  return 0;
}

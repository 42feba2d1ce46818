#include "core/devices/desk/forward_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/require.h"
#include "core/protocol/coap/codes.h"
#include "core/protocol/coap/option_reader.h"

namespace seganet {
namespace {

std::string UintBytes(uint16_t value) {
  std::string bytes;
  if (value > 0xFF) bytes.push_back(static_cast<char>(value >> 8));
  if (value > 0) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// True if a device can hardly misread the segment: no '/', and no control characters (U+0000 to
// U+001F, U+007F to U+009F). `text` is UTF-8.
bool IsPlain(std::string_view text) {
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || byte == '/') return false;
    if (before == 0xC2 && byte < 0xA0) return false;
    before = byte;
  }
  return true;
}

// Reads Accept or Content-Format. False if it occurs twice or names neither form of the format.
bool TakeFormat(const ForwardFormat& format, std::string_view value, bool* seen, bool* is_alias) {
  if (*seen || value.size() > sizeof(uint32_t)) return false;
  *seen = true;
  const uint32_t number = coap::UintOf(value);
  *is_alias = number == format.alias;
  return *is_alias || number == format.value;
}

// Appends the option if it is one of `options` and has its form.
// Returns false if it is one of them and has another form.
bool TakeOption(const ForwardOptions& options, const coap::OptionValue& option,
                coap::OptionValues* taken) {
  const auto rule =
      std::find_if(options.options.begin(), options.options.end(),
                   [&option](const ForwardedOption& each) { return each.number == option.number; });
  if (rule == options.options.end()) return true;
  const auto same = std::count_if(
      taken->begin(), taken->end(),
      [&option](const coap::OptionValue& other) { return other.number == option.number; });
  const size_t size = option.value.size();
  if (size < rule->least_bytes || size > rule->most_bytes ||
      static_cast<size_t>(same) >= rule->most) {
    return false;
  }
  taken->push_back(option);
  return true;
}

}  // namespace

std::string_view ForwardDevice(const ForwardOptions& options,
                               const std::vector<std::string_view>& path) {
  const size_t n = options.prefix.size();
  if (path.size() < n + 2 ||
      !std::equal(options.prefix.begin(), options.prefix.end(), path.begin())) {
    return {};
  }
  return path[n];
}

bool ReadForward(const ForwardOptions& options, const coap::Asked& asked,
                 coap::RequestSpec* request, ForwardShape* shape) {
  SEGANET_REQUIRE(!ForwardDevice(options, asked.path).empty());
  if (asked.query.size() > options.most_queries) return false;
  const auto rest = asked.path.begin() + static_cast<ptrdiff_t>(options.prefix.size() + 1);
  if (!std::all_of(rest, asked.path.end(), IsPlain)) return false;
  bool has_accept = false, has_format = false, is_alias = false;
  for (const coap::OptionValue& option : asked.options) {
    if (option.number == coap::kObserve) return false;
    if (options.format) {
      const ForwardFormat& format = *options.format;
      if (option.number == format.accept_option || option.number == format.content_option) {
        shape->knows_version = true;
        continue;
      }
      if (option.number == coap::kAccept) {
        if (!TakeFormat(format, option.value, &has_accept, &shape->wants_alias)) return false;
        continue;
      }
      if (option.number == coap::kContentFormat) {
        if (!TakeFormat(format, option.value, &has_format, &is_alias)) return false;
        continue;
      }
    }
    if (!TakeOption(options, option, &request->options)) return false;
  }
  request->code = asked.code;
  request->path.assign(rest, asked.path.end());
  request->query.assign(asked.query.begin(), asked.query.end());
  request->payload = asked.payload;
  if (options.format) {
    const ForwardFormat& format = *options.format;
    request->options.push_back({coap::kAccept, UintBytes(format.value)});
    request->options.push_back({format.accept_option, UintBytes(format.version)});
    if (!request->payload.empty()) {
      request->options.push_back({coap::kContentFormat, UintBytes(format.value)});
      request->options.push_back({format.content_option, UintBytes(format.version)});
    }
  }
  return true;
}

coap::OptionValues ForwardedAnswer(const ForwardOptions& options, std::string_view device,
                                   const ForwardShape& shape, const coap::OptionValues& answer) {
  coap::OptionValues passed;
  bool is_located = false;
  for (const coap::OptionValue& option : answer) {
    const auto& known = options.answer_options;
    if (std::find(known.begin(), known.end(), option.number) == known.end()) continue;
    if (option.number == coap::kLocationPath && !std::exchange(is_located, true)) {
      // A new resource is reached through the gateway, too.
      for (const std::string& segment : options.prefix) {
        passed.push_back({coap::kLocationPath, segment});
      }
      passed.push_back({coap::kLocationPath, std::string(device)});
    }
    if (options.format) {
      const ForwardFormat& format = *options.format;
      const bool is_version = option.number == format.content_option;
      if (is_version && (shape.wants_alias || !shape.knows_version)) continue;
      if (option.number == coap::kContentFormat && shape.wants_alias &&
          option.value.size() <= sizeof(uint32_t) && coap::UintOf(option.value) == format.value) {
        passed.push_back({coap::kContentFormat, UintBytes(format.alias)});
        continue;
      }
    }
    passed.push_back(option);
  }
  return passed;
}

}  // namespace seganet

#include "core/protocol/coap/uri.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/record/record.h"

namespace seganet::coap {
namespace {

// What has to hold for every text of a URI (RFC 7252 3.2); U+0000 has no place in a device or
// topic.
bool IsText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t n = Utf8Length(text.substr(at));
    if (n == 0 || text[at] == '\0') return false;
    at += n;
  }
  return true;
}

// A record's topic becomes one of MQTT, which may hold no wildcard [MQTT-3.3.2-2].
bool IsTopic(std::string_view topic) {
  return !topic.empty() && topic.size() <= kMaxTopicBytes &&
         topic.find_first_of("+#") == std::string_view::npos;
}

bool IsDevice(std::string_view device) {
  return !device.empty() && device.size() <= kMaxDeviceBytes;
}

}  // namespace

uint8_t ClassOfText(std::string_view text) {
  constexpr std::string_view kNames[] = {"critical", "high", "normal", "bulk"};
  if (text.size() == 1 && ValidClass(text[0] - '0')) return static_cast<uint8_t>(text[0] - '0');
  for (uint8_t i = 0; i < 4; ++i) {
    if (text == kNames[i]) return static_cast<uint8_t>(i + 1);
  }
  return 0;
}

Refusal Uri::AddPath(std::string_view segment) {
  if (!IsText(segment)) return {kBadRequest, "The path is not valid UTF-8."};
  // RFC 7252 6.4: they are resolved before a request is made.
  if (segment == "." || segment == "..") return {kBadRequest, "The path may not have . or .."};
  if (starts_.size() == kMaxSegments) return {kBadRequest, "The path has too many segments."};
  if (!starts_.empty()) path_.push_back('/');
  starts_.push_back(static_cast<uint32_t>(path_.size()));
  path_.append(segment);
  return {};
}

Refusal Uri::AddQuery(std::string_view query) {
  if (!IsText(query)) return {kBadRequest, "The query is not valid UTF-8."};
  const size_t equals = query.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view name = query.substr(0, equals);
  const std::string_view value = query.substr(equals + 1);
  if (name == "d") {
    device_ = value;
    has_device_ = true;
  } else if (name == "t") {
    topic_ = value;
    has_topic_ = true;
  } else if (name == settings_.class_query) {
    record_class_ = ClassOfText(value);
  }
  return {};
}

size_t Uri::After(std::string_view prefix) const {
  const auto segments = static_cast<size_t>(std::count(prefix.begin(), prefix.end(), '/')) + 1;
  if (starts_.size() < segments) return std::string_view::npos;
  const size_t end =
      starts_.size() == segments ? path_.size() : static_cast<size_t>(starts_[segments]) - 1;
  return std::string_view(path_).substr(0, end) == prefix ? segments : std::string_view::npos;
}

Refusal Uri::Resolve(Request* request) const {
  request->resource = Resource::kNone;
  request->device.clear();
  request->topic.clear();
  request->record_class = record_class_;
  if (path_ == ".well-known/core") {
    request->resource = Resource::kDiscovery;
    return {};
  }
  Resource resource = Resource::kRecords;
  std::string_view prefix = settings_.path;
  size_t segment = After(prefix);
  if (segment == std::string_view::npos) {
    resource = Resource::kCommands;
    prefix = settings_.command_path;
    segment = After(prefix);
  }
  if (segment == std::string_view::npos) return {kNotFound, "See /.well-known/core."};

  std::string_view device = device_;
  if (!has_device_ && segment < starts_.size()) {
    const size_t start = starts_[segment++];
    const size_t end = segment < starts_.size() ? starts_[segment] - 1 : path_.size();
    device = std::string_view(path_).substr(start, end - start);
  }
  if (!IsDevice(device)) return {kBadRequest, "The path has to name a device, of 1 to 256 bytes."};
  request->device = device;
  request->resource = resource;

  const bool has_rest = segment < starts_.size();
  if (has_topic_ && resource == Resource::kRecords) {
    request->topic = topic_;
  } else if (has_rest || resource == Resource::kRecords) {
    request->topic.append(prefix).append("/").append(device);
    if (has_rest) request->topic.append("/").append(path_, starts_[segment]);
  }
  const bool needs_topic = resource == Resource::kRecords || has_rest;
  if (needs_topic && !IsTopic(request->topic)) {
    return {kBadRequest, "The topic is empty or too long, or has + or #."};
  }
  return {};
}

}  // namespace seganet::coap

#include "core/protocol/coap/uri.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "core/record/class_name.h"
#include "core/record/odd_topic.h"
#include "core/record/part.h"
#include "core/record/record.h"

namespace seganet::coap {
namespace {

// True for valid UTF-8, as every text of a URI must be (RFC 7252 3.2), without U+0000, which
// devices and topics may not contain.
bool IsText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    // Fast path: nearly all text is ASCII.
    if (const auto byte = static_cast<uint8_t>(text[at]); byte > 0 && byte < 0x80) {
      ++at;
      continue;
    }
    const size_t n = text[at] == 0 ? 0 : Utf8Length(text.substr(at));
    if (n == 0) return false;
    at += n;
  }
  return true;
}

// A record's topic becomes an MQTT topic, which may not contain wildcards [MQTT-3.3.2-2].
bool IsTopic(std::string_view topic) {
  const auto is_wildcard = [](char c) { return c == '+' || c == '#'; };
  return !topic.empty() && topic.size() <= kMaxTopicBytes &&
         std::none_of(topic.begin(), topic.end(), is_wildcard);
}

bool IsDevice(std::string_view device) {
  return !device.empty() && device.size() <= kMaxDeviceBytes;
}

}  // namespace

Refusal Uri::AddPath(std::string_view segment) {
  if (!IsText(segment)) return {kBadRequest, "The path is not valid UTF-8."};
  // RFC 7252 6.4: the client resolves them before it sends the request.
  if (segment == "." || segment == "..") return {kBadRequest, "The path must not contain . or .."};
  std::vector<uint32_t>& starts = request_->starts;
  if (starts.size() == kMaxSegments) return {kBadRequest, "The path has too many segments."};
  std::string& path = request_->path;
  if (!starts.empty()) path.push_back('/');
  starts.push_back(static_cast<uint32_t>(path.size()));
  path.append(segment);
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
    record_class_ = ParseClass(value);
  }
  return {};
}

size_t Uri::After(std::string_view prefix) const {
  const auto segments = static_cast<size_t>(std::count(prefix.begin(), prefix.end(), '/')) + 1;
  const std::vector<uint32_t>& starts = request_->starts;
  const std::string_view path = request_->path;
  if (starts.size() < segments) return std::string_view::npos;
  const size_t end = starts.size() == segments ? path.size() : size_t{starts[segments]} - 1;
  return path.substr(0, end) == prefix ? segments : std::string_view::npos;
}

Refusal Uri::Resolve() {
  Request* const request = request_;
  const std::vector<uint32_t>& starts = request->starts;
  const std::string_view path = request->path;
  request->resource = Resource::kNone;
  request->device.clear();
  request->topic.clear();
  request->record_class = record_class_;
  if (path == ".well-known/core") {
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
  if (!has_device_ && segment < starts.size()) {
    const size_t start = starts[segment++];
    const size_t end = segment < starts.size() ? starts[segment] - 1 : path.size();
    device = path.substr(start, end - start);
  }
  if (!settings_.odd_topics && IsOddTopic(device)) {
    return {kBadRequest, "The device begins with $ or has a control character."};
  }
  if (!IsDevice(device)) return {kBadRequest, "The path must name a device of 1 to 256 bytes."};
  if (settings_.parted) {
    if (part_.empty()) return {kForbidden, "This connection may not name a device."};
    request->device.append(part_).push_back(kPartEnd);
  }
  request->device.append(device);
  if (!IsDevice(request->device)) {
    request->device.clear();
    return {kBadRequest, "The device id is too long."};
  }
  request->resource = resource;

  const bool has_rest = segment < starts.size();
  const bool needs_topic = resource == Resource::kRecords || has_rest;
  if (has_topic_ && resource == Resource::kRecords) {
    request->topic = topic_;
  } else if (needs_topic && !has_device_) {
    request->topic.swap(request->path);  // the topic is the whole path
  } else if (needs_topic) {
    request->topic.append(prefix).append("/").append(device);
    if (has_rest) request->topic.append("/").append(path.substr(starts[segment]));
  }
  if (needs_topic && !IsTopic(request->topic)) {
    return {kBadRequest, "The topic is empty or too long, or has + or #."};
  }
  if (needs_topic && !settings_.odd_topics && IsOddTopic(request->topic)) {
    return {kBadRequest, "The topic begins with $ or has a control character."};
  }
  return {};
}

}  // namespace seganet::coap

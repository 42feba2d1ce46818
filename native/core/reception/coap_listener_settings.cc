#include "core/reception/coap_listener_settings.h"

#include <algorithm>

namespace seganet {

coap::Settings CoapSettings(const SourceSettings& source, size_t max_packet_bytes,
                            bool odd_topics) {
  coap::Settings settings;
  settings.path = source.path;
  settings.command_path = source.command_path;
  settings.class_query = source.class_property;
  settings.max_stream_message_bytes = max_packet_bytes;
  settings.max_body_bytes = std::min<size_t>(source.max_body_bytes, max_packet_bytes);
  settings.odd_topics = odd_topics;
  settings.parted = source.parted;
  settings.part = source.part;
  return settings;
}

coap::Limits CoapLimits(const coap::Settings& settings, size_t devices) {
  coap::Limits limits;
  limits.max_peers = std::max(limits.max_peers, devices);
  limits.max_observers = devices;
  // One upload of each of two devices always fits.
  limits.max_upload_bytes = std::max(limits.max_upload_bytes, 2 * settings.max_body_bytes);
  return limits;
}

}  // namespace seganet

#include "core/reception/stream_setups.h"

#include <utility>

#include "core/reception/coap_listener_settings.h"

namespace seganet {

std::shared_ptr<const coap::StreamSetup> StreamSetups::Get(uint32_t stage,
                                                           const SourceSettings& source,
                                                           const DeskOptions* desk) {
  coap::Settings settings = CoapSettings(source, max_packet_bytes_, odd_topics_);
  coap::Limits limits = CoapLimits(settings, 1);
  if (desk != nullptr) limits.idle_ping_s = desk->ping_s;
  coap::StreamSetup setup(std::move(settings), limits,
                          desk != nullptr ? desk->stream : coap::StreamOptions{});
  auto& known = by_stage_[stage];
  // A deploy, or another listener of the stage, changes the setup.
  if (known == nullptr || !(*known == setup)) {
    known = std::make_shared<const coap::StreamSetup>(std::move(setup));
  }
  return known;
}

}  // namespace seganet

#include "core/devices/desk/forwardings.h"

#include <string_view>

#include "core/protocol/coap/codes.h"

namespace seganet {

std::optional<ForwardPlan> PlanForward(const ForwardTable& table, const DeskSession& session,
                                       const coap::Asked& asked, int64_t now_us) {
  const ForwardOptions* const options = session.options().forward.get();
  if (options == nullptr || session.device().empty() || asked.reuses_token) return std::nullopt;
  const std::string_view device = ForwardDevice(*options, asked.path);
  if (device.empty()) return std::nullopt;
  const DeskIdentity& asker = session.identity();
  if (asker.owner.empty() || asker.forward_until_us <= now_us) return std::nullopt;
  const ForwardRow* const row = table.Find(device);
  // Owners of another source are other people, even if their names are the same.
  if (row == nullptr || row->stage != session.stage() || row->until_us <= now_us) {
    return std::nullopt;
  }
  const bool only_reads = asked.code == coap::kGet || asked.code == coap::kFetch;
  if (!row->Allows(asker.owner, only_reads)) return std::nullopt;
  ForwardPlan plan;
  plan.row = row;
  if (!ReadForward(*options, asked, &plan.request, &plan.shape)) return std::nullopt;
  return plan;
}

}  // namespace seganet

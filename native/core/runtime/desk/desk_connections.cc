#include "core/runtime/desk/desk_connections.h"

#include <utility>

#include "core/base/require.h"

namespace seganet {

DeskConnection* DeskConnections::Add(Agent* agent, DeskSession* session) {
  const auto [it, is_new] = all_.try_emplace(session->connection());
  SEGANET_REQUIRE(is_new);
  it->second.agent = agent;
  it->second.session = session;
  return &it->second;
}

DeskConnection* DeskConnections::Find(uint64_t connection) {
  const auto found = all_.find(connection);
  return found == all_.end() ? nullptr : &found->second;
}

DeskConnection* DeskConnections::Get(uint64_t connection) {
  const auto found = all_.find(connection);
  SEGANET_REQUIRE(found != all_.end());
  return &found->second;
}

void DeskConnections::Remove(uint64_t connection) {
  const auto found = all_.find(connection);
  SEGANET_REQUIRE(found != all_.end());
  RemoveUnidentified(&found->second);
  std::erase(to_set_up_, connection);
  all_.erase(found);
}

void DeskConnections::QueueOutput(DeskSession* session) {
  if (std::exchange(session->is_queued, true)) return;
  output_.push_back(session->connection());
}

void DeskConnections::Flush() {
  while (!output_.empty()) {
    const DeskConnection* const connection = Find(output_.back());
    output_.pop_back();
    if (connection == nullptr) continue;
    connection->session->is_queued = false;
    Agent* const agent = connection->agent;
    const CloseReason reason = connection->session->close_reason();
    if (reason != CloseReason::kNone) {
      agent->CloseFor(reason);
    } else {
      agent->Flush();
    }
  }
}

void DeskConnections::AddUnidentified(DeskConnection* connection, int64_t by_us) {
  SEGANET_REQUIRE(!connection->is_unidentified);
  connection->identify_by_us = by_us;
  connection->place = unidentified_.insert(unidentified_.end(), connection->session->connection());
  connection->is_unidentified = true;
}

void DeskConnections::RemoveUnidentified(DeskConnection* connection) {
  if (connection->is_unidentified) unidentified_.erase(connection->place);
  connection->is_unidentified = false;
}

DeskConnection* DeskConnections::OldestUnidentified() {
  SEGANET_REQUIRE(!unidentified_.empty());
  return Get(unidentified_.front());
}

std::vector<uint64_t> DeskConnections::LateUnidentified(int64_t now_us) {
  std::vector<uint64_t> late;
  for (uint64_t connection : unidentified_) {
    if (Get(connection)->identify_by_us <= now_us) late.push_back(connection);
  }
  return late;
}

void DeskConnections::AwaitSetUp(DeskConnection* connection, int64_t by_us) {
  connection->set_up_by_us = by_us;
  to_set_up_.push_back(connection->session->connection());
}

void DeskConnections::EndSetUp(DeskConnection* connection) {
  connection->set_up_by_us = 0;
  std::erase(to_set_up_, connection->session->connection());
}

}  // namespace seganet

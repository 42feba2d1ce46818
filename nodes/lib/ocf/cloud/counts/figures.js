'use strict';

/**
 * @param {import('../cloud').OcfCloud} cloud
 * @param {{ devices: number, endpoints: number }} stored counts of its store
 */
function figuresOf(cloud, { devices, endpoints }) {
  const { sessions, route, presence, topics, tallies, attempts } = cloud;
  return {
    devices,
    mostDevices: cloud.options.mostDevices,
    on: sessions.signedInCount,
    connections: sessions.size,
    requests: tallies.requests,
    attempts: { wrong: attempts.wrong, limited: attempts.limited },
    tokensReused: tallies.tokensReused,
    forwarded: route.unanswered,
    observations: { route: route.observations, presence: presence.size, topic: topics.subscribers },
    topics: topics.size,
    refused: cloud.refusals.list(),
    endpoints
  };
}

exports.figuresOf = figuresOf;

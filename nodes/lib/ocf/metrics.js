'use strict';
// The metrics of OCF clouds, and of the request desk that serves them.

/** @typedef {import('../metrics/text').Exposition} Exposition @typedef {import('../metrics/text').Labels} Labels */
/** @typedef {ReturnType<import('./node/running-cloud').RunningCloud['figures']>} CloudFigures */
/** @typedef {import('../../../native/index.js').DeskStats} DeskStats */

const STORE_CALLS = /** @type {const} */ (['read', 'write']);

/**
 * @param {Exposition} out
 * @param {Labels} labels of the engine and the node
 * @param {CloudFigures} figures null = closed
 */
function addCloud(out, labels, figures) {
  out.gauge('seganet_ocf_up', '1 if the cloud is open.').add(labels, figures !== null);
  if (!figures) return;
  const { attempts, observations, store } = figures;
  out.gauge('seganet_ocf_devices', 'Devices that are signed up.').add(labels, figures.devices);
  out.gauge('seganet_ocf_devices_limit', 'Most devices that may sign up.').add(labels, figures.mostDevices);
  out.gauge('seganet_ocf_devices_on', 'Devices that are signed in.').add(labels, figures.on);
  out
    .gauge('seganet_ocf_connections', 'Connections that have sent a request.')
    .add(labels, figures.connections);
  const requests = out.counter(
    'seganet_ocf_requests_total',
    "Answered requests, by resource and by the class of the answer's code."
  );
  for (const { resource, code, count } of figures.requests)
    requests.add({ ...labels, resource, code }, count);
  const refused = out.counter(
    'seganet_ocf_attempts_refused_total',
    'Refused attempts to sign up, sign in, refresh or delete: wrong, or limited because too many before were wrong.'
  );
  for (const [reason, count] of Object.entries(attempts)) refused.add({ ...labels, reason }, count);
  out
    .counter(
      'seganet_ocf_tokens_reused_total',
      'Refresh tokens that were used again, so that the tokens of the device were revoked.'
    )
    .add(labels, figures.tokensReused);
  out
    .gauge('seganet_ocf_forwarded_requests_open', 'Forwarded requests that devices have not answered.')
    .add(labels, figures.forwarded);
  const observed = out.gauge('seganet_ocf_observations', 'Open observations, by kind.');
  for (const [kind, count] of Object.entries(observations)) observed.add({ ...labels, kind }, count);
  out.gauge('seganet_ocf_topics', 'Topics of /oic/ps.').add(labels, figures.topics);
  out
    .gauge('seganet_ocf_endpoints', 'Endpoints that are registered in the resource directory.')
    .add(labels, figures.endpoints);
  const calls = out.family(
    'seganet_ocf_store_seconds',
    'summary',
    'Time of calls to the file of accounts, and their number.'
  );
  const failed = out.counter('seganet_ocf_store_failed_total', 'Failed calls to the file of accounts.');
  for (const call of STORE_CALLS) {
    const row = store[call];
    calls.add({ ...labels, call }, row.seconds, '_sum');
    calls.add({ ...labels, call }, row.done, '_count');
    failed.add({ ...labels, call }, row.failed);
  }
  out
    .gauge('seganet_ocf_store_waiting', 'Calls to the file of accounts without a result.')
    .add(labels, store.waiting);
  if (figures.http) addHttp(out, labels, figures.http);
  if (figures.region) addRegion(out, labels, figures.region);
}

/** @param {Exposition} out @param {Labels} labels @param {NonNullable<NonNullable<CloudFigures>['http']>} http */
function addHttp(out, labels, http) {
  out.gauge('seganet_ocf_http_up', '1 if the HTTP port is open.').add(labels, http.port > 0);
  const requests = out.counter(
    'seganet_ocf_http_requests_total',
    'Answered requests over HTTP, by the class of the status.'
  );
  for (const { code, count } of http.requests) requests.add({ ...labels, code }, count);
  out
    .gauge('seganet_ocf_http_requests_open', 'Requests over HTTP that are not answered.')
    .add(labels, http.open);
  out.gauge('seganet_ocf_http_streams', 'Open streams of events.').add(labels, http.streams);
  out.gauge('seganet_ocf_http_connections', 'Connections to the HTTP port.').add(labels, http.connections);
  const refused = out.counter(
    'seganet_ocf_http_logins_refused_total',
    'Refused logins over HTTP: without a token, with a wrong one, or after too many wrong ones.'
  );
  for (const [reason, count] of Object.entries(http.refused)) refused.add({ ...labels, reason }, count);
}

/** @param {Exposition} out @param {Labels} labels @param {NonNullable<NonNullable<CloudFigures>['region']>} region */
function addRegion(out, labels, region) {
  const { connections, counts, log, peers } = region;
  out
    .gauge('seganet_ocf_region_ready', '1 if the presence topic was read from its start.')
    .add(labels, region.isReady);
  out
    .gauge('seganet_ocf_region_topic_up', '1 if Kafka takes and gives presence.')
    .add(labels, log.state === 'connected');
  out
    .gauge('seganet_ocf_region_topic_waiting', 'Presence records that Kafka has not taken.')
    .add(labels, log.waiting);
  out.gauge('seganet_ocf_region_devices', 'Devices in the presence table.').add(labels, region.devices);
  out
    .counter('seganet_ocf_region_devices_refused_total', 'Devices that found no room in the presence table.')
    .add(labels, region.refused);
  const records = out.counter(
    'seganet_ocf_region_records_total',
    'Presence records: read, invalid (a part of those read), or repeated because a later record of the topic was older.'
  );
  records.add({ ...labels, kind: 'read' }, counts.records);
  records.add({ ...labels, kind: 'invalid' }, counts.invalid);
  records.add({ ...labels, kind: 'repeated' }, counts.repeated);
  out
    .counter('seganet_ocf_region_taken_over_total', 'Devices that signed in at another gateway.')
    .add(labels, counts.takenOver);
  const linked = out.gauge('seganet_ocf_region_links', 'Other gateways, by whether there is a link.');
  const up = peers.filter(({ isUp }) => isUp).length;
  linked.add({ ...labels, state: 'up' }, up);
  linked.add({ ...labels, state: 'missing' }, peers.length - up);
  const linkUp = out.gauge(
    'seganet_ocf_region_link_up',
    '1 if there is a link to another gateway, by region.'
  );
  const devices = out.gauge(
    'seganet_ocf_region_devices_on',
    'Devices that are signed in at another gateway, by region.'
  );
  for (const { ci, isUp, devices: count } of peers) {
    linkUp.add({ ...labels, region: ci }, isUp);
    devices.add({ ...labels, region: ci }, count);
  }
  const ends = out.counter(
    'seganet_ocf_region_links_total',
    'Links: accepted, connected by this gateway, refused, lost.'
  );
  ends.add({ ...labels, end: 'accepted' }, connections.accepted);
  ends.add({ ...labels, end: 'connected' }, connections.connects);
  ends.add({ ...labels, end: 'refused' }, connections.refused);
  ends.add({ ...labels, end: 'lost' }, connections.lost);
  const open = out.gauge('seganet_ocf_region_requests_open', 'Requests and observations over links.');
  const sum = (/** @type {'open' | 'served'} */ name) => peers.reduce((all, peer) => all + peer[name], 0);
  open.add({ ...labels, side: 'asked' }, sum('open'));
  open.add({ ...labels, side: 'served' }, sum('served'));
}

/** @param {Exposition} out @param {Labels} labels of the engine @param {DeskStats} desk */
function addDesk(out, labels, desk) {
  const requests = out.counter(
    'seganet_desk_requests_total',
    'Requests of devices, by what the desk did: passed to JavaScript, answered, or refused for lack of room.'
  );
  for (const end of /** @type {const} */ (['passed', 'answered', 'refused']))
    requests.add({ ...labels, end }, desk[end]);
  const asks = out.counter(
    'seganet_desk_asks_total',
    'Requests to devices, by what the desk did: sent, or refused for lack of room.'
  );
  asks.add({ ...labels, end: 'sent' }, desk.asked);
  asks.add({ ...labels, end: 'refused' }, desk.full);
  out
    .gauge('seganet_desk_asks_open', 'Requests to devices, and observations, that are open.')
    .add(labels, desk.openAsks);
  out.gauge('seganet_desk_waiting_events', 'Events that wait for JavaScript.').add(labels, desk.events);
  out.gauge('seganet_desk_waiting_bytes', 'Bytes of these events.').add(labels, desk.bytes);
}

module.exports = { addCloud, addDesk };

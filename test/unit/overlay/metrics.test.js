'use strict';

const { metricsText } = require('../../../nodes/lib/metrics');
const { addOverlay } = require('../../../nodes/lib/overlay/metrics');
const { parseMetrics } = require('../../fixtures/gateway/prometheus');
const { overlay: view } = require('../../fixtures/gateway/source-figures');

const read = (...views) =>
  parseMetrics(
    metricsText([], undefined, [{ process: (out) => views.forEach((each) => addOverlay(out, each)) }])
  );
const value = (families, name, wanted = {}) =>
  families
    .get(name)
    ?.samples.find(({ labels }) => Object.entries(wanted).every(([label, text]) => labels[label] === text))
    ?.value;

test('has the figures of an overlay network and its peers', () => {
  const families = read(view);
  expect(value(families, 'seganet_overlay_info', { fqdn: 'gw.plant.seganet.internal' })).toBe(1);
  expect(value(families, 'seganet_overlay_up')).toBe(1);
  expect(value(families, 'seganet_overlay_services_reached')).toBe(1);
  expect(value(families, 'seganet_overlay_services_refused')).toBe(0);
  expect(value(families, 'seganet_overlay_relay_open')).toBe(1);
  expect(value(families, 'seganet_overlay_path_changes_total')).toBe(3);
  expect(value(families, 'seganet_overlay_certificate_expires_seconds')).toBe(
    Date.parse('2026-11-30T00:00:00Z') / 1000
  );
  for (const path of ['direct', 'relay', 'asleep'])
    expect(value(families, 'seganet_overlay_peers', { path })).toBe(1);
  expect(value(families, 'seganet_overlay_peers', { path: 'none' })).toBe(0);
  expect(value(families, 'seganet_overlay_peer_bytes_total', { peer: 'hub', path: 'direct' })).toBe(30);
  expect(value(families, 'seganet_overlay_peer_bytes_total', { peer: 'b', path: 'relay' })).toBe(5);
  expect(value(families, 'seganet_overlay_peer_rtt_seconds', { peer: 'hub' })).toBe(0.0015);
  expect(value(families, 'seganet_overlay_peer_rtt_seconds', { peer: 'b' })).toBeUndefined();
  expect(value(families, 'seganet_overlay_refused_packets_total', { reason: 'port not offered' })).toBe(4);
});

test('a node that is revoked is refused', () => {
  const services = {
    areReached: false,
    problem: 'x',
    isRevoked: true,
    isSuspended: false,
    isRefused: true
  };
  const families = read({ ...view, status: { ...view.status, services } });
  expect(value(families, 'seganet_overlay_services_reached')).toBe(0);
  expect(value(families, 'seganet_overlay_services_refused')).toBe(1);
});

test('says when another program had the identity, and whether the node is suspended for that', () => {
  const before = read({ ...view, status: { ...view.status, usedTwice: null } });
  expect(value(before, 'seganet_overlay_suspended')).toBe(0);
  expect(value(before, 'seganet_overlay_used_twice_seconds')).toBeUndefined();
  const services = { ...view.status.services, isSuspended: true };
  const after = read({ ...view, status: { ...view.status, services, usedTwice: 1_764_500_000_000 } });
  expect(value(after, 'seganet_overlay_suspended')).toBe(1);
  expect(value(after, 'seganet_overlay_used_twice_seconds')).toBe(1_764_500_000);
});

test('is 0 while the program does not answer', () => {
  const off = read({ id: 'o', name: '', reason: 'gone', status: null, peersLeftOut: 0, pathChanges: 1 });
  expect(value(off, 'seganet_overlay_up')).toBe(0);
  expect(off.has('seganet_overlay_peers')).toBe(false);
});

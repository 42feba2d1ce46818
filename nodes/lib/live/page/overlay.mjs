// Overlay networks: this gateway's node in each, and how its peers are reached.

import { h, Table } from './dom.mjs';
import { bytes, visible } from './format.mjs';

const TEXT = false;
const NUMBER = true;
const MARKS = { direct: 'ok', relay: 'warn', asleep: 'off', none: 'bad' };

/** Returns the columns of a table. names: key of the label and whether it is a number. */
const columns = (t, names) => names.map(([name, numeric]) => ({ label: t(`overlay.${name}`), numeric }));

/** Returns the state of the node: its word and its mark. */
function stateOf(t, { status }) {
  const word = (name, state) => ({ text: t(`overlay.${name}`), state });
  if (!status) return word('missing', 'bad');
  const { isRevoked, isSuspended, isRefused, areReached } = status.services;
  if (isSuspended) return word('suspended', 'bad');
  if (isRevoked || isRefused) return word(isRevoked ? 'revoked' : 'refused', 'bad');
  return areReached ? word('reached', 'ok') : word('unreached', 'warn');
}

/** Returns the services that the node offers to its peers. */
function offersOf(status) {
  const offered = status?.offered ?? [];
  return visible(offered.map(({ name, network, port }) => `${name} (${network}/${port})`).join(', '));
}

export function overlay(t) {
  const networks = new Table({
    label: t('overlay.networks'),
    columns: columns(t, [
      ['network', TEXT],
      ['node', TEXT],
      ['services', TEXT],
      ['relayInUse', TEXT],
      ['offers', TEXT],
      ['reason', TEXT]
    ])
  });
  const peers = new Table({
    label: t('overlay.peers'),
    none: t('overlay.noPeers'),
    columns: columns(t, [
      ['peer', TEXT],
      ['path', TEXT],
      ['rtt', NUMBER],
      ['direct', NUMBER],
      ['relayed', NUMBER],
      ['reason', TEXT]
    ])
  });
  const networkRow = (view) => {
    const { reason, status } = view;
    const why = reason || status.services.problem || (status.relay ? '' : status.relayProblem);
    return [
      visible(view.name || view.id),
      visible(status?.fqdn) || '–',
      stateOf(t, view),
      visible(status?.relay) || '–',
      offersOf(status) || '–',
      visible(why) || '–'
    ];
  };
  const peerRow = (peer) => {
    const path = peer.path === 'none' && peer.isSleeping ? 'asleep' : peer.path;
    return [
      visible(peer.name),
      { text: t(`overlay.by.${path}`), state: MARKS[path] },
      peer.rttMs === null ? '–' : `${peer.rttMs.toFixed(1)} ms`,
      bytes(peer.bytesDirect),
      bytes(peer.bytesRelay),
      visible(peer.reason) || '–'
    ];
  };
  return {
    element: h('div', {}, networks.element, h('h3', {}, t('overlay.peers')), peers.element),
    isPresent: ({ overlays = [] }) => overlays.length > 0,
    update({ overlays }) {
      networks.update(overlays.map(networkRow));
      peers.update(overlays.flatMap(({ status }) => (status?.peers ?? []).map(peerRow)));
    }
  };
}

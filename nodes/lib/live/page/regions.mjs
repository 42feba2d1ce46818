// The other regions of an OCF cloud with several gateways: the link to each, and where devices are.

import { h, Table } from './dom.mjs';
import { count, duration, visible } from './format.mjs';
import { facts, markOf, word } from './sections.mjs';

/** Returns what shows the regions of a cloud. update(region, at): region: null = the cloud has one gateway. */
export function regions(t) {
  const list = facts(t, 'regions', ['own', 'presence', 'waiting', 'elsewhere', 'takenOver']);
  const table = new Table({
    label: t('regions.title'),
    none: t('regions.none'),
    columns: [
      ...['region', 'link', 'since'].map((name) => ({ label: t(`regions.${name}`) })),
      ...['devices', 'asked', 'served'].map((name) => ({ label: t(`regions.${name}`), numeric: true })),
      { label: t('regions.reason') }
    ]
  });
  const row = (peer, at) => [
    visible(peer.ci),
    { text: word(t, 'state', peer.isUp ? 'up' : 'down'), state: markOf(peer.isUp ? 'up' : 'down') },
    {
      text: duration(Math.max(0, at - peer.since)),
      title: new Date(peer.since).toLocaleString(t.language)
    },
    peer.isUnknown
      ? { text: t('regions.unknown', { devices: count(peer.devices) }), state: 'warn' }
      : count(peer.devices),
    count(peer.open),
    count(peer.served),
    peer.reason ? word(t, 'regions.why', peer.reason) : '–'
  ];
  const element = h('div', { hidden: true }, h('h3', {}, t('regions.title')), list.element, table.element);
  return {
    element,
    update(region, at) {
      element.hidden = !region;
      if (!region) return;
      const { log, peers } = region;
      const state = log.state === 'connected' && !region.isReady ? 'reading' : log.state;
      const shown = state === 'reading' ? t('regions.reading') : word(t, 'state', state);
      list.set('own', visible(region.own));
      list.set(
        'presence',
        log.reason && state !== 'connected' ? `${shown}: ${visible(log.reason)}` : shown,
        state === 'reading' ? 'warn' : markOf(state)
      );
      list.set('waiting', count(log.waiting));
      list.set('elsewhere', count(peers.reduce((sum, { devices }) => sum + devices, 0)));
      list.set('takenOver', count(region.counts.takenOver));
      table.update(peers.map((peer) => row(peer, at)));
    }
  };
}

// The tables of the panel: what each shows of a snapshot. Names, ids and reasons come from devices, brokers and users;
// all of them go through visible() and are set as text.

import { h, setText, Table } from './dom.mjs';
import { bytes, count, duration, percent, visible } from './format.mjs';
import { Network } from './network.mjs';

const STATES = {
  connected: 'ok',
  active: 'ok',
  answers: 'ok',
  failed: 'warn',
  ready: 'ok',
  up: 'ok',
  connecting: 'warn',
  reconnecting: 'warn',
  opening: 'warn',
  probing: 'warn',
  full: 'warn',
  paused: 'warn',
  busy: 'warn',
  stalled: 'bad',
  disconnected: 'bad',
  refused: 'bad',
  failing: 'bad',
  down: 'bad',
  stopped: 'off'
};
const FILLS = { green: 'ok', yellow: 'warn', red: 'bad' };

/** Returns the class of a state for its mark. The state is always there in words, too. */
export const markOf = (state) => STATES[state] ?? 'off';

/** Returns the known states, reasons and kinds in words; others as they are. */
export const word = (t, group, name) => t.optional(`${group}.${name}`) ?? visible(name);

/**
 * Returns why something is not connected: the sentence of the gateway, which is in English, after the short reason in
 * another language; else the code.
 */
export function reasonText(t, { short = '', reason = '', code = '' }) {
  const words = t.inWords(short);
  const told = reason || code;
  return visible(words === short ? told : told ? `${words} (${told})` : words);
}

/** Returns the number of a class, with its name if it has one. */
export const classText = (t, number) => {
  const name = t.optional(`class.${number}`);
  return name ? `${number} ${name}` : String(number);
};

/** Returns ascending numbers as ranges, such as 1, 2 or 3–8; texts as they are. */
export function ranges(values) {
  const runs = [];
  for (const each of values) {
    const run = runs.at(-1);
    if (run && each === run.at(-1) + 1) run.push(each);
    else runs.push([each]);
  }
  return runs.map((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run.join(', '))).join(', ');
}

function uplinks(t) {
  const sessions = new Table({
    label: t('uplinks.sessions'),
    none: t('uplinks.none'),
    columns: [
      { label: t('uplinks.uplink') },
      { label: t('uplinks.state') },
      { label: t('uplinks.classes') },
      { label: t('uplinks.inflight'), numeric: true },
      { label: t('uplinks.oldest'), numeric: true },
      { label: t('uplinks.rtt'), numeric: true },
      { label: t('uplinks.reason') }
    ]
  });
  const paths = new Table({
    label: t('uplinks.paths'),
    columns: [
      { label: t('uplinks.path') },
      { label: t('uplinks.state') },
      { label: t('uplinks.role') },
      { label: t('uplinks.address') },
      { label: t('uplinks.subflows'), numeric: true },
      { label: t('uplinks.rtt'), numeric: true }
    ]
  });
  const pathsTitle = h('h3', {}, t('uplinks.paths'));
  const urls = new Table({
    label: t('uplinks.urls'),
    columns: [
      { label: t('uplinks.uplink') },
      { label: 'URL' },
      { label: t('uplinks.state') },
      { label: t('uplinks.reason') }
    ]
  });
  const urlsTitle = h('h3', {}, t('uplinks.urls'));
  const drain = h('p');
  const network = new Network(t);
  const sessionRow = (uplink, session) => [
    visible(uplink.name),
    { text: word(t, 'state', session.state), state: markOf(session.state) },
    ranges(session.classes) || t('uplinks.all'),
    session.inflight === undefined ? '–' : `${session.inflight}${uplink.window ? ` / ${uplink.window}` : ''}`,
    duration(session.oldestMs),
    session.rttMs > 0 ? duration(session.rttMs) : '–',
    reasonText(t, session)
  ];
  /** The session that sends copies of class 1. */
  const copies = (alarms) => ({
    ...alarms,
    classes: [t('uplinks.copies')],
    ...(alarms.state === 'connected' && {
      code: '',
      short: '',
      reason: t('uplinks.copied', {
        path: alarms.path,
        sent: count(alarms.sent),
        first: count(alarms.first)
      })
    })
  });
  return {
    element: h(
      'div',
      {},
      ...[sessions.element, drain, network.element, urlsTitle, urls.element, pathsTitle, paths.element]
    ),
    update({ uplinks: all, drain: { records, trend, seconds }, network: forecasts }) {
      network.update(forecasts);
      sessions.update(
        all.flatMap((uplink) => {
          const own = uplink.sessions.length > 0 ? uplink.sessions : [{ ...uplink, classes: [] }];
          const forCommands = uplink.commands
            ? [{ ...uplink.commands, classes: [t('uplinks.commands')], code: '', short: '' }]
            : [];
          const forAlarms = uplink.alarms ? [copies(uplink.alarms)] : [];
          return [...own, ...forAlarms, ...forCommands].map((session) => sessionRow(uplink, session));
        })
      );
      const places = all.flatMap(({ name, urls: own = [] }) => own.map((place) => ({ name, ...place })));
      urlsTitle.hidden = urls.element.hidden = places.length === 0;
      urls.update(
        places.map(({ name, url, state, reason }) => [
          visible(name),
          visible(url),
          { text: word(t, 'state', state), state: markOf(state) },
          visible(reason)
        ])
      );
      // The sessions of an uplink use the same paths, but those of alarms only one of them each.
      const rows = all.flatMap(({ alarms, sessions: own }) => own.at(alarms ? -1 : 0)?.paths ?? []);
      pathsTitle.hidden = paths.element.hidden = rows.length === 0;
      paths.update(
        rows.map((path) => [
          visible(path.name),
          { text: word(t, 'state', path.state), state: markOf(path.state) },
          visible(path.role),
          visible(`${path.interface} ${path.address}`),
          count(path.subflows),
          path.rttMs > 0 ? duration(path.rttMs) : '–'
        ])
      );
      const values = { records: count(records), time: duration(seconds === null ? -1 : seconds * 1000) };
      setText(drain, t(`drain.${trend}`, values));
    }
  };
}

function classes(t) {
  const table = new Table({
    label: t('section.classes'),
    columns: [
      { label: t('classes.class') },
      { label: t('classes.delivered'), numeric: true },
      { label: t('classes.waiting'), numeric: true },
      { label: t('classes.onDisk'), numeric: true },
      { label: 'p50', numeric: true },
      { label: 'p99', numeric: true },
      { label: t('classes.drops') }
    ]
  });
  const dropText = (drops) =>
    Object.entries(drops)
      .map(([reason, number]) => `${word(t, 'drop', reason)} ${count(number)}`)
      .join(', ') || '0';
  return {
    element: h('div', {}, table.element, h('p', { class: 'note' }, t('classes.note'))),
    update: (snapshot) =>
      table.update(
        snapshot.classes.map((row) => [
          classText(t, row.class),
          count(row.deliveredPerS),
          count(row.waiting),
          count(row.onDisk),
          duration(row.p50),
          duration(row.p99),
          dropText(row.drops)
        ])
      )
  };
}

/** A list of names and values. */
export function facts(t, group, names) {
  const values = names.map((name) => [name, h('dd')]);
  const rows = values.map(([name, value]) => h('div', {}, h('dt', {}, t(`${group}.${name}`)), value));
  const element = h('dl', {}, ...rows);
  const byName = new Map(values);
  return {
    element,
    set(name, text, state = '') {
      const value = byName.get(name);
      setText(value, text);
      value.dataset.state = state;
    }
  };
}

function batches(t) {
  const list = facts(t, 'batches', ['perS', 'meanRecords', 'meanBytes', 'sealed']);
  const table = new Table({
    label: t('batches.reasons'),
    columns: [{ label: t('batches.reason') }, { label: t('batches.count'), numeric: true }]
  });
  return {
    element: h('div', {}, list.element, table.element),
    update({ batches: { perS, meanRecords, meanBytes, sealed, reasons } }) {
      list.set('perS', count(perS));
      list.set('meanRecords', count(meanRecords));
      list.set('meanBytes', bytes(meanBytes));
      list.set('sealed', count(sealed));
      table.update(Object.entries(reasons).map(([name, number]) => [word(t, 'seal', name), count(number)]));
    }
  };
}

function log(t) {
  const none = h('p', { class: 'none' }, t('log.none'));
  const names = ['state', 'reason', 'waiting', 'file', 'dead', 'quarantined', 'commits', 'directory'];
  const list = facts(t, 'log', names);
  const dead = h('p', { class: 'note' }, t('log.deadNote'));
  return {
    element: h('div', {}, none, list.element, dead),
    update({ log: view }) {
      none.hidden = view !== null;
      list.element.hidden = view === null;
      dead.hidden = !view?.dead;
      if (!view) return;
      list.set('state', word(t, 'state', view.state), markOf(view.state));
      list.set('reason', visible(t.inWords(view.reason || '–')));
      list.set('waiting', `${bytes(view.bytes)} / ${bytes(view.limitBytes)}`);
      list.set('file', bytes(view.fileBytes));
      list.set('dead', count(view.dead), view.dead > 0 ? 'bad' : '');
      list.set('quarantined', count(view.quarantined), view.quarantined > 0 ? 'bad' : '');
      list.set('commits', `${count(view.commits)} (${duration(view.commitMs)})`);
      list.set('directory', visible(view.directory));
    }
  };
}

function workers(t) {
  const table = new Table({
    label: t('section.workers'),
    columns: [
      { label: t('workers.worker') },
      { label: t('workers.core') },
      { label: t('workers.load'), numeric: true },
      { label: t('workers.connections'), numeric: true }
    ]
  });
  return {
    element: table.element,
    update: (snapshot) =>
      table.update(
        snapshot.workers.map(({ index, core, reason, busy, connections }) => [
          String(index),
          core < 0 ? t('workers.free', { reason: visible(reason) }) : String(core),
          percent(busy),
          count(connections)
        ])
      )
  };
}

function commands(t) {
  const list = facts(t, 'commands', ['waiting', 'taken', 'refused', 'expired', 'timeout', 'full', 'queued']);
  return {
    element: list.element,
    update({ commands: view }) {
      for (const name of ['waiting', 'taken', 'refused', 'expired', 'timeout', 'full', 'queued'])
        list.set(name, count(view[name]));
    }
  };
}

/** Returns a node's name for a person. */
export const nodeText = (node) => visible(node.name || node.type.replace(/^seganet-/, '').replace(/-/g, ' '));

function nodes(t) {
  const table = new Table({
    label: t('section.nodes'),
    none: t('nodes.none'),
    columns: [
      { label: t('nodes.node') },
      { label: t('nodes.status') },
      { label: t('nodes.in'), numeric: true },
      { label: t('nodes.out'), numeric: true },
      { label: t('nodes.wires') }
    ]
  });
  const more = h('p', { class: 'note' });
  const wireText = (wires, names) =>
    wires.map(({ to, carriage, reason }) => {
      const why = reason ? ` (${visible(t.inWords(reason))})` : '';
      return `${names.get(to) ?? visible(to)}: ${word(t, 'carriage', carriage)}${why}`;
    });
  return {
    element: h('div', {}, table.element, more),
    update({ nodes: all, nodesLeftOut }) {
      const names = new Map(all.map((node) => [node.id, nodeText(node)]));
      more.hidden = nodesLeftOut === 0;
      setText(more, t('nodes.more', { number: nodesLeftOut }));
      table.update(
        all.map((node) => [
          { text: nodeText(node), title: node.type },
          { text: visible(t.inWords(node.status?.text ?? '–')), state: FILLS[node.status?.fill] ?? 'off' },
          count(node.inPerS),
          node.wires.length > 0 ? count(node.outPerS) : '–',
          wireText(node.wires, names).join(', ') || '–'
        ])
      );
    }
  };
}

/** The sections in their order: name and maker. */
export const SECTIONS = [
  ['uplinks', uplinks],
  ['classes', classes],
  ['nodes', nodes],
  ['batches', batches],
  ['log', log],
  ['workers', workers],
  ['commands', commands]
];

/** The figures at the top. */
export function summary(t) {
  const list = facts(t, 'summary', ['devices', 'received', 'delivered', 'waiting', 'memory', 'dropped']);
  list.element.classList.add('tiles');
  const alert = h('p', { class: 'alert', hidden: true });
  return {
    element: h('div', {}, list.element, alert),
    update({ summary: view, drain: { trend } }) {
      list.set('devices', count(view.devices));
      list.set(
        'received',
        t('summary.perS', { rate: count(view.receivedPerS), total: count(view.received) })
      );
      list.set(
        'delivered',
        t('summary.perS', { rate: count(view.deliveredPerS), total: count(view.delivered) })
      );
      const values = { waiting: count(view.waiting), safe: count(view.safe) };
      list.set('waiting', t('summary.safe', values), ['shrinking', 'growing'].includes(trend) ? 'warn' : '');
      list.set(
        'memory',
        `${bytes(view.memoryBytes)} / ${bytes(view.memoryLimitBytes)}`,
        view.slowedFrom > 0 ? 'warn' : ''
      );
      list.set('dropped', count(view.dropped), view.dropped > 0 ? 'warn' : '');
      const slowed = view.slowedFrom > 0 ? t('summary.slowed', { number: view.slowedFrom }) : '';
      const waits = view.waitsFor ? t('summary.waits', { reason: visible(t.inWords(view.waitsFor)) }) : '';
      const text = [slowed, waits].filter(Boolean).join(' ');
      alert.hidden = text === '';
      setText(alert, text);
    }
  };
}

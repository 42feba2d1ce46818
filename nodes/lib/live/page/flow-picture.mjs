// A picture of what records pass: devices, classes, log, sessions, cloud, with the rates between them and what waits.
// All of it is in the sentence for a screen reader, too; the picture itself is hidden from it.

import { h, setAttribute, setText } from './dom.mjs';
import { count, visible } from './format.mjs';
import { classText, markOf, ranges, word } from './sections.mjs';

const STATIONS = ['devices', 'classes', 'log', 'sessions', 'cloud'];
/** Rows of a station; further ones are counted. */
const MOST_ROWS = 6;
/** Kinds of nodes where records enter. */
const ENTRIES = ['source', 'ingest'];

/** Returns how fast the dots move, 0 (not at all) to 4: one step for each power of ten. */
const paceOf = (perS) => (perS > 0 ? Math.min(4, 1 + Math.max(0, Math.floor(Math.log10(perS)))) : 0);

export function flowPicture(t) {
  const stations = new Map(STATIONS.map((name) => [name, station(t(`flow.${name}`))]));
  const pipes = STATIONS.slice(1).map(() => pipe());
  const parts = [...stations.values()].flatMap(({ element }, index) =>
    index === 0 ? [element] : [pipes[index - 1].element, element]
  );
  const sentence = h('p', { class: 'unseen' });
  return {
    element: h('div', {}, h('div', { class: 'flow', 'aria-hidden': 'true' }, ...parts), sentence),
    update(snapshot) {
      const view = viewOf(t, snapshot);
      for (const [name, { update }] of stations) update(view[name]);
      for (const [index, { update }] of pipes.entries()) update(view.pipes[index]);
      setText(sentence, sentenceOf(t, snapshot, view));
    }
  };
}

/** Returns what each station and each pipe shows. */
function viewOf(t, { summary, classes, log, uplinks, nodes, batches, drain, health }) {
  const enter = nodes.reduce((sum, { kind, outPerS }) => sum + (ENTRIES.includes(kind) ? outPerS : 0), 0);
  const isBehind = ['shrinking', 'growing'].includes(drain.trend);
  const rows = uplinks.flatMap((uplink) =>
    (uplink.sessions.length > 0 ? uplink.sessions : [{ ...uplink, classes: [] }]).map((session) => ({
      name: session.classes.length > 0 ? ranges(session.classes) : visible(uplink.name),
      text: word(t, 'state', session.state),
      state: markOf(session.state),
      inflight: session.inflight ?? 0
    }))
  );
  const inflight = rows.reduce((sum, row) => sum + row.inflight, 0);
  return {
    devices: {
      figure: count(summary.devices),
      note: t('flow.connected'),
      state: summary.slowedFrom > 0 ? 'warn' : ''
    },
    classes: {
      figure: count(summary.waiting),
      note: t('flow.wait'),
      state: isBehind ? 'warn' : '',
      rows: classes
        .filter((row) => row.class > 0)
        .map((row) => ({
          name: classText(t, row.class),
          text: count(row.waiting),
          part: row.waiting / Math.max(1, summary.waiting)
        }))
    },
    log: log
      ? {
          figure: count(summary.safe),
          note: t('flow.safe'),
          state: markOf(log.state),
          rows: [
            {
              name: word(t, 'state', log.state),
              text: log.limitBytes > 0 ? `${Math.ceil((100 * log.bytes) / log.limitBytes)}\u00a0%` : '',
              part: log.bytes / Math.max(1, log.limitBytes)
            }
          ]
        }
      : { figure: '–', note: t('flow.noLog'), state: '' },
    sessions: {
      figure: count(inflight),
      note: t('flow.inflight'),
      state: ['bad', 'warn'].find((mark) => rows.some(({ state }) => state === mark)) ?? '',
      rows
    },
    cloud: {
      figure: count(summary.delivered),
      note: t('flow.delivered'),
      state: health.ok ? 'ok' : 'bad'
    },
    pipes: [
      { perS: enter, text: t('flow.perS', { rate: count(enter) }) },
      { perS: batches.perS, text: t('flow.batches', { rate: count(batches.perS) }) },
      { perS: summary.deliveredPerS, text: '' },
      { perS: summary.deliveredPerS, text: t('flow.perS', { rate: count(summary.deliveredPerS) }) }
    ]
  };
}

function sentenceOf(t, { summary }, { devices, classes, sessions, cloud, pipes }) {
  const list = (rows) => rows.map(({ name, text }) => `${name}: ${text}`).join(', ');
  return t('flow.told', {
    devices: devices.figure,
    in: pipes[0].text,
    waiting: count(summary.waiting),
    safe: count(summary.safe),
    classes: list(classes.rows),
    sessions: list(sessions.rows) || t('uplinks.none'),
    out: pipes[3].text,
    delivered: cloud.figure
  });
}

/** A box with a title, a figure, and rows: { name, text, state, part: 0..1 of a bar }. */
function station(title) {
  const figure = h('strong');
  const note = h('span', { class: 'note' });
  const list = h('ul');
  const element = h(
    'div',
    { class: 'station' },
    h('span', { class: 'title' }, title),
    h('span', { class: 'figure' }, figure, ' ', note),
    list
  );
  return {
    element,
    update({ figure: shown, note: text, state, rows = [] }) {
      setText(figure, shown);
      setText(note, text);
      setAttribute(element, 'data-mark', state || null);
      const few = rows.length > MOST_ROWS ? rows.slice(0, MOST_ROWS - 1) : rows;
      const more = rows.length - few.length;
      const lines = more > 0 ? [...few, { name: `+ ${more}`, text: '' }] : few;
      while (list.children.length > lines.length) list.lastChild.remove();
      for (const [index, line] of lines.entries()) fillRow(list.children[index] ?? addRow(list), line);
    }
  };
}

function addRow(list) {
  const row = h(
    'li',
    {},
    h('span', { class: 'name' }),
    h('span', { class: 'text' }),
    h('span', { class: 'bar' })
  );
  list.append(row);
  return row;
}

function fillRow(row, { name, text, state = null, part = null }) {
  const [first, second, bar] = row.children;
  setText(first, name);
  setText(second, text);
  setAttribute(second, 'data-state', state);
  bar.hidden = part === null;
  // What is little is seen, too.
  const width = part > 0 ? Math.max(3, Math.min(100, 100 * part)) : 0;
  bar.style.setProperty('--part', `${width}%`);
}

/** A line with moving dots between two stations. */
function pipe() {
  const rate = h('span', { class: 'rate' });
  const element = h(
    'div',
    { class: 'pipe' },
    rate,
    h('span', { class: 'bed' }, h('span', { class: 'dots' }))
  );
  return {
    element,
    update({ perS, text }) {
      setText(rate, text);
      setAttribute(element, 'data-pace', String(paceOf(perS)));
    }
  };
}

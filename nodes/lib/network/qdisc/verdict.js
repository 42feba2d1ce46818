'use strict';
// Determines whether an interface, set up by any program, sends urgent packets first, and what its bands have counted.
// Pure.

const { BANDS, MAJOR } = require('./bands');
const { formatRate } = require('./link-bitrate');

/** @typedef {import('./inspect-qdisc').Facts} Facts */
/** @typedef {import('./tc-output').Counters} Counters */
/** @typedef {Counters & { name: string }} BandCounters */
/**
 * @typedef {object} Verdict
 * @property {boolean} ok
 * @property {string} kind the qdisc, or its container and the qdisc: tbf-pfifo_fast
 * @property {string} reason a sentence
 * @property {number} rate bits per second, 0 = not shaped
 * @property {BandCounters[]} bands
 */
/** @typedef {{ ok: boolean, kind?: string, reason: string, bands: BandCounters[] }} Inner */

const NOT_SHAPED = 'Not shaped: priority works only where packets wait in this interface, not beyond it.';
const UNCOUNTED = 'The kernel does not count its bands separately.';

/**
 * @param {string} name
 * @param {Counters} counters
 * @returns {BandCounters}
 */
const band = (name, { bytes, packets, dropped, backlogBytes }) => ({
  name,
  bytes,
  packets,
  dropped,
  backlogBytes
});

/** @param {Facts} facts @param {string} parent '' = the root */
const qdiscAt = (facts, parent) => facts.qdiscs.find((qdisc) => qdisc.parent === parent);

/**
 * Returns names for bands in the order of urgency.
 * @param {string[]} ids
 * @returns {string[]}
 */
function namesOf(ids) {
  return ids.length === BANDS.length ? BANDS.map(({ name }) => name) : ids;
}

/**
 * Checks the bands of the priomap: priority 6 must go before 0.
 * @param {Facts} facts
 * @param {import('./tc-output').Qdisc} qdisc
 * @returns {Inner}
 */
function verdictOfPrio(facts, qdisc) {
  const { priomap = [] } = qdisc.options;
  const classes = facts.classes.filter(({ id }) => id.startsWith(qdisc.handle));
  const names = namesOf(classes.map(({ id }) => id));
  const bands = classes.map((each, i) => band(names[i], each));
  if (!(priomap[6] < priomap[0])) {
    return { ok: false, reason: 'The priomap does not put SO_PRIORITY 6 before 0.', bands };
  }
  return { ok: true, reason: 'Three bands by SO_PRIORITY.', bands };
}

/** Returns what a filter matches, in words. @param {import('./tc-output').Filter} filter */
function sees({ kind, protocol, matches }) {
  if (kind === 'bpf') return 'SO_PRIORITY (eBPF)';
  if (kind === 'basic' && matches.some((match) => match.includes('priority'))) return 'SO_PRIORITY';
  if (kind === 'u32' && matches.some((match) => /\/00f[cf]0000 at 0$/.test(match))) return 'DSCP';
  if (kind === 'u32' && matches.some((match) => /\/0f[cf]00000 at 0$/.test(match))) return 'DSCP';
  return `${kind} for ${protocol}`;
}

/**
 * @param {Facts} facts
 * @param {import('./tc-output').Qdisc} root
 * @returns {Inner}
 */
function verdictOfHtb(facts, root) {
  const parents = new Set(facts.classes.map(({ parent }) => parent));
  const leaves = facts.classes.filter(({ id, kind }) => kind === 'htb' && !parents.has(id));
  const standard = `${root.handle}${Number(root.options.default ?? 0).toString(16)}`;
  const inDefault = qdiscAt(facts, standard);
  const sorted = [...leaves].sort((a, b) => a.prio - b.prio);
  const isOrder = sorted.every(({ prio }, i) => i === 0 || prio > sorted[i - 1].prio);
  const ids = sorted.map(({ id }) => id);
  const names = isOrder ? namesOf(ids) : ids;
  const bands = sorted.map((each, i) => band(names[i], each));
  const urgent = sorted[0];
  const isSplit = leaves.some(({ prio }) => prio > urgent.prio);
  const isCaught = leaves.some(({ id }) => id === standard);
  const filters = facts.filters.filter(
    ({ parent, flowid, kind }) =>
      parent === root.handle && isSplit && (flowid === urgent.id || (flowid === '' && kind === 'bpf'))
  );
  if (isCaught && standard !== urgent.id && filters.length > 0) {
    const by = [...new Set(filters.filter(({ protocol }) => protocol !== 'arp').map(sees))];
    return { ok: true, reason: `The urgent class goes first, by ${by.join(', ')}.`, bands };
  }
  if (inDefault) {
    const inner = verdictOfInner(facts, inDefault);
    if (inner.ok) return { ...inner, kind: `htb-${inDefault.kind}` };
  }
  return { ok: false, reason: whyNot({ urgent, isSplit, isCaught, standard }), bands };
}

/**
 * @param {{ urgent: import('./tc-output').Class | undefined, isSplit: boolean, isCaught: boolean, standard: string }}
 *   htb
 * @returns {string}
 */
function whyNot({ urgent, isSplit, isCaught, standard }) {
  if (!urgent) return 'htb has no classes.';
  if (!isSplit) return 'None of the htb classes goes before the others.';
  if (!isCaught) return 'htb has no default class: packets that no filter matches bypass the classes.';
  if (standard === urgent.id) return 'Packets that no filter matches also go into the most urgent class.';
  return `No filter selects the most urgent class ${urgent.id}.`;
}

/**
 * @param {Facts} facts
 * @param {import('./tc-output').Qdisc} qdisc inside another one, or the root
 * @returns {Inner}
 */
function verdictOfInner(facts, qdisc) {
  if (qdisc.kind === 'prio') return verdictOfPrio(facts, qdisc);
  const bands = [band('all', qdisc)];
  if (qdisc.kind === 'pfifo_fast') {
    return { ok: true, reason: `Three bands by SO_PRIORITY. ${UNCOUNTED}`, bands };
  }
  const { diffserv } = qdisc.options;
  if (qdisc.kind === 'cake' && typeof diffserv === 'string' && diffserv !== 'besteffort') {
    return { ok: true, reason: `Tins by DSCP (${diffserv}); cake ignores SO_PRIORITY.`, bands };
  }
  return {
    ok: false,
    reason: `'${qdisc.kind}' never lets a packet overtake another because of its priority.`,
    bands
  };
}

/** @param {Facts} facts @returns {Verdict} */
function verdictOf(facts) {
  const root = qdiscAt(facts, '');
  const { name } = facts.link;
  if (!root || root.kind === 'noqueue' || root.kind === 'noop') {
    const reason = `'${name}' has no queue of its own: packets wait elsewhere, if at all.`;
    return { ok: false, kind: root?.kind ?? 'none', reason, rate: 0, bands: [] };
  }
  if (root.kind === 'mq') {
    const reason = `'${name}' has a queue for each of several transmit rings (mq), and none goes before the others.`;
    return { ok: false, kind: 'mq', reason, rate: 0, bands: [band('all', root)] };
  }
  if (root.kind === 'tbf') {
    const rate = Number(root.options.rate ?? 0) * 8; // in bytes in JSON
    const inner = qdiscAt(facts, `${root.handle}1`);
    if (inner) {
      const verdict = verdictOfInner(facts, inner);
      return { ...verdict, kind: `tbf-${inner.kind}`, rate };
    }
    const reason = 'One queue for all packets: tbf alone lets none overtake another.';
    return { ok: false, kind: 'tbf', reason, rate, bands: [band('all', root)] };
  }
  if (root.kind === 'htb') {
    const inner = verdictOfHtb(facts, root);
    const rate = Math.max(0, ...facts.classes.map(({ ceil }) => ceil));
    const isWhole = facts.link.gsoMaxSegs > 1 && inner.ok;
    const gso = isWhole ? ' gso_max_segs is not 1: an urgent packet may wait for one of 64 kB.' : '';
    return { kind: 'htb', ...inner, reason: inner.reason + gso, rate };
  }
  const inner = verdictOfInner(facts, root);
  return {
    ...inner,
    kind: root.kind,
    reason: inner.ok ? `${inner.reason} ${NOT_SHAPED}` : inner.reason,
    rate: 0
  };
}

/** The settings of each qdisc that define the set-up. @type {Record<string, string[]>} */
const SETTINGS = {
  htb: ['default'],
  tbf: ['rate', 'burst'],
  prio: ['bands', 'priomap'],
  pfifo: ['limit'],
  fq_codel: ['target']
};

/**
 * Returns the set-up without values that change by themselves: two identical set-ups have equal fingerprints.
 * @param {Facts} facts
 * @returns {string[]}
 */
function fingerprint({ qdiscs, classes, filters }) {
  return [
    ...qdiscs.map(({ kind, handle, parent, options }) => {
      const settings = (SETTINGS[kind] ?? []).map(
        (name) => `${name} ${JSON.stringify(options[name] ?? null)}`
      );
      return ['qdisc', kind, handle, parent || 'root', ...settings].join(' ');
    }),
    ...classes.map(
      ({ id, parent, prio, rate, ceil }) => `class ${id} ${parent || 'root'} ${prio} ${rate} ${ceil}`
    ),
    ...filters.map(
      ({ parent, protocol, pref, kind, flowid, matches }) =>
        `filter ${parent} ${protocol} ${pref} ${kind} ${flowid || '-'} ${matches.join(' ')}`
    )
  ].sort();
}

/**
 * True if the root is one that apply creates.
 * @param {import('./tc-output').Qdisc | undefined} root
 * @param {string[]} print
 */
const isRootOf = (root, print) =>
  root !== undefined &&
  root.handle === `${MAJOR}:` &&
  print.some((line) => line.startsWith(`qdisc ${root.kind} ${root.handle} root`));

/** Returns a rate for display. @param {number} rate */
const rateText = (rate) => (rate > 0 ? formatRate(rate) : 'not shaped');

module.exports = { verdictOf, fingerprint, isRootOf, rateText };

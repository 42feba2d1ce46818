'use strict';
// Checks what tenants got against what devices had acknowledged (docs/use/tenants.md, "Guarantees"). Pure, and
// independent of the gateway's own counters.

/**
 * @typedef {import('../history').DeviceEvent} DeviceEvent device: tenant/device@seed
 *
 * @typedef {object} Line what a tenant noted of a record behind unbatch, in the order of its arrival
 * @property {string} d device in the tenant @property {string} t topic @property {any} p payload
 * @property {number} c class
 * @property {string} key of its batch @property {number} i index in the batch
 * @property {boolean} h from the log @property {number} pid of the tenant's process
 * @property {string} [failed] why the tenant could not store it
 *
 * @typedef {object} History
 * @property {number} seed
 * @property {DeviceEvent[]} devices in the order of time
 * @property {Record<string, (Line | null)[]>} lines by tenant; null: a line that is not whole
 * @property {number[]} killed processes of tenants that were killed, or stopped while they were used: their memory of
 *   keys is lost
 * @property {{what: string, text: string}[]} findings of the harness
 * @property {{kind: string, tenant: string, time: number, until: number}[]} faults
 *
 * @typedef {{hash: string, sends: number, acked: boolean, event: DeviceEvent}} Known
 * @typedef {{what: string, text: string, history: string[]}} Violation
 */

const EXPLAINED = 5;

/** @param {{device: string, class: number, n: number}} record */
const nameOf = ({ device, class: recordClass, n }) => `${device} c${recordClass} n${n}`;

class Findings {
  /** @param {History} history */
  constructor(history) {
    this.history = history;
    /** @type {Record<string, number>} */
    this.counts = {};
    /** @type {Violation[]} */
    this.violations = [];
  }

  /** @param {string} what @param {string} text @param {string} [name] of the record that explains it */
  add(what, text, name) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    if (this.counts[what] > EXPLAINED) return;
    this.violations.push({ what, text, history: name ? this.#story(name) : [] });
  }

  /** @param {string} name */
  #story(name) {
    const { devices, lines, faults, killed } = this.history;
    const at = (/** @type {number} */ ms) => `${(ms / 1000).toFixed(3)} s`;
    const timed = devices
      .filter((event) => nameOf(event) === name)
      .map((event) => ({ time: event.time, text: `${event.dup ? 'sent again' : event.type} by the device` }))
      .concat(
        faults.map(({ kind, tenant, time, until }) => ({
          time,
          text: `fault ${kind} ${tenant} until ${at(until)}`
        }))
      )
      .sort((a, b) => a.time - b.time)
      .map(({ time, text }) => `${at(time)}  ${text}`);
    const noted = Object.entries(lines).flatMap(([tenant, all]) =>
      all.flatMap((line, i) =>
        line && line.p && nameOf(line.p) === name
          ? [
              `line ${i} of ${tenant}: key ${line.key}#${line.i} ${line.h ? 'from the log' : 'live'} process ${line.pid} ${line.failed ?? ''}`
            ]
          : []
      )
    );
    return [...timed, ...noted, `killed: ${killed.join(' ')}`];
  }
}

/** @param {DeviceEvent[]} events @returns {Map<string, Known>} by name of the record */
function readDevices(events) {
  /** @type {Map<string, Known>} */
  const known = new Map();
  for (const event of events) {
    const name = nameOf(event);
    const entry = known.get(name) ?? { hash: '', sends: 0, acked: false, event };
    known.set(name, entry);
    if (event.type === 'ack') entry.acked = true;
    else {
      entry.sends += 1;
      entry.hash = event.hash ?? '';
    }
  }
  return known;
}

/**
 * Whose record a line is, and whether it is whole.
 * @param {Line} line @param {string} tenant @param {Map<string, Known>} known @param {Findings} findings
 */
function checkContent(line, tenant, known, findings) {
  const name = nameOf(line.p);
  const [place] = line.p.device.split('@');
  if (!place.startsWith(`${tenant}/`)) findings.add('foreign', `${name} arrived at ${tenant}`, name);
  const sent = known.get(name);
  if (!sent) return void findings.add('phantom', `${name} arrived, and no device sent it`, name);
  const isRight =
    line.p.hash === sent.hash && `${tenant}/${line.d}` === place && line.t === `d/${line.d}/c${line.c}`;
  if (!isRight || line.c !== line.p.class)
    findings.add('changed', `${name} arrived as ${JSON.stringify(line).slice(0, 200)}`, name);
}

/**
 * Checks the lines of one tenant.
 * @param {string} tenant
 * @param {History} history @param {Map<string, Known>} known @param {Findings} findings
 * @param {{delivered: Set<string>, sums: Record<string, number>}} outcome
 */
function checkTenant(tenant, history, known, findings, { delivered, sums }) {
  const killed = new Set(history.killed);
  /** Process that stored a record of a batch. @type {Map<string, number>} */
  const stored = new Map();
  /** Batches of which the tenant refused a record. @type {Set<string>} */
  const refused = new Set();
  /** Records of which the tenant refused a copy. @type {Set<string>} */
  const late = new Set();
  /** @type {Map<string, Set<string>>} */
  const keys = new Map();
  /** Last first delivery. @type {Map<string, number>} */
  const last = new Map();
  const suffix = `@${history.seed}`;
  for (const line of history.lines[tenant]) {
    if (!line) {
      findings.add('damaged', `a line of ${tenant} is not whole`);
      continue;
    }
    if (!String(line.p?.device).endsWith(suffix)) {
      sums.earlier += 1;
      continue;
    }
    checkContent(line, tenant, known, findings);
    const name = nameOf(line.p);
    if (line.failed) {
      sums.refused += 1;
      refused.add(line.key);
      late.add(name);
      continue;
    }
    const id = `${line.key}#${line.i}`;
    const before = stored.get(id);
    if (before === undefined) stored.set(id, line.pid);
    else if (refused.has(line.key)) sums.again += 1;
    else if (before !== line.pid && killed.has(before)) sums.copies += 1;
    else
      findings.add(
        before === line.pid ? 'doubled' : 'doubled after a stop',
        `${name} arrived twice as ${id}`,
        name
      );
    stored.set(id, line.pid);
    const own = keys.get(name) ?? new Set();
    keys.set(name, own.add(id));
    if (own.size > (known.get(name)?.sends ?? 1))
      findings.add('doubled', `${name} was sent ${known.get(name)?.sends} times, and has ${own.size} keys`, name); // prettier-ignore
    if (delivered.has(name)) continue;
    delivered.add(name);
    const lane = `${line.p.device} c${line.c} ${line.h ? 'from the log' : 'live'}`;
    const { n } = line.p;
    if (n > (last.get(lane) ?? -1)) last.set(lane, n);
    // The tenant refused it, and took later ones meanwhile.
    else if (late.has(name)) sums.excused += 1;
    else findings.add('swapped', `${lane}: n${n} arrived after n${last.get(lane)}`, name);
  }
}

/** @param {History} history */
function check(history) {
  const findings = new Findings(history);
  const known = readDevices(history.devices);
  /** @type {Set<string>} */
  const delivered = new Set();
  const sums = { earlier: 0, refused: 0, again: 0, copies: 0, excused: 0 };
  for (const tenant of Object.keys(history.lines))
    checkTenant(tenant, history, known, findings, { delivered, sums });
  let acknowledged = 0;
  for (const [name, { acked }] of known) {
    if (!acked) continue;
    acknowledged += 1;
    if (!delivered.has(name)) findings.add('lost', `${name} was acknowledged, and its tenant did not get it`, name); // prettier-ignore
  }
  for (const { what, text } of history.findings) findings.add(what, text);
  const { counts, violations } = findings;
  return {
    valid: violations.length === 0,
    acknowledged,
    delivered: delivered.size,
    lost: counts.lost ?? 0,
    doubled: (counts.doubled ?? 0) + (counts['doubled after a stop'] ?? 0),
    swapped: counts.swapped ?? 0,
    foreign: counts.foreign ?? 0,
    stuck: counts.stuck ?? 0,
    ...sums,
    counts,
    violations
  };
}

/** @typedef {ReturnType<typeof check>} Verdict */

module.exports = { check, nameOf };

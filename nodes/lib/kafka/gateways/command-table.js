'use strict';
// The commands that wait in a cluster, in the order of their topic. The first record that ends a command counts,
// whichever gateway wrote it; its writer reports the outcome.
//
//   add() ─▶ adding ─ read ─▶ waiting ─ end() ─▶ ending ─ read ─▶ ended
//                                └──── read: another gateway ended it ──▲
//
// Pure: the caller publishes what the methods return, and calls tick() once a second.

const {
  MOST_KEY_CHARACTERS,
  commandRecord,
  keyOf,
  outcomeRecord,
  readCommand,
  readOutcome,
  writeProblem
} = require('./command-record');

/**
 * @typedef {import('../../commands/command').Command} Command
 * @typedef {import('../../commands/command').Status} Status
 * @typedef {{ status: Status, reason: string }} Outcome
 * @typedef {{ key: string, value: string | null, headers?: Record<string, string> }} Publication
 *
 * @typedef {object} Entry
 * @property {Command} command
 * @property {boolean} isOwn it came in at this gateway
 * @property {boolean} isRead the topic has it
 * @property {boolean} isOffered to the engines
 * @property {((error: Error | null) => void)[]} adding callers of add() that wait for the in-sync replicas
 * @property {Outcome | null} outcome that this gateway has found
 * @property {number} endsAt when that is published, 0 = it is; ms, monotonic
 * @property {number} round of the connection that has read it last
 *
 * @typedef {object} TableParts
 * @property {import('./command-record').Writer} writer this gateway
 * @property {(records: Publication[]) => void} publish
 * @property {(key: string, command: Command) => void} offer to the engines: it may be delivered
 * @property {(key: string, command: Command, outcome: Outcome, isReporter: boolean) => void} ended isReporter: this
 *   gateway reports it
 * @property {() => number} now ms, monotonic
 * @property {() => number} wall ms since 1970
 * @property {Set<string>} [unread] of the table before this one: see unread()
 * @property {Partial<typeof LIMITS>} [limits]
 */

const LIMITS = {
  perDevice: 100,
  total: 10000,
  totalBytes: 16 << 20,
  /** Ids of ended commands, by which a copy is recognized. */
  ended: 10000,
  /** Before a command that another engine may be delivering ends as expired, so that it can finish its attempts. */
  graceMs: 15000
};
const ENTRY_BYTES = 256;
const COPY = {
  status: /** @type {Status} */ ('refused'),
  reason: 'A command with this id has ended before.'
};

class CommandTable {
  #parts;
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** The oldest one first. @type {Set<string>} */
  #ended = new Set();
  /** While the topic is read: commands that get this outcome if it has none. @type {Map<string, Outcome>} */
  #refused = new Map();
  /** @type {Map<string, number>} */
  #ofDevices = new Map();
  /** Commands that the table before this one has ended. @type {Set<string>} */
  #unread;
  #round = 0;
  #isCaughtUp = false;
  bytes = 0;
  /** Outcomes that counted, by status, of those that this gateway has written. @type {Record<string, number>} */
  outcomes = { taken: 0, refused: 0, expired: 0, timeout: 0, full: 0 };
  /** Outcomes of this gateway that came after that of another one. */
  late = 0;
  /** Records that are no command. */
  invalid = 0;

  /** @param {TableParts} parts */
  constructor({ limits = {}, unread = new Set(), ...parts }) {
    this.#parts = parts;
    this.#unread = unread;
    this.limits = { ...LIMITS, ...limits };
  }

  get size() {
    return this.#entries.size;
  }

  /**
   * Adds a command that came in here.
   * @param {Command} command
   * @param {(error: Error | null) => void} done called when the in-sync replicas have it, or it cannot be kept
   */
  add(command, done) {
    const key = keyOf(command);
    const known = this.#entries.get(key);
    // The same id is the same command: a broker may send one again, to another gateway.
    if (this.#ended.has(key) || (known && known.adding.length === 0)) return done(null);
    if (known) return void known.adding.push(done);
    const problem = writeProblem(command);
    if (problem) return done(Object.assign(new Error(problem), { status: 'refused' }));
    const full = this.#fullFor(command);
    if (full) return done(new Error(full));
    this.#enter(key, { ...fresh(command), isOwn: true, adding: [done] });
    this.#parts.publish([commandRecord(command, this.#parts.writer)]);
  }

  /** The in-sync replicas have what was published last under the key. @param {string} key */
  written(key) {
    for (const done of this.#entries.get(key)?.adding.splice(0) ?? []) done(null);
  }

  /** Kafka will never take the command. @param {string} key */
  tooLarge(key) {
    const entry = this.#entries.get(key);
    if (!entry || entry.isRead) return;
    this.#leave(key, entry);
    for (const done of entry.adding) done(new Error('It is larger than the topic of the commands allows.'));
  }

  /** @param {string} key @returns {Command | undefined} */
  get(key) {
    return this.#entries.get(key)?.command;
  }

  /** True if the command came in at this gateway. @param {string} key */
  isOwn(key) {
    return this.#entries.get(key)?.isOwn ?? false;
  }

  /** @returns {[string, Command][]} commands that may be delivered */
  offered() {
    return [...this.#entries]
      .filter(([, { isOffered, outcome }]) => isOffered && !outcome)
      .map(([key, { command }]) => [key, command]);
  }

  /**
   * This gateway has found the outcome. It counts if the topic has no earlier one.
   * @param {string} key
   * @param {Outcome} outcome
   * @param {boolean} isElsewhere another gateway has the device, or another engine has the command
   */
  end(key, outcome, isElsewhere) {
    const entry = this.#entries.get(key);
    if (!entry || (entry.outcome && entry.endsAt === 0)) return;
    const waits = outcome.status === 'expired' && isElsewhere;
    entry.outcome = outcome;
    entry.endsAt = waits ? this.#parts.now() + this.limits.graceMs : 0;
    if (!waits) this.#publishEnd(key, outcome);
  }

  /** Call it once a second. */
  tick() {
    const now = this.#parts.now();
    for (const [key, entry] of this.#entries) {
      if (!entry.outcome || entry.endsAt === 0 || entry.endsAt > now) continue;
      entry.endsAt = 0;
      this.#publishEnd(key, entry.outcome);
    }
  }

  /** @returns {Set<string>} keys of commands whose outcome this gateway has written, and neither read nor reported */
  unread() {
    const own = [...this.#entries].filter(([, { outcome, endsAt }]) => outcome && endsAt === 0);
    return new Set(own.map(([key]) => key));
  }

  /** The topic is read from its start. */
  begin() {
    this.#round++;
    this.#isCaughtUp = false;
    this.#refused.clear();
  }

  /** @param {Publication & { at: number }} record of the topic */
  take({ key, value, headers = {}, at }) {
    if (value === null) return this.#takeEnd(key, readOutcome(headers));
    if (this.#ended.has(key)) return this.#refuse(key, COPY);
    const known = this.#entries.get(key);
    if (known) {
      known.isRead = true;
      known.round = this.#round;
      return this.#offer(key, known);
    }
    const read = readCommand({ key, value, at });
    if ('problem' in read) {
      this.invalid++;
      return this.#refuse(key, { status: 'refused', reason: read.problem });
    }
    const { command, by } = read;
    // A gateway has looked before it wrote one.
    const full = by ? '' : this.#fullFor(command);
    if (full) return this.#refuse(key, { status: 'full', reason: full });
    this.#refused.delete(key);
    const entry = { ...fresh(command), isRead: true, isOwn: by?.boot === this.#parts.writer.boot, round: this.#round }; // prettier-ignore
    this.#enter(key, entry);
    this.#offer(key, entry);
  }

  /** The topic was read from its start. */
  caughtUp() {
    this.#isCaughtUp = true;
    let isStale = false;
    for (const [key, entry] of [...this.#entries]) {
      // Kafka has removed it, with the record that ended it.
      if (entry.isRead && entry.round !== this.#round) {
        isStale = true;
        this.#finish(
          key,
          entry,
          { status: 'refused', reason: 'It ended while the topic could not be read.' },
          false
        );
      } else this.#offer(key, entry);
    }
    for (const [key, outcome] of this.#refused) {
      // Commands that had ended took the room, and other gateways have this one.
      if (outcome.status !== 'full' || !isStale) this.#publishEnd(key, outcome);
    }
    this.#refused.clear();
  }

  /** Publishes what the topic may not have. */
  repeat() {
    const { publish, writer } = this.#parts;
    for (const [key, { command, isRead, outcome, endsAt }] of this.#entries) {
      if (outcome && endsAt === 0) this.#publishEnd(key, outcome);
      else if (!isRead) publish([commandRecord(command, writer)]);
    }
  }

  /** @param {string} key @param {Outcome & { boot: string }} outcome */
  #takeEnd(key, { boot, ...outcome }) {
    const isMine = boot === this.#parts.writer.boot;
    const entry = this.#entries.get(key);
    this.#refused.delete(key);
    if (!entry) {
      this.#remember(key);
      return;
    }
    // After a second reading, the outcome of a command that was reported is not known any more.
    const isReporter = isMine && (entry.outcome !== null || this.#unread.delete(key));
    if (isReporter) this.outcomes[outcome.status]++;
    else if (entry.outcome && entry.endsAt === 0) this.late++;
    this.#finish(key, entry, outcome, isReporter);
  }

  /** @param {string} key @param {Entry} entry @param {Outcome} outcome @param {boolean} isReporter */
  #finish(key, entry, outcome, isReporter) {
    this.#leave(key, entry);
    this.#remember(key);
    for (const done of entry.adding.splice(0)) done(null);
    this.#parts.ended(key, entry.command, outcome, isReporter);
  }

  /** @param {string} key */
  #remember(key) {
    // Others may write any key.
    if (key.length > MOST_KEY_CHARACTERS) return;
    this.#ended.delete(key);
    this.#ended.add(key);
    if (this.#ended.size <= this.limits.ended) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest);
  }

  /** @param {string} key @param {Entry} entry */
  #offer(key, entry) {
    if (!this.#isCaughtUp || !entry.isRead || entry.isOffered || entry.outcome) return;
    entry.isOffered = true;
    this.#parts.offer(key, entry.command);
  }

  /**
   * Ends a command of the topic that no engine gets.
   * @param {string} key
   * @param {Outcome} outcome
   */
  #refuse(key, outcome) {
    if (this.#isCaughtUp) this.#publishEnd(key, outcome);
    // A later record may have ended it.
    else if (this.#refused.size < this.limits.ended && key.length <= MOST_KEY_CHARACTERS)
      this.#refused.set(key, outcome);
  }

  /** @param {string} key @param {Outcome} outcome */
  #publishEnd(key, outcome) {
    const { publish, writer, wall } = this.#parts;
    publish([outcomeRecord(key, outcome, writer, wall())]);
  }

  /** @param {Command} command @returns {string} why there is no room, '' = there is */
  #fullFor({ device, payload }) {
    const { perDevice, total, totalBytes } = this.limits;
    if ((this.#ofDevices.get(device) ?? 0) >= perDevice)
      return `${perDevice} commands already wait for this device.`;
    if (this.#entries.size >= total) return `${total} commands already wait in the cluster.`;
    return this.bytes + costOf(payload) > totalBytes ? `${totalBytes} bytes of commands already wait in the cluster.` : ''; // prettier-ignore
  }

  /** @param {string} key @param {Entry} entry */
  #enter(key, entry) {
    const { device, payload } = entry.command;
    this.#entries.set(key, entry);
    this.#ofDevices.set(device, (this.#ofDevices.get(device) ?? 0) + 1);
    this.bytes += costOf(payload);
  }

  /** @param {string} key @param {Entry} entry */
  #leave(key, { command: { device, payload } }) {
    this.#entries.delete(key);
    const left = (this.#ofDevices.get(device) ?? 1) - 1;
    if (left > 0) this.#ofDevices.set(device, left);
    else this.#ofDevices.delete(device);
    this.bytes -= costOf(payload);
  }
}

/** @param {Buffer} payload */
const costOf = (payload) => ENTRY_BYTES + payload.length;

/** @param {Command} command @returns {Entry} */
const fresh = (command) => ({
  command,
  isOwn: false,
  isRead: false,
  isOffered: false,
  adding: [],
  outcome: null,
  endsAt: 0,
  round: 0
});

exports.CommandTable = CommandTable;

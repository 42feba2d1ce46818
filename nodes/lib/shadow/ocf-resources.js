'use strict';
// Shadows of OCF devices, which do not implement shadows. If a key of the desired state is an href, its value is
// written to this resource by an UPDATE. The reported state comes from answers and notifications of the resource.
//
// This class is the carrier of the shadow's leading command. Therefore a device has one write in flight, a write waits
// until its device connects, and a newer difference replaces one that waits.

const { cloudWith } = require('../ocf/node/clouds');
const { isHref, observeResource, readResource, updateResource } = require('../ocf/request/json-resources');
const { isPlain, parse, write } = require('./json');

/** The ids of OCF devices are UUIDs. */
const DEVICES = '????????-????-????-????-????????????';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Before the command itself times out, and a next one is sent. */
const WRITE_MS = 12000;
const LATE = 'The device has not answered in time.';
const MAX_OBSERVED = 1000;
const MAX_FAILED = 1000;
const MAX_UNSTORED = 1000;
/** Time after which reports that could not be stored are stored again. */
const STORE_MS = 1000;
/** Immediate retries of a value that got no answer or a 5.xx. */
const MOST_BRIEF = 2;
/** If a device does not keep a value (a button), the value is written again after this time, which doubles. */
const [FIRST_GAP_MS, LAST_GAP_MS] = [1000, 60000];
/** After a refusal, the same value is not sent again for this time, which doubles. */
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [10000, 3600000];

/**
 * @typedef {import('../ocf/node/clouds').Cloud} Cloud
 * @typedef {import('../commands/command-carriers').CommandView} CommandView
 * @typedef {import('../commands/command-carriers').Carried} Carried
 *
 * @typedef {object} Failed a write
 * @property {string} json that was refused
 * @property {string} reason a sentence
 * @property {number} at ms since 1970
 * @property {number} tries after the first one
 * @property {boolean} isBrief there was no answer, or a 5.xx
 * @property {boolean} [isDue] the device has connected since, so the value is sent at once
 *
 * @typedef {object} Observed a resource
 * @property {import('../ocf/cloud/own-observations').OwnObservation} own
 * @property {string} json that was written last, '' = nothing
 * @property {number} at ms since 1970
 * @property {number} repeats of it
 *
 * @typedef {object} Parts
 * @property {(command: CommandView) => { [href: string]: any } | null} deltaOf null: it is no difference of a shadow
 * @property {(device: string, json: string) => Promise<boolean>} report reported, JSON. Returns false if it cannot be
 *   stored now; must not reject
 * @property {(device: string) => boolean} isConnected
 * @property {(device: string) => void} retry sends the difference of a device again; must not throw
 * @property {(sentence: string) => void} warn
 * @property {() => number} [now] ms since 1970
 * @property {number} [writeMs] for all resources of a difference
 */

class OcfResources {
  #parts;
  #now;
  /** By device and href. @type {Map<string, Observed>} */
  #observed = new Map();
  /** By device: hrefs whose last write failed. @type {Map<string, Map<string, Failed>>} */
  #failed = new Map();
  /** By device. @type {Map<string, NodeJS.Timeout>} */
  #retries = new Map();
  /** By device and href: reports that are not stored. @type {Map<string, { device: string, json: string }>} */
  #unstored = new Map();
  /** @type {NodeJS.Timeout | null} */
  #storeTimer = null;
  #isClosed = false;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** Pattern of the devices for carry(). */
  get devices() {
    return DEVICES;
  }

  /** @param {CommandView} command @returns {Promise<Carried>} @throws {Error} it is refused: a sentence */
  async carry(command) {
    const { device } = command;
    const delta = this.#parts.deltaOf(command);
    const hrefs = delta ? Object.keys(delta).filter((key) => key.startsWith('/')) : [];
    const cloud = hrefs.length > 0 ? await this.#cloudOf(device) : null;
    // The engine sends whatever is no resource of an OCF device.
    if (!delta || !cloud) return 'offline';
    const signal = AbortSignal.timeout(this.#parts.writeMs ?? WRITE_MS);
    const failed = this.#failed.get(device);
    for (const href of failed?.keys() ?? []) if (!hrefs.includes(href)) this.#forget(device, href);
    // One that does not answer must not take the time of the others.
    if (failed) hrefs.sort((a, b) => Number(failed.has(a)) - Number(failed.has(b)));
    let isEarly = false;
    let isBrief = false;
    const reasons = [];
    for (const href of hrefs) {
      const json = write(delta[href]);
      if (this.#isEarly(device, href, json)) {
        isEarly = true;
        continue;
      }
      try {
        await this.#write(cloud, device, href, json, signal);
        this.#forget(device, href);
      } catch (error) {
        const end = signal.aborted ? 'timeout' : endOf(error);
        // The worker of the device may not know its connection yet, although the cloud does, or the other way round.
        if (end === 'offline') return this.#parts.isConnected(device) ? 'busy' : 'offline';
        const message = signal.aborted ? LATE : /** @type {Error} */ (error).message;
        this.#failedOnce(device, href, { json, reason: message, isBrief: end === 'timeout' });
        isBrief ||= end === 'timeout';
        reasons.push(`${href}: ${message}`);
        if (signal.aborted) break;
      }
    }
    if (reasons.length === 0) return isEarly ? 'busy' : 'taken';
    this.#parts.warn(`The device ${device} does not take what is desired. ${reasons.slice(0, 3).join(' ')}`);
    if (isBrief) return 'timeout';
    if (isEarly) return 'busy';
    throw new Error(reasons[0]);
  }

  /**
   * A device has connected, so that its state may be another one, and what it refused may work now.
   * @param {string} device
   * @param {() => Promise<string[]>} desiredKeys first level of what is desired
   */
  async connected(device, desiredKeys) {
    for (const failed of this.#failed.get(device)?.values() ?? []) failed.isDue = true;
    const cloud = await this.#cloudOf(device);
    if (!cloud) return;
    for (const href of await desiredKeys()) if (isHref(href)) this.#observe(cloud, device, href);
  }

  /** @param {string} device @returns {{ [href: string]: { reason: string, timestamp: number } } | null} null: none */
  failures(device) {
    const failed = this.#failed.get(device);
    if (!failed) return null;
    return Object.fromEntries(
      [...failed].map(([href, { reason, at }]) => [href, { reason, timestamp: Math.floor(at / 1000) }])
    );
  }

  /** Nothing is desired of a device that it has not reported. @param {string} device */
  settled(device) {
    this.#failed.delete(device);
  }

  close() {
    this.#isClosed = true;
    if (this.#storeTimer) clearTimeout(this.#storeTimer);
    for (const timer of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
    for (const { own } of this.#observed.values()) own.end();
    this.#observed.clear();
  }

  /** @param {string} device @returns {Promise<Cloud | null>} */
  async #cloudOf(device) {
    // A store that does not answer must not hold up devices of other protocols.
    return UUID.test(device) ? cloudWith(device).catch(() => null) : null;
  }

  /**
   * @param {Cloud} cloud
   * @param {string} device
   * @param {string} href
   * @param {string} json
   * @param {AbortSignal} signal
   */
  async #write(cloud, device, href, json, signal) {
    const before = this.#failed.get(device)?.get(href);
    // A device that reports often would get a refused value as often.
    if (before && this.#isPausing(before, json)) throw new Error(before.reason);
    const answer = await updateResource(cloud, device, href, json, signal);
    if (!answer.isOk) throw refusalOf(answer);
    const observed = this.#observe(cloud, device, href);
    if (observed) {
      const isSame = observed.json === json && this.#now() - observed.at < 2 * LAST_GAP_MS;
      Object.assign(observed, { json, at: this.#now(), repeats: isSame ? observed.repeats + 1 : 0 });
    }
    let { json: state } = answer;
    if (!state) {
      const read = await readResource(cloud, device, href, signal);
      if (read.isOk) state = read.json;
    }
    if (state) this.#report(device, href, state);
  }

  /** @param {string} device @param {string} href @param {string} json @returns {boolean} it has just been written */
  #isEarly(device, href, json) {
    const known = this.#observed.get(`${device} ${href}`);
    if (known?.json !== json) return false;
    return this.#now() - known.at < Math.min(LAST_GAP_MS, FIRST_GAP_MS * 2 ** known.repeats);
  }

  /** @param {Cloud} cloud @param {string} device @param {string} href @returns {Observed | null} */
  #observe(cloud, device, href) {
    if (this.#isClosed || cloud.isClosed) return null;
    const key = `${device} ${href}`;
    const known = this.#observed.get(key);
    const isOn = known && known.own.state !== 'ended';
    const own = isOn
      ? known.own
      : observeResource(cloud, device, href, (json) => this.#report(device, href, json));
    const observed = { json: '', at: 0, repeats: 0, ...known, own };
    this.#observed.delete(key);
    this.#observed.set(key, observed);
    const [[oldest, { own: last }]] = this.#observed;
    if (this.#observed.size > MAX_OBSERVED) {
      this.#observed.delete(oldest);
      last.end();
    }
    return observed;
  }

  /** @param {string} device @param {string} href @param {string} json */
  #report(device, href, json) {
    const key = `${device} ${href}`;
    const report = { device, json: `{"reported":{${write(href)}:${json}}}` };
    this.#unstored.delete(key);
    this.#unstored.set(key, report);
    const [oldest] = this.#unstored.keys();
    if (this.#unstored.size > MAX_UNSTORED) this.#unstored.delete(oldest);
    void this.#store(key, report);
  }

  /**
   * Stores a report. If that fails, it is stored later, unless the resource has a newer one: the next notification may
   * be days away.
   * @param {string} key
   * @param {{ device: string, json: string }} report
   */
  async #store(key, report) {
    const isStored = await this.#parts.report(report.device, report.json);
    if (this.#isClosed || this.#unstored.get(key) !== report) return;
    if (isStored) this.#unstored.delete(key);
    else this.#storeTimer ??= setTimeout(() => this.#storeAll(), STORE_MS).unref();
  }

  #storeAll() {
    this.#storeTimer = null;
    for (const [key, report] of this.#unstored) void this.#store(key, report);
  }

  /** @param {Failed} failed @param {string} json @returns {boolean} true: this value is not sent again yet */
  #isPausing({ json: refused, isBrief, isDue, at, tries }, json) {
    if (refused !== json || isDue || (isBrief && tries < MOST_BRIEF)) return false;
    return this.#now() - at < pauseAfter(tries);
  }

  /** @param {string} device @param {string} href @param {Pick<Failed, 'json' | 'reason' | 'isBrief'>} failed */
  #failedOnce(device, href, failed) {
    const all = this.#failed.get(device) ?? new Map();
    const before = all.get(href);
    if (before && this.#isPausing(before, failed.json)) {
      // It was not sent.
      this.#retryAfter(device, before.at + pauseAfter(before.tries) - this.#now());
      return;
    }
    const tries = before?.json === failed.json ? before.tries + 1 : 0;
    all.set(href, { ...failed, at: this.#now(), tries });
    this.#failed.delete(device);
    this.#failed.set(device, all);
    this.#retryAfter(device, pauseAfter(tries));
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > MAX_FAILED) this.#failed.delete(oldest);
  }

  /**
   * Sends the difference again after a pause, because a device may report nothing for days. A device has one timer. A
   * value whose pause is not over when the timer ends starts the next timer.
   * @param {string} device
   * @param {number} pauseMs
   */
  #retryAfter(device, pauseMs) {
    if (this.#isClosed || this.#retries.has(device)) return;
    const timer = setTimeout(() => {
      this.#retries.delete(device);
      if (this.#failed.has(device)) this.#parts.retry(device);
    }, pauseMs).unref();
    this.#retries.set(device, timer);
  }

  /** @param {string} device @param {string} href */
  #forget(device, href) {
    const all = this.#failed.get(device);
    all?.delete(href);
    if (all?.size === 0) this.#failed.delete(device);
  }
}

/** @param {number} tries */
const pauseAfter = (tries) => Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries);

/** @param {import('../ocf/request/json-resources').Answer} answer */
const refusalOf = ({ code, isBrief }) =>
  Object.assign(new Error(`The device answers ${code}.`), { reason: isBrief ? 'timeout' : 'refused' });

/** @param {unknown} error of a write @returns {'offline' | 'timeout' | 'refused'} */
function endOf(error) {
  const { reason } = /** @type {{ reason?: string }} */ (error);
  if (reason === 'offline' || reason === 'busy' || reason === 'closed') return 'offline';
  return reason === 'timeout' ? 'timeout' : 'refused';
}

/**
 * Returns the state of a difference, whichever the dialect of its node.
 * @param {Buffer} payload
 * @returns {{ [href: string]: any }}
 */
function stateOf(payload) {
  const form = parse(payload.toString());
  return isPlain(form.state) ? form.state : form;
}

module.exports = { OcfResources, stateOf };

'use strict';
// Answers questions: the best device, and its value if that is fresh; else the device is asked, then the next one.

const { DirectoryError } = require('./directory-error');
const { rank, whyOf } = require('./ranking');
const { OWN_CONTEXT } = require('./terms');

/** Further devices that an answer names. */
const MAX_OTHERS = 10;
/** Devices that are asked for one question. */
const MAX_ASKED = 3;
/** Questions that wait for devices. */
const MAX_WAITING = 256;
const NEEDS_WRITE = 'a login with the permission seganet.write';

/**
 * @typedef {import('./directory-store').Candidate} Candidate
 * @typedef {import('./question').Question} Question
 * @typedef {import('./values').Values} Values
 *
 * Asks a device for a value. It resolves with the value, or with null if it can only wait for a record.
 * @typedef {(candidate: Candidate, timeoutMs: number, signal: AbortSignal) => Promise<{ value: number } | null>} Route
 *   rejects with an Error whose message is a sentence
 * @typedef {{ name: string, isCommand?: boolean, fits: (candidate: Candidate) => boolean, ask: Route }} NamedRoute
 *   isCommand: it sends the device a command, which not everyone may do who may read
 *
 * @typedef {Candidate & import('./ranking').Ranked} Ranked
 */

class Answering {
  #find;
  #values;
  #routes;
  #now;
  #waiting = 0;
  #ending = new AbortController();
  counters = { questions: 0, kept: 0, asked: 0, stale: 0, unanswered: 0 };

  /**
   * @param {object} parts
   * @param {(wanted: import('./directory-store').Wanted) => Promise<Candidate[]>} parts.find
   * @param {Values} parts.values
   * @param {NamedRoute[]} parts.routes the first that fits is used
   * @param {() => number} [parts.now] ms, monotonic
   */
  constructor({ find, values, routes, now = () => performance.now() }) {
    this.#find = find;
    this.#values = values;
    this.#routes = routes;
    this.#now = now;
  }

  /**
   * @param {Question} question
   * @param {{ mayCommand?: boolean, why?: string }} [rights] of the one who asks; why: a command needs this, which is
   *   not there
   * @returns {Promise<Record<string, any>>}
   * @throws {DirectoryError} without any value: 404 nothing measures it; 504 no device has answered; 503 too many
   *   questions wait; 403 only a command would bring a value, and may not be sent
   */
  async answer(question, { mayCommand = true, why = NEEDS_WRITE } = {}) {
    this.counters.questions++;
    const ranked = this.#rank(await this.#find(question.wanted));
    if (ranked.length === 0) throw this.#failed(new DirectoryError(404, nothingFound(question)));
    const until = this.#now() + question.askMs;
    /** @type {string[]} */
    const problems = [];
    let refusal = '';
    let isFull = false;
    let asked = 0;
    for (const candidate of ranked) {
      const kept = candidate.device !== '' && this.#values.valueOf(candidate.device, candidate.name);
      if (kept && kept.ageMs <= question.maxAgeMs) {
        this.counters.kept++;
        return shape(question, ranked, candidate, { ...kept, from: 'record', isFresh: true, problems });
      }
      const route = this.#routes.find(({ fits }) => fits(candidate));
      const leftMs = until - this.#now();
      if (!route || leftMs <= 0 || asked >= MAX_ASKED) continue;
      if (route.isCommand && !mayCommand) {
        if (!refusal) problems.push((refusal = refusalOf(candidate, why)));
        continue;
      }
      asked++;
      try {
        const value = await this.#ask(route, candidate, leftMs);
        this.counters.asked++;
        return shape(question, ranked, candidate, { ...value, from: route.name, isFresh: true, problems });
      } catch (error) {
        problems.push(`${candidate.title}: ${/** @type {Error} */ (error).message}`);
        isFull = error instanceof DirectoryError;
        if (isFull) break;
      }
    }
    const status = isFull ? 503 : refusal && problems.length === 1 ? 403 : 504;
    return this.#stale(question, ranked, problems, status);
  }

  /**
   * @param {NamedRoute} route
   * @param {Ranked} candidate
   * @param {number} leftMs
   * @returns {Promise<{ value: number, ageMs: number }>}
   */
  async #ask({ ask }, candidate, leftMs) {
    if (this.#waiting >= MAX_WAITING)
      throw new DirectoryError(503, `${MAX_WAITING} questions wait for devices already. Ask again.`);
    const { device, name } = candidate;
    const { signal } = this.#ending;
    const limit = new AbortController();
    const both = AbortSignal.any([signal, limit.signal]);
    const late = () => new Error(`The device did not answer within ${Math.round(leftMs)} ms.`);
    const timer = setTimeout(() => limit.abort(), leftMs);
    this.#waiting++;
    try {
      const waiting = this.#values.wait(device, name, leftMs, both);
      // A route may not keep to the time, such as a command whose delivery is not known.
      const answer = await Promise.race([ask(candidate, leftMs, both), ended(both, late)]);
      if (answer) {
        const payload = { [name]: answer.value };
        // Things without a device have no place for values: '' would be shared by all of them.
        if (device !== '') this.#values.note({ device, payload, topic: '', ts: 0, cls: 0 });
        return { value: answer.value, ageMs: 0 };
      }
      if (!(await waiting)) throw late();
      const kept = this.#values.valueOf(device, name);
      if (!kept) throw new Error('The device was forgotten.');
      return kept;
    } finally {
      clearTimeout(timer);
      limit.abort();
      this.#waiting--;
    }
  }

  /** @param {Candidate[]} candidates @returns {Ranked[]} */
  #rank(candidates) {
    const now = this.#now();
    return rank(
      candidates.map((candidate) => {
        const known = this.#values.of(candidate.device);
        const seenMs = known ? Math.max(0, now - known.at) : Infinity;
        return { ...candidate, id: candidate.thing, seenMs, rssi: known?.rssi ?? null, cls: known?.cls ?? 0 };
      })
    );
  }

  /**
   * @param {Question} question
   * @param {Ranked[]} ranked
   * @param {string[]} problems
   * @param {403 | 503 | 504} status if there is no value
   */
  #stale(question, ranked, problems, status) {
    const old = ranked
      .map((candidate) => ({ candidate, kept: this.#values.valueOf(candidate.device, candidate.name) }))
      .find(({ kept }) => kept !== null);
    if (old?.kept) {
      this.counters.stale++;
      return shape(question, ranked, old.candidate, {
        ...old.kept,
        from: 'record',
        isFresh: false,
        problems
      });
    }
    const why = problems.join(' ') || noWay(ranked[0], question);
    throw this.#failed(
      new DirectoryError(status, `There is no value. ${why}`, {
        device: ranked[0].device,
        thing: ranked[0].thing,
        property: ranked[0].name
      })
    );
  }

  /** @param {DirectoryError} error */
  #failed(error) {
    this.counters.unanswered++;
    return error;
  }

  close() {
    this.#ending.abort();
  }
}

/**
 * @param {AbortSignal} signal
 * @param {() => Error} reason
 * @returns {Promise<never>} rejects when the signal is aborted
 */
function ended(signal, reason) {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(reason());
    signal.addEventListener('abort', () => reject(reason()), { once: true });
  });
}

/** @param {Ranked} candidate @param {string} why */
const refusalOf = ({ title }, why) =>
  `${title}: it was not asked, because that sends it a command, which needs ${why}.`;

/** @param {Ranked} candidate @param {Question} question */
function noWay({ title }, { askMs }) {
  if (askMs === 0) return `${title} has not sent one, and was not asked (ask=0).`;
  return `${title} has not sent one, and its thing has no command, OCF resource or CoAP address to ask.`;
}

/** @param {Question} question */
function nothingFound({ given: { property, room, ...others } }) {
  const where = room ? ` in room ${room}` : '';
  const more = Object.keys(others).some((name) => ['type', 'device', 'text'].includes(name))
    ? ' that fits the other parameters'
    : '';
  return `No thing measures ${property}${where}${more}. A rule of the find node, or a posted thing, says what measures what, and where.`;
}

/**
 * @param {Question} question
 * @param {Ranked[]} ranked
 * @param {Ranked} best
 * @param {{ value: number, ageMs: number, from: string, isFresh: boolean, problems: string[] }} found
 * @returns {Record<string, any>}
 */
function shape({ given, format }, ranked, best, { value, ageMs, from, isFresh, problems }) {
  const time = new Date(Date.now() - ageMs).toISOString();
  const { thing, device, title, name, kind, unit, room } = best;
  if (format === 'jsonld')
    return {
      '@context': OWN_CONTEXT,
      '@type': 'sosa:Observation',
      'sosa:madeBySensor': { '@id': thing, 'rdfs:label': title },
      'sosa:observedProperty': kind ? { '@id': kind } : { 'rdfs:label': name },
      ...(room && { 'sosa:hasFeatureOfInterest': { '@type': 'bot:Space', 'rdfs:label': room } }),
      'sosa:hasSimpleResult': value,
      ...(unit && { 'seganet:unit': unit }),
      'sosa:resultTime': time
    };
  const others = ranked.filter((each) => each !== best);
  return {
    question: given,
    value,
    ...(unit && { unit }),
    time,
    age: Math.round(ageMs) / 1000,
    fresh: isFresh,
    from,
    device,
    thing,
    title,
    property: name,
    ...(room && { room }),
    why: whyOf(best),
    others: others.slice(0, MAX_OTHERS).map((each) => ({
      device: each.device,
      thing: each.thing,
      property: each.name,
      why: whyOf(each)
    })),
    found: ranked.length,
    ...(problems.length > 0 && { problems })
  };
}

exports.Answering = Answering;

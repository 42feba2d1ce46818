'use strict';
// Observations of devices as streams of events, and their limits.

const { EVENT_HEADERS } = require('../../base/event-stream');
const { HttpRefusal, retryAfter } = require('../../sources/http/http-refusal');
const { dotted } = require('../../sources/coap-desk/codes');
const { OPTION, hasOption } = require('../cloud/coap');
const { SAFE, eventData, httpAnswer } = require('./answers');
const { Accepted, JSON_TYPE } = require('./media-types');
const { Notifications } = require('./notifications');
const { statusOf } = require('./statuses');

/** @typedef {import('../../sources/http/request-handler').Answer} Answer */
/** @typedef {import('../cloud/cloud').OcfCloud} OcfCloud */
/** @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../cloud/refusal').Refusal} Refusal */
/** @typedef {import('./proxy-handler').Bearer} Bearer */

class EventStreams {
  #cloud;
  #limits;
  /** Ends of streams, by user. @type {Map<string, Set<(status: number, error: string) => void>>} */
  #ends = new Map();
  #size = 0;

  /**
   * @param {OcfCloud} cloud
   * @param {{ streams: number, streamsOfUser: number, heartbeatMs: number }} limits streams: of all users and of one
   */
  constructor(cloud, limits) {
    this.#cloud = cloud;
    this.#limits = limits;
  }

  /**
   * Observes a resource. The stream ends when the client goes, and, with an event, when the token or the right ends.
   * @param {import('node:net').Socket} socket of the client
   * @param {Bearer} bearer
   * @param {string} di
   * @param {import('../cloud/route').Wanted} wanted
   * @returns {Promise<Answer>} after the first answer of the device
   */
  open(socket, bearer, di, wanted) {
    const { uid } = bearer;
    const own = this.#ends.get(uid) ?? new Set();
    if (own.size >= this.#limits.streamsOfUser || this.#size >= this.#limits.streams) {
      throw new HttpRefusal(429, 'There are too many open streams of events.', { headers: retryAfter(60) });
    }
    let drop = () => {};
    const stream = new Notifications(socket, this.#limits.heartbeatMs, () => {
      stopWaiting();
      own.delete(end);
      this.#size--;
      if (own.size === 0 && this.#ends.get(uid) === own) this.#ends.delete(uid);
      drop();
    });
    const end = (/** @type {number} */ status, /** @type {string} */ error) => stream.end(status, error);
    const stopWaiting = this.#cloud.userTokens.onEnd(bearer, () =>
      end(401, 'The token is revoked or expired.')
    );
    this.#ends.set(uid, own.add(end));
    this.#size++;
    const first = this.#start(stream, bearer, di, wanted, (each) => (drop = each));
    return first.catch((error) => {
      end(503, 'The observation did not start.');
      throw error;
    });
  }

  /**
   * @param {Notifications} stream
   * @param {Bearer} bearer
   * @param {string} di
   * @param {import('../cloud/route').Wanted} wanted
   * @param {(drop: () => void) => void} onStart gets what ends the observation
   * @returns {Promise<Answer>} after the first answer of the device
   */
  async #start(stream, { uid }, di, wanted, onStart) {
    const { route } = this.#cloud;
    const checked = await route.check(di, uid, wanted);
    // Nothing would end an observation that starts now.
    if (stream.isOver) return opened(stream);
    route.checkOpen(checked.via);
    return new Promise((resolve, reject) => {
      let isFirst = true;
      const take = (/** @type {DeviceAnswer} */ answer) => {
        try {
          if (isFirst && answer.code >> 5 !== 2) {
            const accepted = new Accepted(JSON_TYPE);
            const context = { method: 'GET', di, accepted, hasTags: false, allow: [] };
            resolve(httpAnswer(answer, context));
            stream.end(0, '');
            return;
          }
          notify(stream, answer);
          if (isFirst) resolve(opened(stream));
        } catch (error) {
          reject(error);
          stream.end(502, 'The answer of the device cannot be shown.');
        } finally {
          isFirst = false;
        }
      };
      const end = (/** @type {Refusal} */ refusal) => {
        const { code, message } = refusal;
        if (isFirst) reject(refusal);
        stream.end(statusOf(code, { hasBody: true, allow: [] }), message);
      };
      const drop = route.observe(checked, { uid, take, end }, () => {});
      if (drop) onStart(drop);
    });
  }

  /** Ends all streams. */
  close() {
    for (const own of [...this.#ends.values()]) for (const end of [...own]) end(503, 'The cloud is closing.');
  }

  /** Open streams. */
  get size() {
    return this.#size;
  }
}

/** @param {Notifications} stream @param {DeviceAnswer} answer */
function notify(stream, answer) {
  const code = dotted(answer.code);
  if (!code.startsWith('2')) {
    stream.end(statusOf(code, { hasBody: true, allow: [] }), answer.payload.toString());
    return;
  }
  stream.push(eventData(answer));
  if (answer.last || !hasOption(answer, OPTION.OBSERVE)) stream.end(200, 'The resource cannot be observed.');
}

/** @param {Notifications} stream @returns {Answer} */
function opened(stream) {
  return {
    status: 200,
    headers: { ...SAFE, ...EVENT_HEADERS },
    body: null,
    stream: (response) => stream.attach(response)
  };
}

exports.EventStreams = EventStreams;

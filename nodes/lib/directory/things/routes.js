'use strict';
// The ways to ask a device for a value: a command, a GET to a resource of the OCF cloud, a GET to a CoAP server.

const { numbersOf } = require('../../series/numbers');
const { contentOf } = require('../../ocf/request/answer-message');
const { parseCoapUrl } = require('../../sources/observe/coap-url');

const MAX_BODY = 65536;
const OPTIONS = { choices: [], maxValues: 64, byTopic: false };
/** With a chosen path, true is 1 and false is 0. */
const STATES = { ...OPTIONS, choices: [{ name: 'value', keys: ['value'] }] };

/**
 * @typedef {import('../answering').NamedRoute} NamedRoute
 * @typedef {import('../answering').Candidate} Candidate
 */

/**
 * The device gets a command, and answers with a record.
 * @param {() => import('../../commands').Commands | null} commands
 * @returns {NamedRoute}
 */
function commandRoute(commands) {
  return {
    name: 'command',
    isCommand: true,
    fits: ({ command, device }) => command !== '' && device !== '' && commands() !== null,
    ask: ({ device, command: topic, payload }, timeoutMs) =>
      new Promise((resolve, reject) => {
        const expiryS = Math.max(1, Math.ceil(timeoutMs / 1000));
        const given = { device, topic, payload: Buffer.from(payload), qos: /** @type {0} */ (0), expiryS };
        commands()?.send(given, (status, reason) => {
          if (status === 'taken') resolve(null);
          else reject(new Error(`The command was not delivered (${status}). ${reason}`.trim()));
        });
      })
  };
}

/**
 * @param {() => import('../../ocf/node/clouds').Cloud | null} cloud
 * @returns {NamedRoute}
 */
function ocfRoute(cloud) {
  return {
    name: 'ocf',
    fits: ({ url }) => url.startsWith('ocf://') && cloud() !== null,
    ask: async (candidate, timeoutMs, signal) => {
      const { di, path, query } = ocfAddress(candidate.url);
      const question = { di, method: 'GET', path, query, payload: Buffer.alloc(0), timeoutMs };
      const answer = await /** @type {NonNullable<ReturnType<typeof cloud>>} */ (cloud()).ownRequests.send(
        question,
        signal
      );
      const { payload, coap } = contentOf(answer);
      if (!coap.code.startsWith('2.')) throw new Error(`The device answered ${coap.code}.`);
      return { value: valueIn(payload, candidate) };
    }
  };
}

/** @returns {NamedRoute} */
function coapRoute() {
  return {
    name: 'coap',
    fits: ({ url }) => url.startsWith('coap://'),
    ask: async (candidate, timeoutMs, signal) => {
      // The coap package takes memory, so it is loaded for the first request.
      const { Peer } = require('../../sources/observe/coap-peer');
      const target = parseCoapUrl(candidate.url);
      const peer = await Peer.open(target, { maxBodyBytes: MAX_BODY, confirmable: true, timeoutMs });
      try {
        const { code, payload } = await new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('The request was ended.')), { once: true });
          peer.ask(false, {
            answer: resolve,
            failed: ({ message }) => reject(new Error(`The device did not answer: ${message}.`))
          });
        });
        if (!code.startsWith('2.')) throw new Error(`The device answered ${code}.`);
        return { value: valueIn(payload, candidate) };
      } finally {
        peer.close();
      }
    }
  };
}

/** @param {string} url ocf://DEVICE/path?query */
function ocfAddress(url) {
  const [, di = '', path = '', query = ''] = /^ocf:\/\/([^/?]+)\/([^?]*)\??(.*)$/.exec(url) ?? [];
  return { di, path: path.split('/'), query: query ? query.split('&') : [] };
}

/**
 * @param {unknown} payload
 * @param {Pick<Candidate, 'name' | 'kind'>} candidate
 * @returns {number}
 * @throws {Error} if there is no number, or none that is certain
 */
function valueIn(payload, { name, kind }) {
  const { names, values } = numbersOf(payload, '', OPTIONS);
  const simple = (/** @type {string} */ text) =>
    text.slice(Math.max(text.lastIndexOf(':'), text.lastIndexOf('.')) + 1).toLowerCase();
  const wanted = [name, kind, 'value'].map(simple);
  const index = wanted
    .map((each) => names.findIndex((given) => simple(given) === each))
    .find((at) => at >= 0);
  if (index !== undefined) return values[index];
  // Sensors of motion, presence and smoke answer {"value": true}.
  const [state] = numbersOf(payload, '', STATES).values;
  if (state !== undefined) return state;
  if (values.length === 1) return values[0];
  throw new Error(
    values.length === 0
      ? 'The answer of the device has no number.'
      : `The answer of the device has several numbers, none of them ${name}.`
  );
}

module.exports = { coapRoute, commandRoute, ocfAddress, ocfRoute, valueIn };

'use strict';
// Requests between gateways: those of a controller for a device that is signed in at another region, with the user
// whose right was checked. Only gateways with a trusted certificate can send them.

const { asUuid } = require('../cloud/bodies');
const { OPTION, hasOption, uint, uintOption } = require('../cloud/coap');
const { Refusal } = require('../cloud/refusal');
const { observeWish } = require('../cloud/relations');
const { asRefusal } = require('../cloud/replies');
const { checkCritical } = require('../cloud/route-options');
const { answerCode, methodCode, methodOf } = require('../../sources/coap-desk/codes');

/** @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../cloud/coap').Option} Option */
/** @typedef {import('../cloud/elsewhere').Passage} Passage */
/** @typedef {import('./links/link').Incoming} Incoming */
/** @typedef {InstanceType<typeof import('../cloud').OcfCloud>} Cloud */

/** RFC 8768. */
const HOP_LIMIT = 16;
const HOPS = 16;
/** The user, as text. Elective and unsafe to forward, from the range for experiments (RFC 7252, 12.2). */
const USER = 65002;
/** In answers: a gateway made it, not the device. Elective, from the same range. */
const OF_GATEWAY = 65006;
const EMPTY = Buffer.alloc(0);

/**
 * @param {Passage} passage
 * @param {import('../cloud/coap').Question} question
 * @returns {import('./links/link').Outgoing}
 */
function outgoing({ di, uid, hops = HOPS }, { method, path, query, options, payload, observe, timeoutMs }) {
  /** @type {Option[]} */
  const own = [
    [HOP_LIMIT, uint(hops)],
    [USER, Buffer.from(uid)]
  ];
  return {
    code: methodCode(method),
    path: ['oic', 'route', di, ...path],
    query,
    options: [...options, ...own],
    payload,
    observe,
    timeoutMs
  };
}

/**
 * Returns an answer from another gateway as the desk would report it.
 * @param {DeviceAnswer} answer
 * @returns {DeviceAnswer}
 */
function received(answer) {
  if (!hasOption(answer, OF_GATEWAY)) return answer;
  const options = answer.options.filter(([number]) => number !== OF_GATEWAY);
  return { ...answer, options, failed: true };
}

/**
 * Answers a request of another gateway. Never throws.
 * @param {Cloud} cloud
 * @param {Incoming} incoming
 */
async function serve(cloud, incoming) {
  const { answer } = incoming;
  let isEnded = false;
  incoming.onEnd(() => (isEnded = true));
  const refuse = (/** @type {Refusal} */ { code, message, maxAge }) => {
    /** @type {Option[]} */
    const options = maxAge === undefined ? [] : [[OPTION.MAX_AGE, uint(maxAge)]];
    answer(answerCode(code), [...options, [OF_GATEWAY, EMPTY]], Buffer.from(message));
  };
  try {
    const { request, passage } = read(incoming.message);
    const checked = await cloud.route.prepare(passage.di, request);
    if (isEnded) return;
    const isHere = cloud.sessions.isReachable(checked.via);
    // RFC 8768, section 3: each gateway that passes the request on takes one.
    const hops = isHere ? passage.hops : passage.hops - 1;
    if (hops < 1) throw new Refusal('5.08', `The hop limit was reached at ${cloud.endpointFor(request)}.`);
    cloud.route.checkOpen(checked.via);
    /** @type {import('../cloud/route').Taker} */
    const taker = {
      uid: passage.uid,
      take: ({ code, options, payload, failed }) =>
        answer(code, failed ? [...options, [OF_GATEWAY, EMPTY]] : options, payload),
      end: refuse
    };
    if (observeWish(request) === 'start') {
      const drop = cloud.route.observe({ ...checked, hops }, taker, () => {});
      if (drop) incoming.onEnd(drop);
    } else cloud.route.ask({ ...checked, hops }, taker);
  } catch (error) {
    if (!(error instanceof Refusal)) cloud.problem(error);
    refuse(asRefusal(error));
  }
}

/**
 * @param {import('./links/link-messages').Message} message
 * @returns {{ request: import('../cloud/coap').Request, passage: { di: string, uid: string, hops: number } }} path: that
 *   on the device
 * @throws {Refusal}
 */
function read({ code, token, options, payload }) {
  const texts = (/** @type {number} */ wanted) =>
    options.filter(([number]) => number === wanted).map(([, value]) => value.toString());
  const [first, second, third = '', ...path] = texts(OPTION.URI_PATH);
  const method = methodOf(code);
  if (first !== 'oic' || second !== 'route') throw new Refusal('4.04', 'A gateway has no such resource.');
  if (!method) throw new Refusal('4.05', 'The method is not known.');
  const request = {
    connection: 0,
    device: '',
    peer: { address: '' },
    method,
    path,
    query: texts(OPTION.URI_QUERY),
    options: options.filter(([number]) => number !== OPTION.URI_PATH && number !== OPTION.URI_QUERY),
    payload: payload ?? EMPTY,
    token
  };
  checkCritical(request);
  const user = options.filter(([number]) => number === USER).map(([, value]) => value.toString());
  const uid = user.length === 1 ? asUuid(user[0]) : '';
  if (!uid) throw new Refusal('4.00', 'The request names no user.');
  const hops = uintOption(request, HOP_LIMIT) ?? HOPS;
  if (!(hops >= 1 && hops <= 255)) throw new Refusal('4.00', 'The hop limit must be 1 to 255.');
  return { request, passage: { di: asUuid(third), uid, hops } };
}

module.exports = { outgoing, received, serve, USER };

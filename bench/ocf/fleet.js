'use strict';
// Devices of an OCF cloud: they sign up, sign in, make topics and publish links by the cloud's own interface.

const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { newCode } = require('../../nodes/lib/ocf/cloud');
const { decode, encode } = require('../../nodes/lib/ocf/cloud/bodies');
const { FORMAT, OPTION, uint } = require('../../nodes/lib/ocf/cloud/coap');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { coapBody, coapFrame, payloadOf, readList, writeList } = require('./coap-bytes');

/** @typedef {{ di: string, uid: string, token: string }} Account of a device */
/** @typedef {import('./ocf-stage').OcfStage} OcfStage */

const GET = 1;
const POST = 2;
const PUT = 3;
/** A user has at most 1,024 topics. */
const OF_USER = 500;
/** Connections that sign up or sign in at a time, where that is not what is measured. */
const AT_ONCE = 128;
/** Codes that are written to the store at a time. */
const CODES_AT_ONCE = 1000;

/** @param {string} where such as oic/rd @returns {import('./coap-bytes').Option[]} */
const pathOptions = (where) => where.split('/').map((segment) => [OPTION.URI_PATH, segment]);

/** @param {number} number @returns {string} the name of coapgen's device, which is the last segment of its topic */
const nameOf = (number) => `dev-${String(number).padStart(5, '0')}`;

/** @param {string} where such as oic/rd @param {number} method @param {unknown} [body] a map */
function request(where, method, body) {
  const options = pathOptions(where);
  if (body === undefined) return coapFrame(method, coapBody(options));
  return coapFrame(method, coapBody([...options, [OPTION.CONTENT_FORMAT, uint(FORMAT.OCF)]], encode(body)));
}

/** @param {Account} account */
const signIn = ({ di, uid, token }) =>
  request('oic/sec/session', POST, { di, uid, accesstoken: token, login: true });

/** @param {number} number of the device that posts to it */
const makeTopic = (number) => request(`oic/ps/${nameOf(number)}`, PUT);

/**
 * Observes a topic (RFC 7641), with a token of two bytes, by which coapgen recognizes notifications.
 * @param {number} number of the device that posts to it
 * @param {number} token 0..65535, unique on the connection
 */
function observe(number, token) {
  /** @type {import('./coap-bytes').Option[]} */
  const options = [[OPTION.OBSERVE, ''], ...pathOptions(`oic/ps/${nameOf(number)}`)];
  return coapFrame(GET, coapBody(options), Buffer.from([token >> 8, token & 255]));
}

/** @param {string} di @param {number} links */
const publish = (di, links) =>
  request('oic/rd', POST, {
    di,
    n: 'bench',
    ttl: 0,
    links: Array.from({ length: links }, (_, i) => linkOf(i))
  });

/** @param {number} i */
const linkOf = (i) => ({
  href: `/resource/${i}`,
  rt: [`bench.type.${i}`],
  if: ['oic.if.rw', 'oic.if.baseline'],
  p: { bm: 3 }
});

/**
 * Runs connections that only send messages and wait for the answer to each.
 * @param {OcfStage} stage
 * @param {Buffer[][]} messages of each connection, as many of each
 * @param {{ atOnce?: number, answers?: string }} [options] atOnce: 0 = all
 */
async function hello(stage, messages, { atOnce = AT_ONCE, answers = '' } = {}) {
  return stage.generate({
    mode: 'hold',
    seconds: 0.1,
    devices: messages.length,
    hellos: writeList(path.join(stage.folder, 'hellos'), messages.flat()),
    'hello-steps': messages[0].length,
    'hellos-at-once': atOnce,
    'hello-seconds': 600,
    ...(answers && { answers })
  });
}

/**
 * Signs devices up, each with an access code of its user.
 * @param {OcfStage} stage
 * @param {number} count
 * @param {{ ofUser?: number, atOnce?: number }} [options] ofUser: devices of a user
 * @returns {Promise<{ accounts: Account[], load: any }>} load: the result of the generator
 */
async function signUp(stage, count, { ofUser = OF_USER, atOnce } = {}) {
  const round = randomUUID();
  const dis = Array.from({ length: count }, () => randomUUID());
  const store = new SqliteStore(stage.storeFile);
  /** @type {string[]} */
  const codes = [];
  try {
    for (let from = 0; from < count; from += CODES_AT_ONCE) {
      const some = dis.slice(from, from + CODES_AT_ONCE);
      const made = some.map((_, i) => newCode(store, `${round}-${Math.floor((from + i) / ofUser)}`));
      codes.push(...(await Promise.all(made)).map(({ code }) => code));
    }
  } finally {
    await store.close();
  }
  const file = path.join(stage.folder, 'answers');
  const messages = dis.map((di, i) => [
    request('oic/sec/account', POST, {
      di,
      accesstoken: codes[i],
      authprovider: 'seganet',
      devicetype: 'device'
    })
  ]);
  const load = await hello(stage, messages, { atOnce, answers: file });
  const accounts = readList(file).map((body, i) => {
    const { uid, accesstoken } = decode(payloadOf(body));
    return { di: dis[i], uid, token: accesstoken };
  });
  return { accounts, load };
}

module.exports = { signUp, signIn, makeTopic, observe, publish, linkOf, hello };

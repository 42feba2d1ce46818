'use strict';
// A controller of ours that uses a device of others through the cloud.

const net = require('node:net');
const tls = require('node:tls');
const { eventually } = require('../../../bench/harness/net');
const { Client } = require('../../../flows/demo/ocf/client');

const WAIT = { timeoutMs: 30000, everyMs: 200 };

/** @param {boolean} isTrue @param {string} what */
function demand(isTrue, what) {
  if (!isTrue) throw new Error(what);
}

/**
 * @param {{ port: number, codeFor: (user: string) => Promise<string> }} cloud
 * @param {string} user
 * @param {{ ca: string, cert: string, key: string }} [secure] over TLS
 * @returns {Promise<Client>} signed in
 */
async function signedIn(cloud, user, secure) {
  const at = { host: '127.0.0.1', port: cloud.port };
  const socket = secure ? tls.connect({ ...at, ...secure }) : net.connect(at);
  await new Promise((resolve, reject) =>
    socket.once(secure ? 'secureConnect' : 'connect', () => resolve(undefined)).once('error', reject)
  );
  const client = new Client(socket);
  demand((await client.signUp(await cloud.codeFor(user))).code === '2.04', 'the controller has no account');
  demand((await client.signIn()).code === '2.04', 'the controller is not signed in');
  return client;
}

/**
 * Waits for the link of a resource that others published.
 * @param {Client} client
 * @param {(link: any) => boolean} isWanted
 * @returns {Promise<any>}
 */
function findLink(client, isWanted) {
  const look = async () => {
    const { value } = await client.request('GET', '/oic/res');
    return (
      Array.isArray(value) && value.find((link) => link.anchor !== `ocf://${client.di}` && isWanted(link))
    );
  };
  return eventually(look, { ...WAIT, what: 'a published link' });
}

/** @param {Client} client @param {string} href @param {string} [query] @returns {Promise<string>} its value, as JSON */
async function read(client, href, query) {
  const answer = await client.request('GET', href, { query: query ? [query] : [] });
  demand(answer.code === '2.05', `the answer is ${answer.code} ${answer.value ?? ''}`);
  return JSON.stringify(answer.value);
}

/**
 * Observes a resource, changes it, and waits for a notification with the change.
 * @param {Client} client
 * @param {string} href
 * @param {Record<string, unknown>} body
 * @returns {Promise<string>} the notification, as JSON
 */
async function observeAndChange(client, href, body) {
  /** @type {any[]} */
  const values = [];
  const first = await client.request('GET', href, { observe: 0, onNext: ({ value }) => values.push(value) });
  demand(first.code === '2.05' && first.observe !== undefined, `the observation is ${first.code}`);
  const changed = await client.request('POST', href, { body });
  demand(changed.code === '2.04', `the change is ${changed.code} ${changed.value ?? ''}`);
  const isNew = (/** @type {any} */ value) => Object.keys(body).every((name) => value?.[name] === body[name]);
  return JSON.stringify(await eventually(() => values.find(isNew), { ...WAIT, what: 'the notification' }));
}

/** @param {Client} client @param {string} di @returns {Promise<string>} on or off */
async function presence(client, di) {
  const { code, value } = await client.request('GET', '/oic/prs', { query: [`di=${di}`] });
  demand(code === '2.05', `the answer is ${code}`);
  return value.prslist.find((/** @type {any} */ each) => each.di === di)?.state;
}

module.exports = { WAIT, demand, signedIn, findLink, read, observeAndChange, presence };

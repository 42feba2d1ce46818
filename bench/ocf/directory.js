'use strict';
// A store with many devices and their links, made by the operations that the cloud itself uses.

const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const { encode } = require('../../nodes/lib/ocf/cloud/bodies');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { hashOf, newPair, userId } = require('../../nodes/lib/ocf/cloud/tokens');
const { linkOf } = require('./fleet');

const ISSUER = 'urn:seganet:bench';
/** Devices whose writes wait at a time. */
const AT_ONCE = 500;

/**
 * Fills a store that no gateway uses yet.
 * @param {string} file
 * @param {{ devices: number, links: number, ofUser: number, accounts: number }} options ofUser: devices of a user;
 *   accounts: devices that the load uses
 * @returns {Promise<{ accounts: import('./fleet').Account[], seconds: number, bytes: number }>} accounts: of different
 *   users, if there are enough
 */
async function fillStore(file, { devices, links, ofUser, accounts: wanted }) {
  const since = performance.now();
  const store = new SqliteStore(file);
  const encoded = Array.from({ length: links }, (_, i) => {
    const { href, ...rest } = linkOf(i);
    return { href, types: rest.rt, shown: true, body: new Uint8Array(encode(rest)) };
  });
  const users = Math.ceil(devices / ofUser);
  const chosen = /** @type {import('./fleet').Account[]} */ ([]);
  /** @param {number} number */
  const add = async (number) => {
    const [di, now] = [randomUUID(), Date.now()];
    // One device of each user after the other, so that the first ones have different users.
    const sub = `user-${number % users}`;
    const identity = { issuer: ISSUER, sub, uid: userId(ISSUER, sub) };
    const { access, stored } = newPair(now, -1);
    const input = { hash: hashOf(di), di, kind: 'device', identity, now, tokens: stored };
    const { problem } = await store.write('signUp', { ...input, redeemedUntil: now, isFull: false });
    if (problem !== '') throw new Error(`a device could not sign up: ${problem}`);
    await store.write('publish', { di, name: 'bench', links: encoded, expires: 0, most: links });
    if (number < wanted) chosen[number] = { di, uid: identity.uid, token: access };
  };
  try {
    for (let from = 0; from < devices; from += AT_ONCE) {
      const count = Math.min(AT_ONCE, devices - from);
      await Promise.all(Array.from({ length: count }, (_, i) => add(from + i)));
    }
  } finally {
    await store.close();
  }
  return { accounts: chosen, seconds: (performance.now() - since) / 1000, bytes: fs.statSync(file).size };
}

module.exports = { fillStore };

#!/usr/bin/env node
'use strict';
// CoAP over UDP of several gateways behind one address: docs/use/load-balancer.md. Root, nftables, Node.js:
//   ADDRESS=10.0.0.10 GATEWAYS=10.0.0.21,10.0.0.22,10.0.0.23 node coap-hash.js            watches the gateways
//   ADDRESS=10.0.0.10 GATEWAYS=10.0.0.21,10.0.0.22,10.0.0.23 node coap-hash.js print      prints the rules
// PORTS (5683,5684) are those of CoAP and of DTLS, READY is the health check. All addresses are IPv4, or all IPv6.

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const net = require('node:net');

const SLOTS = 1024;
const MOST_GATEWAYS = 32;
/** Fixed, so that several balancers, and the rules after each change, choose alike. */
const SEED = '0x5e6a9e7a';
const TABLE = 'seganet_coap';
const EVERY_MS = 500;
const TIMEOUT_MS = 1000;
/** A gateway leaves after two failed checks and returns after four good ones. */
const FALL = 2;
const RISE = 4;
const READY = 'http://{gateway}:1880/seganet/readyz?exclude=uplink';

/** @typedef {{ address: string, gateways: string[], ports: number[], ready: string }} Settings */

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Settings}
 * @throws {RangeError} with a sentence
 */
function readSettings({ ADDRESS = '', GATEWAYS = '', PORTS = '5683,5684', READY: ready = READY }) {
  const list = (/** @type {string} */ text) => text.split(',').map((each) => each.trim());
  const gateways = list(GATEWAYS);
  const family = net.isIP(ADDRESS);
  if (!family) throw new RangeError('ADDRESS must be the address to which devices send, such as 10.0.0.10.');
  const isList = gateways.every((each) => net.isIP(each) === family && each !== ADDRESS);
  if (!isList || gateways.length > MOST_GATEWAYS || new Set(gateways).size < gateways.length) {
    throw new RangeError(
      `GATEWAYS must be 1 to ${MOST_GATEWAYS} different addresses of the same family as ADDRESS, such as 10.0.0.21,10.0.0.22.`
    );
  }
  const ports = list(PORTS).map((port) => (/^[0-9]{1,5}$/.test(port) ? Number(port) : 0));
  if (ports.some((port) => port < 1 || port > 65535)) {
    throw new RangeError('PORTS must be ports from 1 to 65535, such as 5683,5684.');
  }
  if (!ready.includes('{gateway}') || !URL.canParse(ready.replace('{gateway}', 'localhost'))) {
    throw new RangeError(`READY must be a URL with {gateway} for the address, such as ${READY}.`);
  }
  return { address: ADDRESS, gateways, ports, ready };
}

/**
 * Divides the slots. Each listed gateway owns an equal part; the slots of those that are not ready go to others, and no
 * other slot moves.
 */
class Ring {
  /** For each slot, the gateways in the order in which they may have it (rendezvous hashing). @type {string[][]} */
  #orders;
  /** @type {string[]} */
  #owners;

  /** @param {string[]} gateways */
  constructor(gateways) {
    const part = Math.ceil(SLOTS / gateways.length);
    /** @type {Map<string, number>} */
    const owned = new Map();
    this.#orders = Array.from({ length: SLOTS }, (_, slot) => inOrder(slot, gateways));
    this.#owners = this.#orders.map((order) => {
      const owner = order.find((gateway) => (owned.get(gateway) ?? 0) < part) ?? order[0];
      owned.set(owner, (owned.get(owner) ?? 0) + 1);
      return owner;
    });
  }

  /** Returns the gateway of each slot. With no ready gateway, it is the owner. @param {Set<string>} ready */
  assign(ready) {
    return this.#owners.map((owner, slot) =>
      ready.has(owner) ? owner : (this.#orders[slot].find((gateway) => ready.has(gateway)) ?? owner)
    );
  }
}

/** @param {number} slot @param {string[]} gateways */
function inOrder(slot, gateways) {
  const scored = gateways.map((gateway) => {
    const score = createHash('sha256').update(`${slot} ${gateway}`).digest().readUInt32BE();
    return { gateway, score };
  });
  return scored.sort((x, y) => y.score - x.score).map(({ gateway }) => gateway);
}

/**
 * Returns the rules for nft. They rewrite addresses without connection tracking, which would pin a device to a gateway
 * that has left while it goes on sending.
 * @param {Settings} settings @param {string[]} slots
 */
function rules({ address, gateways, ports }, slots) {
  const ip = net.isIPv6(address) ? 'ip6' : 'ip';
  const map = slots.map((gateway, slot) => `${slot} : ${gateway}`).join(', ');
  const to = `${ip} daddr ${address} udp dport { ${ports.join(', ')} }`;
  const from = `${ip} saddr { ${gateways.join(', ')} } udp sport { ${ports.join(', ')} }`;
  const choice = `jhash ${ip} saddr mod ${SLOTS} seed ${SEED} map { ${map} }`;
  return `add table ${ip} ${TABLE}
add chain ${ip} ${TABLE} in { type filter hook prerouting priority raw; }
add chain ${ip} ${TABLE} out { type filter hook postrouting priority raw; }
flush table ${ip} ${TABLE}
add rule ${ip} ${TABLE} in ${to} notrack ${ip} daddr set ${choice}
add rule ${ip} ${TABLE} in ${from} notrack
add rule ${ip} ${TABLE} out ${from} ${ip} saddr set ${address}
`;
}

/** Counts the checks of one gateway in a row. */
class Health {
  isReady = true;
  #others = 0;

  /** @param {boolean} ok */
  add(ok) {
    this.#others = ok === this.isReady ? 0 : this.#others + 1;
    if (this.#others < (ok ? RISE : FALL)) return;
    this.isReady = ok;
    this.#others = 0;
  }
}

/** @param {string} url */
async function answersReady(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** @param {Settings} settings */
async function watch(settings) {
  const { gateways, ready } = settings;
  const ring = new Ring(gateways);
  const healths = new Map(gateways.map((gateway) => [gateway, new Health()]));
  let applied = '';
  let trouble = '';
  for (;;) {
    const next = new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    const all = gateways.filter((gateway) => healths.get(gateway)?.isReady);
    const wanted = all.join(', ');
    try {
      // With no ready gateway, devices keep the one that they had.
      if (wanted !== applied && (wanted || !applied)) {
        execFileSync('nft', ['-f', '-'], {
          input: rules(settings, ring.assign(new Set(all))),
          stdio: 'pipe'
        });
        console.log(`CoAP devices go to ${wanted}.`);
        applied = wanted;
      }
      trouble = '';
    } catch (error) {
      const message = /** @type {Error} */ (error).message.replace(/\s+/g, ' ');
      if (message !== trouble) {
        console.error(
          `The rules cannot be written: ${message} This needs root and nftables. It is tried again.`
        );
      }
      trouble = message;
    }
    await Promise.all(
      gateways.map(async (gateway) => {
        const host = net.isIPv6(gateway) ? `[${gateway}]` : gateway;
        healths.get(gateway)?.add(await answersReady(ready.replace('{gateway}', host)));
      })
    );
    await next;
  }
}

if (require.main === module) {
  try {
    const settings = readSettings(process.env);
    const all = new Set(settings.gateways);
    if (process.argv[2] === 'print') console.log(rules(settings, new Ring(settings.gateways).assign(all)));
    else watch(settings);
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 2;
  }
}

module.exports = { Health, Ring, SLOTS, readSettings, rules };

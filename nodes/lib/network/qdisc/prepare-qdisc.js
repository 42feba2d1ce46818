'use strict';
// The common first part of plan and apply: the present interface, the kernel's features, and the commands.

const path = require('node:path');
const { defaultInterface, inspect } = require('./inspect-qdisc');
const { makePlan } = require('./qdisc-plan');
const { probe } = require('./kernel-probe');
const { usage } = require('./qdisc-options');

/**
 * @typedef {object} Options
 * @property {string} interface '' = of the default route
 * @property {number} rate 0 = not shaped
 * @property {number} share
 * @property {string} scheme
 * @property {string} stateDir
 * @property {boolean} force
 * @property {boolean} json
 */
/**
 * @typedef {object} Prepared
 * @property {import('./inspect-qdisc').Facts} facts
 * @property {import('./qdisc-plan').Plan} plan
 * @property {import('./schemes').DesiredState} desired
 * @property {string} how
 */

/** @param {Options} options @returns {Promise<string>} */
const interfaceOf = async (options) => options.interface || (await defaultInterface());

/**
 * Returns the file that apply writes for tc to load.
 * @param {string} stateDir
 * @param {string} name of the interface
 */
const objectFile = (stateDir, name) => path.join(stateDir, `${name}.o`);

/** @param {Options} options @returns {Promise<Prepared>} */
async function prepare(options) {
  const name = await interfaceOf(options);
  const facts = await inspect(name);
  if (facts.link.isLoopback) throw usage(`'${name}' is loopback: packets never wait there.`);
  const { capabilities, how } = await probe();
  const desired = {
    interface: name,
    rate: options.rate,
    share: options.share,
    mtu: facts.link.mtu,
    object: objectFile(options.stateDir, name),
    capabilities
  };
  return { facts, plan: makePlan(options.scheme, desired, facts), desired, how };
}

module.exports = { prepare, interfaceOf };

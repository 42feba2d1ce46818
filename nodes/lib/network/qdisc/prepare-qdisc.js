'use strict';
// What plan and apply begin with: the interface as it is, what the kernel has, and the commands.

const path = require('node:path');
const { defaultInterface, inspect } = require('./inspect-qdisc');
const { makePlan } = require('./qdisc-plan');
const { probe } = require('./kernel-probe');
const { usage } = require('./qdisc-options');

/** @typedef {{ interface: string, rate: number, share: number, scheme: string, stateDir: string, force: boolean, json: boolean }} Options interface '' = of the default route, rate 0 = not shaped */
/** @typedef {{ facts: import('./inspect-qdisc').Facts, plan: import('./qdisc-plan').Plan, desired: import('./schemes').DesiredState, how: string }} Prepared */

/** @param {Options} options @returns {Promise<string>} */
const interfaceOf = async (options) => options.interface || (await defaultInterface());

/** Written by apply, for tc to load. @param {string} stateDir @param {string} name of the interface */
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

module.exports = { prepare, interfaceOf, objectFile };

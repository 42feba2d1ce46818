'use strict';
// The baseline of the SegaNet paper (slides 7 to 9): an agent per device, as in vendors' gateways.

const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { assemble } = require('../harness/assemble');
const { build } = require('../harness/build');
const { needsOpenssl } = require('../harness/lacking');
const { hardFileLimit } = require('../harness/proc');

/**
 * @param {import('./index').Context} context @param {boolean} processes
 * @returns {Promise<import('./index').System>}
 */
async function start(context, processes) {
  const port = await freePort();
  const { cloud } = context;
  // Four files per device: its connection, the session, both ends of the hand-over. Other systems need one or two.
  const openFiles = Math.min(hardFileLimit(), context.openFiles * 4);
  const flags = {
    port,
    'broker-host': cloud.host,
    'broker-port': cloud.tlsPort,
    ca: cloud.files.ca,
    processes: Number(processes)
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return assemble({
    port,
    parts: ['agents'],
    launch: (started) => started(new Child(build('agents'), args, { ...context, openFiles, name: 'agents' }))
  });
}

/** @type {import('./index').Adapter[]} */
module.exports = [
  {
    name: 'agents',
    title: 'an agent per device (C++)',
    what: 'A thread and a TLS session per device; publishes each message separately: an efficient form of the paper’s baseline.',
    lacking: needsOpenssl,
    start: (context) => start(context, false)
  },
  {
    name: 'agents-processes',
    title: 'a process per device (C++)',
    what: 'The same with a process per device.',
    lacking: needsOpenssl,
    start: (context) => start(context, true)
  }
];

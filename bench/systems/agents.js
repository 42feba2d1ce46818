'use strict';
// The baseline of the SegaNet paper (slides 7 to 9): what vendors' gateways do, an agent for each device.

const fs = require('node:fs');
const { Child } = require('../../test/fixtures/child');
const { freePort } = require('../../test/fixtures/net');
const { assemble } = require('../lib/assemble');
const { build } = require('../lib/build');
const { needsCompiler } = require('../lib/lacking');

const header = ['/usr/include/openssl/ssl.h', '/usr/local/include/openssl/ssl.h'];

/** Not a gateway's threads or files, but OpenSSL's headers. */
function needsOpenssl() {
  if (needsCompiler()) return needsCompiler();
  // A compiler that looks elsewhere knows where.
  const found = process.env.CPATH || process.env.CXX || header.some((file) => fs.existsSync(file));
  return found ? '' : "OpenSSL's headers were not found. Debian: apt install libssl-dev.";
}

/** @param {import('./index').Context} context @param {boolean} processes @returns {Promise<import('./index').System>} */
async function start(context, processes) {
  const port = await freePort();
  const { cloud } = context;
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
    launch: (started) => started(new Child(build('agents'), args, { ...context, name: 'agents' }))
  });
}

/** @type {import('./index').Adapter[]} */
module.exports = [
  {
    name: 'agents',
    title: 'an agent per device (C++)',
    what: 'A thread and a TLS session for each device, every message published singly: the paper’s baseline, well made.',
    lacking: needsOpenssl,
    start: (context) => start(context, false)
  },
  {
    name: 'agents-processes',
    title: 'a process per device (C++)',
    what: 'The same with a process for each device.',
    lacking: needsOpenssl,
    start: (context) => start(context, true)
  }
];

'use strict';
// The paper's baseline in Python, like vendors' device SDKs (Azure's is built on paho-mqtt).

const path = require('node:path');
const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { python } = require('../harness/tools');
const { assemble } = require('../harness/assemble');
const { needsPython } = require('../harness/lacking');

const program = path.join(__dirname, '../agents-paho/main.py');

/** @type {import('./index').Adapter} */
module.exports = {
  name: 'agents-paho',
  title: 'a process per device (Python, paho-mqtt)',
  what: "A Python process with paho-mqtt and a TLS session per device; publishes each message separately, like vendors' SDKs.",
  lacking: () =>
    needsPython('paho', 'Run pip install paho-mqtt==2.1.0 in a venv and set SEGANET_PYTHON=VENV/bin/python.'),
  start: async (context) => {
    const port = await freePort();
    const { cloud } = context;
    const flags = {
      port,
      'broker-host': cloud.host,
      'broker-port': cloud.tlsPort,
      ca: cloud.files.ca
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    return assemble({
      port,
      parts: ['agents'],
      launch: (started) =>
        started(new Child(python(), [program, ...args], { ...context, name: 'agents-paho' }))
    });
  }
};

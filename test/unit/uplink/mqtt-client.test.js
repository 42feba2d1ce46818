'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const client = path.join(__dirname, '../../../nodes/lib/uplink/session/mqtt-client.js');

/** Connects on a stream, and prints the first byte of the CONNECT and how many numbers are kept as Buffers. */
const SCRIPT = `
const { Duplex } = require('node:stream');
const { makeClient } = require(${JSON.stringify(client)});
const { createRequire } = require('node:module');
const mqtt = createRequire(createRequire(${JSON.stringify(client)}).resolve('mqtt'));
const { cache } = createRequire(mqtt.resolve('mqtt-packet'))('./numbers');
const stream = new Duplex({
  read() {},
  write(bytes, _, done) {
    console.log(bytes[0], Object.keys(cache).length);
    done();
    process.exit();
  }
});
const options = { protocolVersion: 5, clientId: 'gw', keepalive: 60 };
makeClient({ options, stream, timeoutMs: 1000, onError() {} }).connect();
`;

test('does not keep a Buffer of each number', () => {
  expect(execFileSync(process.execPath, ['-e', SCRIPT], { encoding: 'utf8' })).toBe('16 0\n');
});

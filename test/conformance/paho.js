'use strict';
// Runs Eclipse Paho's MQTT conformance clients against the device listener, each test on its own, and prints a table.
// The clients are not part of this repository: clone https://github.com/eclipse/paho.mqtt.testing.
//   node native/node/run.js test/conformance/paho.js --folder PATH/interoperability [--python python3] [--only NAME]

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const TEST_MS = 60000;
const SUITES = { '3.1.1': 'client_test.py', '5.0': 'client_test5.py' };

const PROPERTIES = 'a record does not carry MQTT 5 properties';

/**
 * Why a test cannot pass at a device listener, which is not a broker; by its name, or by version and name.
 * @type {Record<string, string>}
 */
const NOT_PROMISED = {
  '3.1.1 test_dollar_topics':
    'a topic that begins with $ is refused unless _Odd topics_ accepts it, which ends the connection of a 3.1.1 device',
  test_retained_message: 'no retained messages between devices',
  test_retained_messages: 'no retained messages between devices',
  test_shared_subscriptions: 'no shared subscriptions: a command has one device',
  test_overlapping_subscriptions: 'it expects QoS 2 to the device; commands use QoS 1 at most',
  test_will_message: `${PROPERTIES} (the will itself arrives)`,
  test_user_properties: PROPERTIES,
  test_payload_format: PROPERTIES,
  test_request_response: PROPERTIES,
  test_publication_expiry: PROPERTIES,
  test_subscribe_options: 'no-local: commands do not come from devices; no retained messages',
  test_subscribe_failure: 'it expects 0x80; the gateway answers 0x87, not authorized, which MQTT 5 defines',
  test_server_topic_alias:
    'the gateway does not use aliases toward the device (they are optional for a server)'
};

/** Settings that a test requires of the server. @type {Record<string, object>} */
const SETTINGS = {
  test_subscribe_failure: { permissions: [{ device: '*', publish: ['#'], subscribe: ['client_test/#'] }] }
};

/**
 * The settings of the clients' own command lines; that of 3.1.1 does not work with a port.
 * @param {string} module
 * @param {number} port
 */
const driver = (module, port) => `
import unittest, ${module} as m
m.host, m.port, m.topic_prefix = "127.0.0.1", ${port}, "client_test/"
m.topics = [m.topic_prefix + t for t in ("TopicA", "TopicA/B", "Topic/C", "TopicA/C", "/TopicA")]
m.wildtopics = [m.topic_prefix + t for t in ("TopicA/+", "+/C", "#", "/#", "/+", "+/+", "TopicA/#")]
m.nosubscribe_topics = ("test/nosubscribe",)
unittest.main(module=m)`;

/** @param {string} python @param {string} folder @param {string} file @param {string} name @param {number} port */
function runOne(python, folder, file, name, port) {
  const options = { cwd: folder, encoding: /** @type {const} */ ('utf8'), timeout: TEST_MS };
  const { status, stdout, stderr, error } = spawnSync(
    python,
    ['-c', driver(path.basename(file, '.py'), port), `Test.${name}`],
    options
  );
  const output = `${stdout}\n${stderr}`;
  const passed = status === 0 && /^OK/m.test(output);
  const lines = output.split('\n').filter((line) => /^\w*(Error|Exception)\b/.test(line));
  return { passed, reason: passed ? '' : error ? `${error}` : (lines.pop() ?? `exit ${status}`), output };
}

/**
 * The listener has its own thread because this one waits for the tests.
 * @param {string} name of the test
 * @returns {Promise<{port: number, stop: () => void}>}
 */
function startRelay(name) {
  const worker = new Worker(__filename, { workerData: SETTINGS[name] ?? {} });
  return new Promise((resolve) =>
    worker.once('message', (port) => resolve({ port, stop: () => worker.postMessage('stop') }))
  );
}

function serve() {
  const { Relay } = require('./relay');
  const relay = new Relay({ keepAliveMaxS: 60, topicAliasMaximum: 10, receiveMaximum: 20, ...workerData });
  const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
  port.postMessage(relay.listen());
  port.once('message', () => relay.close());
}

async function main() {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string' },
      python: { type: 'string', default: 'python3' },
      only: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false }
    }
  });
  const { folder, python, only } = values;
  if (!folder || !fs.existsSync(path.join(folder, 'client_test5.py'))) {
    console.error('--folder must be the folder "interoperability" of eclipse/paho.mqtt.testing');
    process.exit(2);
  }
  let failed = 0;
  console.log('| MQTT | test | result |\n| --- | --- | --- |');
  for (const [version, file] of Object.entries(SUITES)) {
    const source = fs.readFileSync(path.join(folder, file), 'utf8');
    const names = [...source.matchAll(/^\s+def (test\w+)/gm)].map(([, name]) => name);
    for (const name of names.filter((each) => each.includes(only))) {
      const { port, stop } = await startRelay(name);
      const { passed, reason, output } = runOne(python, folder, file, name, port);
      stop();
      const excuse = NOT_PROMISED[`${version} ${name}`] ?? NOT_PROMISED[name];
      if (!passed && !excuse) failed++;
      console.log(
        `| ${version} | ${name} | ${passed ? 'passes' : excuse ? `not promised: ${excuse}` : `**fails**: ${reason}`} |`
      );
      if (values.verbose && !passed) console.log(output);
    }
  }
  console.log(failed ? `\n${failed} failed` : '\nall that is promised passes');
  process.exitCode = failed ? 1 : 0;
}

if (isMainThread) main();
else serve();

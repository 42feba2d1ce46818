'use strict';
// Entry of a process: an engine with an MQTT listener, a log and a kafka uplink, without Node-RED.
//   node test/system/kafka/chaos/gateway.js BROKERS DIRECTORY MODE [SETTINGS [ACKNOWLEDGE]]; SETTINGS of the cluster
// node, as JSON
// Standard output, one JSON object per line: {"port":…} when devices can connect and the uplink is connected; then for
// each line on standard input {"cpu":{user,system} in µs,"rssKiB":…,"state":…,"counters":…}. It ends with its input.

const readline = require('node:readline');
const native = require('../../../../native');
const { parseOptions } = require('../../../../nodes/lib/base/options');
const { schema } = require('../../../../nodes/lib/kafka/settings/kafka');
const { clusterOptions } = require('../../../../nodes/lib/kafka/settings/kafka-options');
const { StoreThread } = require('../../../../nodes/lib/store');
const { UplinkThread } = require('../../../../nodes/lib/kafka/uplink');

const [brokers, directory, mode, settings = '{}', level = 'safe'] = process.argv.slice(2);
const acknowledge = /** @type {'safe' | 'replicated'} */ (level);
const SOURCE = 1;
const PRIORITY = 2;
const BATCH = 3;
const UPLINK = 4;
const QUEUE = 1;

const engine = new native.Engine({ acknowledge, log: true }, () => {});
engine.applyPlan({
  stages: [
    { id: SOURCE, kind: 'source', protocol: 'mqtt', name: 'devices', next: [PRIORITY], messages: false },
    {
      id: PRIORITY,
      kind: 'priority',
      rules: [{ topic: 'd/+/alarm', class: 1 }],
      defaultClass: 0,
      next: [BATCH],
      messages: false
    },
    {
      id: BATCH,
      kind: 'batch',
      mode: /** @type {'records' | 'envelope'} */ (mode),
      format: 'ndjson',
      flush: 'adaptive',
      minDevices: 0,
      maxBytes: 16384,
      maxDelayMs: 1000,
      immediateClass: 1,
      next: [UPLINK],
      messages: false
    },
    { id: UPLINK, kind: 'uplink', uplink: QUEUE, name: 'cloud', stamps: true, next: [], messages: false }
  ]
});
const limits = {
  limitMiB: 1024,
  classLimitMiB: new Array(9).fill(0),
  whenFull: /** @type {const} */ ('slow')
};
const store = new StoreThread({ directory, ...limits });
store.attach(engine.token);
const { values } = parseOptions({ brokers, security: 'plaintext', ...JSON.parse(settings) }, schema);
const { options } = clusterOptions(values, { node: null, files: undefined });
const thread = new UplinkThread({ ...options, gateway: 'bench', replicated: acknowledge === 'replicated' });
/** @type {any} */
let state = {};
thread.on('state', (/** @type {any} */ latest) => {
  const isFirst = state.state !== 'connected' && latest.state === 'connected';
  state = latest;
  if (isFirst && port === 0) {
    port = engine.listen(SOURCE, { host: '127.0.0.1', port: 0 });
    console.log(JSON.stringify({ port }));
  }
});
let port = 0;
thread.on('problem', (/** @type {any} */ { reason }) => console.error(reason));
thread.setStages({ [UPLINK]: { source: 'mqtt' } });
thread.attach(engine.token, QUEUE);

const input = readline.createInterface({ input: process.stdin });
input.on('line', () => {
  const rssKiB = Math.round(process.memoryUsage.rss() / 1024);
  const { counters } = engine.stats();
  console.log(JSON.stringify({ cpu: process.cpuUsage(), rssKiB, state, counters }));
});
input.on('close', async () => {
  await thread.stop(2000);
  await store.stop(5000);
  engine.close();
  process.exit(0);
});

'use strict';
// A gateway with an ocf cloud node, and where its records go: mosquitto with the sink, or a Kafka broker.

const path = require('node:path');
const { KafkaBroker } = require('../harness/kafka/broker');
const { createTopics } = require('../harness/kafka/client');
const { PLACE, kafkaUplink } = require('../harness/kafka/flow');
const { freePort, waitForPort } = require('../harness/net');
const { CoapLoad } = require('../runs/coapgen');
const { oneCore } = require('../runs/coap-run');
const { loadOf } = require('../runs/load');
const { Stage } = require('../runs/stage');

/** @typedef {import('../options/chapter').Plan} Plan */

const ENGINE = 'seganet-engine-1';
const PRIORITY = 'seganet-priority-1';
const PARTITIONS = 4;
/** Of Kafka's own start script. */
const HEAP = '1g';
/** Files of a process beside those of the connections. */
const SPARE_FILES = 512;

const place = { ...PLACE, engine: ENGINE };

/** @param {number} port @param {string} storeFile @param {string} next */
const cloudNode = (port, storeFile, next) => ({
  ...place,
  id: 'bench-ocf',
  type: 'seganet-ocf-cloud',
  version: 1,
  host: '127.0.0.1',
  port: String(port),
  storeFile,
  mostDevices: '1000000',
  wires: [[next]]
});

/** @param {string} brokers */
const kafkaNodes = (brokers) => [
  {
    ...place,
    id: 'bench-batch',
    type: 'seganet-batch',
    version: 2,
    mode: 'records',
    flush: 'adaptive',
    wires: [['bench-kafka-uplink']]
  },
  ...kafkaUplink(brokers, 'bench-kafka-uplink')
];

class OcfStage {
  /** @param {Plan} plan @param {{ stage: Stage, port: number, storeFile: string, kafka: KafkaBroker | null }} parts */
  constructor(plan, { stage, port, storeFile, kafka }) {
    this.plan = plan;
    this.stage = stage;
    this.port = port;
    this.storeFile = storeFile;
    this.kafka = kafka;
    this.folder = stage.folder;
  }

  /** The process group of the gateway. */
  get pid() {
    return /** @type {import('../systems').System} */ (this.stage.system).children[0].pid;
  }

  /** Starts a load. @param {import('../runs/coapgen').LoadOptions} options of coapgen */
  load(options) {
    const { openFiles } = this.stage;
    const load = new CoapLoad(this.port, options, { cpus: this.plan.harnessCpus, openFiles });
    this.stage.tools.push(load.child);
    return load;
  }

  /** Runs a load. @param {import('../runs/coapgen').LoadOptions} options of coapgen @returns {Promise<any>} its result */
  generate(options) {
    return this.load(options).result();
  }

  async close() {
    await this.stage.close();
    await this.kafka?.stop();
  }
}

/**
 * @param {Plan} plan
 * @param {object} [options]
 * @param {boolean} [options.kafka] records go to a Kafka broker
 * @param {number} [options.connections] most at a time
 * @param {(file: string) => Promise<unknown>} [options.fill] makes the store before the gateway opens it
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<OcfStage>}
 */
async function startOcf(plan, { kafka: intoKafka = false, connections = 1000, fill, signal } = {}) {
  const port = await freePort();
  const flow = /** @type {object[]} */ ([]);
  const openFiles = Math.max(plan.openFiles, connections + SPARE_FILES);
  const gatewayEnv = {
    SEGANET_WORKERS: '1',
    'seganet-batch.flush': 'adaptive',
    'seganet-engine.maxDevices': '20000'
  };
  const stage = new Stage({
    ...loadOf(plan, { gatewayEnv }),
    gatewayCpus: oneCore(plan.gatewayCpus),
    openFiles,
    flow,
    signal
  });
  const storeFile = path.join(stage.folder, 'ocf.db');
  /** @type {KafkaBroker | null} */
  let kafka = null;
  try {
    await fill?.(storeFile);
    await stage.open();
    if (intoKafka) {
      // The time of a record is that at which the broker appends it.
      kafka = new KafkaBroker({ heap: HEAP, lines: ['log.message.timestamp.type=LogAppendTime'] });
      await kafka.start();
      await createTopics(kafka.address, ['seganet.normal'], PARTITIONS);
      flow.push(...kafkaNodes(kafka.address));
    }
    flow.push(cloudNode(port, storeFile, intoKafka ? 'bench-batch' : PRIORITY));
    const { children } = await stage.startSystem('seganet');
    await waitForPort(port, '127.0.0.1', 30000, () => Boolean(children[0].exit));
  } catch (error) {
    await stage.close();
    await kafka?.stop();
    throw error;
  }
  return new OcfStage(plan, { stage, port, storeFile, kafka });
}

module.exports = { startOcf, OcfStage, SPARE_FILES };

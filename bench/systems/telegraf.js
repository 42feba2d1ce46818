'use strict';
// Telegraf beside a local mosquitto: inputs.mqtt_consumer → outputs.mqtt. Settings:
// https://docs.influxdata.com/telegraf/v1/input-plugins/mqtt_consumer/ and …/output-plugins/mqtt/
//
// Observed with 1.37.2: the output's topic template cannot read metrics of mqtt_consumer ("can't evaluate field Tag in
// type *metric.trackingMetric"), so original topics are not available, and the template serializer cannot batch them.
// Original payloads are available: layout `field` publishes the one field unchanged.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { assemble, temporary } = require('../harness/assemble');
const { needsCommand, needsMosquitto } = require('../harness/lacking');
const { startLocalBroker } = require('../harness/local-broker');

/**
 * Returns the configuration file. Limits are wide, so that the benchmark measures the work and not the defaults of
 * 1,000 undelivered messages or a flush every 10 s.
 * @param {{localPort: number, cloud: {host: string, tlsPort: number, files: {ca: string}}}} ends @param {boolean} batch
 */
function telegrafConfig({ localPort, cloud }, batch) {
  const text = JSON.stringify; // a TOML basic string
  return `[agent]
  interval = "1s"
  flush_interval = "100ms"
  flush_jitter = "0s"
  metric_batch_size = 1000
  metric_buffer_limit = 100000
  omit_hostname = true
  quiet = true

[[inputs.mqtt_consumer]]
  servers = [${text(`tcp://127.0.0.1:${localPort}`)}]
  topics = ["d/#"]
  topic_tag = "topic"
  qos = 1
  persistent_session = true
  client_id = "telegraf-in"
  max_undelivered_messages = 10000
  data_format = "value"
  data_type = "string"

[[outputs.mqtt]]
  servers = [${text(`mqtts://${cloud.host}:${cloud.tlsPort}`)}]
  qos = 1
  keep_alive = 30
  client_id = "telegraf-out"
  tls_ca = ${text(cloud.files.ca)}
  tls_min_version = "TLS13"
${batch ? batchLines : recordLines}`;
}

const recordLines = `  topic = "telegraf"
  layout = "field"
`;

// Payloads are JSON and stay JSON inside the batch.
const batchLines = `  topic = "telegraf/batch"
  layout = "batch"
  data_format = "json"
  json_nested_fields_include = ["value"]
`;

/** @param {import('./index').Context} context @param {boolean} batch @returns {Promise<import('./index').System>} */
async function start(context, batch) {
  const { cloud } = context;
  const folder = temporary();
  const port = await freePort();
  const file = path.join(folder, 'telegraf.conf');
  fs.writeFileSync(file, telegrafConfig({ localPort: port, cloud }, batch));
  return assemble({
    port,
    folder,
    parts: ['mosquitto', 'telegraf'],
    launch: async (started) => {
      started(await startLocalBroker(folder, port, context));
      started(new Child('telegraf', ['--config', file], { ...context, name: 'telegraf' }));
    },
    ready: async ([local]) => {
      await local.until((output) => output.includes('telegraf-in'), 30000);
      await cloud.waitForClient(/^telegraf-out$/);
    }
  });
}

const lacking = () =>
  needsMosquitto() ||
  needsCommand(
    'telegraf',
    'Get it from https://docs.influxdata.com/telegraf/v1/install/, or use Go: go install github.com/influxdata/telegraf/cmd/telegraf@latest.'
  );

/** @type {import('./index').Adapter[]} */
const adapters = [
  {
    name: 'telegraf',
    title: 'Telegraf and mosquitto',
    what: 'A local mosquitto and Telegraf: mqtt_consumer → mqtt, a flush every 100 ms, payloads unchanged.',
    lacking,
    start: (context) => start(context, false)
  },
  {
    name: 'telegraf-batch',
    title: 'Telegraf and mosquitto, batches',
    what: 'The same; each flush sends one message, a JSON array.',
    lacking,
    start: (context) => start(context, true)
  }
];

module.exports = Object.assign(adapters, { telegrafConfig });

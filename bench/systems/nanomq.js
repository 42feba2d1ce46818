'use strict';
// NanoMQ's bridge. Settings: https://nanomq.io/docs/en/latest/config-description/bridges.html

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { assemble, temporary } = require('../harness/assemble');
const { needsCommand } = require('../harness/lacking');

/**
 * Returns the configuration file. An empty remote_topic keeps the message's topic.
 * @param {{port: number, cloud: {host: string, tlsPort: number, files: {ca: string}}}} ends
 */
function nanomqConfig({ port, cloud }) {
  const text = JSON.stringify; // a HOCON string
  return `mqtt {
  max_packet_size = 1MB
  max_mqueue_len = 65535
  retry_interval = 10s
}

listeners.tcp {
  bind = ${text(`127.0.0.1:${port}`)}
}

auth {
  allow_anonymous = true
  no_match = allow
}

log {
  to = [console]
  level = warn
}

bridges.mqtt.cloud {
  server = ${text(`tls+mqtt-tcp://${cloud.host}:${cloud.tlsPort}`)}
  proto_ver = 4
  clientid = "nanomq-bridge"
  keepalive = 60s
  clean_start = false
  ssl {
    cacertfile = ${text(cloud.files.ca)}
  }
  forwards = [
    {
      remote_topic = ""
      local_topic = "d/#"
      qos = 1
    }
  ]
  max_parallel_processes = 8
  max_send_queue_len = 65535
  max_recv_queue_len = 65535
}
`;
}

/** @type {import('./index').Adapter} */
const adapter = {
  name: 'nanomq',
  title: 'NanoMQ bridge',
  what: "NanoMQ's bridge to the cloud, original topics and payloads.",
  lacking: () => needsCommand('nanomq', 'See https://nanomq.io/docs/en/latest/installation/packages.html.'),
  start: async (context) => {
    const { cloud } = context;
    const folder = temporary();
    const port = await freePort();
    const file = path.join(folder, 'nanomq.conf');
    fs.writeFileSync(file, nanomqConfig({ port, cloud }));
    return assemble({
      port,
      folder,
      parts: ['nanomq'],
      launch: (started) =>
        started(new Child('nanomq', ['start', '--conf', file], { ...context, name: 'nanomq' })),
      ready: () => cloud.waitForClient(/^nanomq-bridge$/)
    });
  }
};

module.exports = Object.assign(adapter, { nanomqConfig });

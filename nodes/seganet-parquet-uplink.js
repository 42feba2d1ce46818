'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('parquet');
const path = require('node:path');
const { onInput } = require('./lib/base/message-input');
const { Complaints } = require('./lib/base/complaints');
const { given } = require('./lib/base/node-config');
const { toRecord, toEnvelope, isBatch } = require('./lib/base/record');
const { BrokerLink } = require('./lib/engine/broker-link');
const { join } = require('./lib/engine/join');
const { threads } = require('./lib/engine/modules');
const { uplinkShown, heldShown } = require('./lib/engine/uplink-status');
const { schema } = require('./lib/parquet/settings/parquet-uplink');
const { fileOptions } = require('./lib/parquet/uplink/options');
const { checkStage } = require('./lib/parquet/uplink/stage');

/** Longest wait for the last file when the node is closed. */
const STOP_MS = 5000;

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node & { credentials?: Record<string, unknown>, link?: BrokerLink }}
   * @param {import('node-red').NodeDef} config
   */
  function ParquetUplink(config) {
    RED.nodes.createNode(this, config);
    const defaultFolder = path.resolve(RED.settings.userDir || process.cwd(), 'seganet-parquet', this.id);
    const member = join(
      RED,
      this,
      { ...config, ...given(this.credentials) },
      schema,
      (values, host) => {
        const { options, warning } = fileOptions(values, defaultFolder);
        if (warning) this.warn(warning);
        const topics = checkStage({ valuePath: values.valuePath, unitPath: values.unitPath });
        const link = openLink(this, options);
        this.link = link;
        link.claim(host, this);
        return {
          kind: 'uplink',
          settings: { uplink: host.uplinks.numberOf(link.id), stamps: true },
          uplink: { link, topics },
          shown: (_rates, stats) => uplinkShown(link.state, stats, host.uplinks.size === 1)
        };
      },
      // As for a folder that cannot be written, records wait and the log keeps them.
      (wrong, host) => ({
        kind: 'uplink',
        settings: { uplink: host.uplinks.numberWithout(this.id), stamps: true },
        shown: (_rates, stats) => heldShown(wrong.shown, stats, host.uplinks.size === 0)
      })
    );
    if (!member) return;

    onInput(this, (msg, _send, done) =>
      member.inlet.put(isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, { delivery: true, msg })
    );
  }

  RED.nodes.registerType('seganet-parquet-uplink', ParquetUplink, {
    credentials: { accessKey: { type: 'text' }, secretKey: { type: 'password' } }
  });
};

/**
 * Makes the link of the thread, which closes with the node.
 * @param {import('node-red').Node} node
 * @param {import('./lib/parquet/uplink/options').FileOptions} options
 */
function openLink(node, options) {
  const link = new BrokerLink(
    node.id,
    node.name || options.url,
    options,
    () => threads('parquet').UplinkThread
  );
  const complaints = new Complaints((sentence) => node.warn(sentence));
  link.onProblem = (sentence, kind = sentence, count = 1) => complaints.tell(kind, sentence, count);
  node.on('close', (/** @type {() => void} */ done) => {
    link.release(node);
    void link.close(STOP_MS).finally(done);
  });
  return link;
}

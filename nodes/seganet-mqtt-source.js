'use strict';

require('../native/node/needs-node');
const { tlsFiles } = require('./lib/settings/broker-options');
const { configOf, given } = require('./lib/base/node-config');
const { join } = require('./lib/engine/join');
const { schema, sourceOptions, sourceTls } = require('./lib/sources/mqtt-source/mqtt-source-options');
const { deliveryOf } = require('./lib/settings/delivery');
const { findLoops } = require('./lib/sources/mqtt-source/loop-check');
const { shown } = require('./lib/sources/mqtt-source/mqtt-source-status');
const parts = require('./lib/engine/modules');

/** @typedef {import('./lib/sources/mqtt-source/mqtt-source-options').SourceOptions} SourceOptions */
/** @typedef {import('./lib/sources/mqtt-source/mqtt-source').Source} Source */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function MqttSource(config) {
    RED.nodes.createNode(this, config);
    /** @type {SourceOptions | null} */
    let options = null;
    let url = '';
    /** @type {Source | null} */
    let source = null;
    const member = join(RED, this, { ...config, ...given(this.credentials) }, schema, (settings, host) => {
      const { tls } = settings;
      const files = tlsFiles(configOf(RED, tls), (name) =>
        RED.util.evaluateNodeProperty(name, 'env', this, {})
      );
      const checked = sourceOptions(settings, {
        clientId: `${host.gatewayId}-source-${this.id}`,
        maxPacketBytes: host.maxPacketBytes,
        tls: sourceTls(tls, tls ? RED.nodes.getNode(tls) : null, files),
        tlsFiles: files
      });
      if (checked.warning) this.warn(checked.warning);
      options = checked.options;
      url = settings.url;
      return {
        kind: 'source',
        protocol: 'mqtt',
        delivery: deliveryOf(settings),
        settings: { protocol: 'pushed' },
        shown: (rates, stats, joined) => shown(source, rates, stats, joined)
      };
    });
    if (!member || !options) return;

    const reading = /** @type {SourceOptions} */ (options);
    const { host } = member;
    // mqtt.js takes 2 MB, so it is loaded for the first node of this type.
    const { Source } = require('./lib/sources/mqtt-source/mqtt-source');
    source = new Source(
      reading,
      {
        put: (args, done, how) => member.inlet.put(args, done, how),
        warn: (sentence) => this.warn(sentence)
      },
      parts.native()
    );
    const running = source;
    /** @type {unknown} */
    let plan = null;
    let isStarted = false;
    const unsubscribe = host.upkeep.onBell(() => {
      running.tick();
      if (!host.plan || host.plan === plan || !member.route) return;
      plan = host.plan;
      // Records have no route before the first plan. Each plan may have other uplinks.
      const isShut = member.route.shut !== null;
      running.hold(isShut);
      if (!isStarted && !isShut) running.start();
      isStarted ||= !isShut;
      for (const loop of findLoops({ url, filters: reading.filters }, host.uplinks.targets(), host.gatewayId))
        this.warn(loop);
    });
    this.on('close', (/** @type {boolean} */ removed, /** @type {() => void} */ done) => {
      unsubscribe();
      // Node-RED removes a node that is only disabled, too; that one is still in the flow, and its session goes on.
      void running.stop(removed && !configOf(RED, this.id)).finally(done);
    });
  }

  RED.nodes.registerType('seganet-mqtt-source', MqttSource, {
    credentials: { username: { type: 'text' }, password: { type: 'password' } }
  });
};

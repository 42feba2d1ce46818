'use strict';

require('../native/node/needs-node');
const { join } = require('./lib/engine/join');
const { checkSettings, schema, topicRule } = require('./lib/sources/http/http-options');
const { shown } = require('./lib/sources/http/http-status');
const { deliveryOf } = require('./lib/settings/delivery');
const { serverTls } = require('./lib/sources/http/http-tls');
const { offerOf } = require('./lib/settings/overlay-offer');
const { partSettings, tenantRule } = require('./lib/settings/tenant-rule');
const { NO_TENANT } = require('./lib/base/tenant-id');

/** @typedef {import('./lib/sources/http/http-options').Settings} Settings */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function HttpDevices(config) {
    RED.nodes.createNode(this, config);
    /** @type {Settings | null} */
    let checked = null;
    let rule = NO_TENANT;
    /** @type {import('./lib/sources/http/http-server').Tls | null} */
    let tls = null;
    /** @type {import('./lib/sources/http/http-server').HttpServer | null} */
    let server = null;
    /** @type {import('./lib/sources/http/port-opener').PortOpener | null} */
    let opener = null;
    /** @type {import('./lib/login/token-file').TokenFile | null} */
    let tokens = null;
    const member = join(RED, this, config, schema, (settings) => {
      const warning = checkSettings(settings);
      if (warning) this.warn(warning);
      topicRule(settings);
      rule = tenantRule(settings);
      tls = serverTls(RED, this, settings.tls);
      checked = settings;
      return {
        kind: 'source',
        protocol: 'http',
        delivery: deliveryOf(settings),
        settings: { protocol: 'pushed', ...partSettings(rule) },
        tenant: rule.from !== 'none',
        isOpen: () => Boolean(server?.port) && !opener?.trouble,
        shown: (rates, stats, joined) => {
          const { port = 0, connections } = server ?? {};
          const isLocked = tokens?.isEmpty ?? false;
          const place = {
            port,
            trouble: opener?.trouble ?? '',
            connections: connections?.size ?? 0,
            isLocked
          };
          return shown(place, rates, stats, joined);
        }
      };
    });
    if (!member || !checked) return;

    const settings = /** @type {Settings} */ (checked);
    const { host } = member;
    // The server is loaded for the first node of this type.
    const { TokenFile } = require('./lib/login/token-file');
    const { HttpServer } = require('./lib/sources/http/http-server');
    const { PortOpener } = require('./lib/sources/http/port-opener');
    const { RequestHandler } = require('./lib/sources/http/request-handler');
    tokens =
      settings.login === 'tokens' ? new TokenFile(settings.tokenFile, (text) => this.warn(text)) : null;
    const known = tokens;
    const engine = {
      put: (/** @type {any} */ args, /** @type {any} */ done) =>
        member.inlet.put(args, done, { delivery: true }),
      hasRoom: () => !host.inbox.waits(member.stage),
      maxPayloadBytes: host.maxPacketBytes
    };
    const requests = new RequestHandler(settings, engine, known, undefined, rule);
    requests.onWrongToken = (address) => host.logins.onRefused({ stage: member.stage, address });
    server = new HttpServer(settings, requests, tls, (error) => this.error(error));
    const offer = offerOf(RED, this, settings, 'http');
    opener = new PortOpener(server, settings, (sentence) => this.error(sentence), offer);
    const opened = opener;
    let secondOfFile = -1;
    const unsubscribe = host.upkeep.onBell(() => {
      const second = Math.floor(performance.now() / 1000);
      if (second !== secondOfFile) known?.refresh();
      secondOfFile = second;
      // Records have no route before the first plan.
      opened.tick(Boolean(host.plan && member.route));
    });
    this.on('close', (/** @type {() => void} */ done) => {
      unsubscribe();
      void opened.close().finally(done);
    });
  }

  RED.nodes.registerType('seganet-http-devices', HttpDevices);
};

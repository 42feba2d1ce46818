'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('ocf');
const path = require('node:path');
const { Complaints } = require('./lib/base/complaints');
const { given } = require('./lib/base/node-config');
const { join } = require('./lib/engine/join');
const { listenerParts } = require('./lib/settings/listener-settings');
const { addCloudEndpoints } = require('./lib/ocf/node/cloud-endpoints');
const settings = require('./lib/ocf/node/cloud-settings');
const { setCloud } = require('./lib/ocf/node/clouds');
const { regionSettings } = require('./lib/ocf/node/region-settings');
const { serverTls } = require('./lib/sources/http/http-tls');
const { deskOptions, isPostgresUrl } = require('./lib/ocf/cloud');
const status = require('./lib/base/status');

/** @typedef {import('./lib/ocf/node/running-cloud').RunningCloud} RunningCloud */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function OcfCloud(config) {
    RED.nodes.createNode(this, config);
    const complaints = new Complaints((sentence) => this.error(sentence));
    const warnings = new Complaints((sentence) => this.warn(sentence));
    /** @type {import('./lib/engine/member').Member | null} */
    let joined = null;
    const all = { ...config, ...given(/** @type {any} */ (this).credentials) };
    joined = join(RED, this, all, settings.schema, (values, host) => {
      const exposed = settings.check(values);
      const { keepAliveS, presenceTopic, recordTypes, sid, endpoint, storeFile, storePassword, ...rest } =
        values;
      const { accessSeconds, refreshDays, requestTimeoutMs, mostDevices, httpPort, httpHost } = rest;
      const parts = listenerParts(RED, this, settings.listenerValues(values), 'coap', {
        protocol: 'coap',
        maxBodyBytes: settings.MAX_BODY_BYTES,
        ...(presenceTopic && { presenceTopic })
      });
      const httpTls = httpPort > 0 ? serverTls(RED, this, values.httpTls) : null;
      const region = regionSettings(RED, this, values, host.gatewayId);
      for (const sentence of exposed) this.warn(sentence);
      // The cloud takes 1.5 MB, so it is loaded for the first node of this type.
      const { RunningCloud } = require('./lib/ocf/node/running-cloud');
      const cloud = new RunningCloud({
        file: isPostgresUrl(storeFile)
          ? storeFile
          : storeFile
            ? path.resolve(storeFile)
            : path.join(host.directory, 'ocf.db'),
        password: storePassword,
        sid,
        endpoint: () => endpoint || settings.defaultEndpoint(values, joined?.port ?? 0),
        options: {
          accessSeconds,
          refreshDays,
          requestTimeoutMs,
          mostDevices,
          recordTypes: recordTypes.split(/[\s,]+/).filter(Boolean)
        },
        region,
        http: httpPort > 0 ? { host: httpHost, port: httpPort, tls: httpTls } : null,
        oidc: settings.oidcSettings(values),
        engine: host.engine,
        stage: host.stageOf(this.id),
        onBell: (fn) => host.upkeep.onBell(fn),
        readers: host.readers,
        warn: (sentence) => this.warn(sentence),
        unrecorded: (_di, sentence) => warnings.tell(sentence, sentence),
        report: (sentence) => this.error(sentence),
        log: (sentence) => this.log(sentence),
        problem: (error) =>
          complaints.tell(error.message, `The cloud could not do something: ${error.message}`)
      });
      return {
        kind: 'source',
        protocol: 'ocf',
        ...parts,
        listener: {
          ...parts.listener,
          desk: {
            ...deskOptions({ requestTimeoutMs }),
            pingS: keepAliveS,
            identifyTimeoutMs: settings.IDENTIFY_MS
          }
        },
        // The certificate does not replace the token: one certificate may serve several devices.
        ...(parts.tls && { tls: { ...parts.tls, certIsLogin: false, certNote: true } }),
        prepare: async () => {
          await cloud.open();
          setCloud(this.id, cloud.cloud);
          this.log(`The cloud has the id ${cloud.sid}.`);
        },
        end: async () => {
          // An engine that ends still acknowledges records, and the cloud still answers for it.
          await host.closing?.catch(() => {});
          setCloud(this.id, null);
          await cloud.close();
        },
        figures: () => cloud.figures(),
        list: (query) => cloud.list(query),
        shown: (rates, stats, member) => shown(cloud, rates, stats, member)
      };
    });
  }

  RED.nodes.registerType('seganet-ocf-cloud', OcfCloud, {
    credentials: { storePassword: { type: 'password' }, clientSecret: { type: 'password' } }
  });
  addCloudEndpoints(RED);
};

/**
 * @param {RunningCloud} cloud
 * @param {import('./lib/engine/figures/meter').StageRate} rates
 * @param {import('../native/index.js').EngineStats} stats
 * @param {import('./lib/engine/member').Member} member
 * @returns {import('./lib/base/status').Shown}
 */
function shown(cloud, rates, stats, member) {
  const trouble = member.host.waitsFor(stats);
  if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
  if (!member.listening) return { fill: 'yellow', shape: 'ring', text: 'opening' };
  const { httpTrouble, usersTrouble, regionTrouble } = cloud;
  if (httpTrouble) return { fill: 'yellow', shape: 'ring', text: `HTTP: ${httpTrouble}` };
  if (usersTrouble) return { fill: 'yellow', shape: 'ring', text: `users: ${usersTrouble}` };
  if (regionTrouble) return { fill: 'yellow', shape: 'ring', text: `regions: ${regionTrouble}` };
  const figures = `${cloud.on} of ${cloud.devices} devices on · ${status.rate(rates.recordsOut)}/s`;
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: `slowed (memory) · ${figures}` };
  return { fill: 'green', shape: 'dot', text: `${member.port} · ${figures}` };
}

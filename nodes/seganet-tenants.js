'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('tenants');
const path = require('node:path');
const { Complaints } = require('./lib/base/complaints');
const { onInput } = require('./lib/base/message-input');
const { isBatch, toRecord } = require('./lib/base/record');
const { divide } = require('./lib/tenants/front/division');
const { sum } = require('./lib/engine/drain');
const { join } = require('./lib/engine/join');
const { tenantsFront } = require('./lib/tenants/front/tenants-front');
const { TenantsLink } = require('./lib/tenants/front/tenants-link');
const { schema } = require('./lib/tenants/settings');
const { mutualTls, serverTls } = require('./lib/sources/http/http-tls');
const { KeeperClient } = require('./lib/tenants/keeper/keeper-client');
const { exposureProblem } = require('./lib/tenants/exposure');
const { TenantsView, addView, addOperatorEndpoints } = require('./lib/tenants/operator');
const { Pages } = require('./lib/tenants/pages');
const { keeperSocket, tenantsFile } = require('./lib/tenants/file/locations');
const { Streams } = require('./lib/tenants/streams');
const { TenantsFile } = require('./lib/tenants/file/tenants-file');
const { tenantsShown } = require('./lib/tenants/tenants-status');
const { thresholds } = require('./lib/unbatch/thresholds');

const STOP_MS = 2000;
/** In the engine's folder: the names and limits of the last valid file. */
const COPY = 'tenants.json';

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Tenants(config) {
    RED.nodes.createNode(this, config);
    /** @type {TenantsLink | null} */
    let link = null;
    /** @type {TenantsFile | null} */
    let file = null;
    /** @type {Pages | null} */
    let pages = null;
    /** @type {Streams | null} */
    let services = null;
    let removeView = () => {};
    const member = join(RED, this, config, schema, (values, host) => {
      const other = host.members.find(({ kind, id }) => kind === 'split' && id !== this.id);
      if (other) throw second(other.node.name || other.id);
      const { file: given, socket, mostAwake, idleS, connectS, ...others } = values;
      const { pagesPort, pagesHost, pagesTls, pagesPasswordFile, ...rest } = others;
      const { servicesPort, servicesHost, servicesTls, ...batch } = rest;
      const keeper = keeperSocket(socket);
      const told = {
        keeper: new KeeperClient({ socket: keeper }),
        warn: (/** @type {string} */ sentence) => this.warn(sentence),
        error: (/** @type {string} */ sentence) => this.error(sentence)
      };
      if (pagesPort > 0) {
        pages ??= new Pages({
          host: pagesHost,
          port: pagesPort,
          tls: serverTls(RED, this, pagesTls),
          passwordFile: pagesPasswordFile,
          node: config.name || 'tenants',
          pagesOf: (tenant) => file?.pages.get(tenant) ?? 0,
          ...told
        });
      }
      if (servicesPort > 0) {
        services ??= new Streams({
          host: servicesHost,
          port: servicesPort,
          tls: mutualTls(RED, this, servicesTls),
          portOf: (tenant) => file?.services.get(tenant) ?? 0,
          ...told
        });
      }
      const own = new TenantsFile({
        file: tenantsFile(given),
        copy: path.join(host.directory, COPY),
        changed: () => {
          reportFile();
          void host.replan();
        }
      });
      // Without tenants, the plan reports it.
      const reportFile = () => void (own.problem && own.tenants.length > 0 && this.error(own.problem));
      own.open();
      reportFile();
      file = own;
      const { uiHost, httpAdminRoot, httpNodeRoot } = /** @type {any} */ (RED.settings);
      const hasHttp = httpAdminRoot !== false || httpNodeRoot !== false;
      // Node-RED has opened its own port already.
      const exposed = hasHttp && exposureProblem(uiHost || '0.0.0.0', { files: [own.path] });
      if (exposed) this.warn(`Node-RED's own HTTP server: ${exposed}`);
      const limits = { mostAwake, idleMs: idleS * 1000, connectMs: connectS * 1000 };
      const made = new TenantsLink(this.id, config.name || 'tenants', { socket: keeper, ...limits });
      const complaints = new Complaints((sentence) => this.warn(sentence));
      made.onProblem = (sentence, kind = sentence, count = 1) => complaints.tell(kind, sentence, count);
      link = made;
      const operator = new TenantsView({
        id: this.id,
        keeper: told.keeper,
        front: tenantsFront(host, made, own)
      });
      removeView = addView(operator);
      // "seganet-tenants why" asks through the gateway's socket.
      Object.assign(this, { why: (/** @type {string} */ tenant) => operator.why(tenant) });
      const stage = {
        ...thresholds({ mode: 'envelope', ...batch }, host.gatewayId),
        format: 'ndjson',
        immediateClass: 1
      };
      return {
        kind: 'split',
        settings: {},
        tenants: made,
        operator,
        division: () => divide(host, own.tenants, stage, troubleOf(own)),
        shown: (_rates, stats) =>
          tenantsShown({
            counts: made.counts,
            fileProblem: own.problem,
            keeperProblem: made.keeperProblem,
            failed: [...made.rows.values()].filter(({ state }) => state === 'failed'),
            kept: sum(stats.heldRecords) + sum(stats.backlogRecords)
          })
      };
    });
    this.on('close', (/** @type {() => void} */ done) => {
      file?.close();
      removeView();
      void pages?.close();
      void services?.close();
      if (link) void link.close(STOP_MS).finally(done);
      else done();
    });
    if (!member) return;

    onInput(this, (msg, _send, done) => {
      if (isBatch(msg)) return done(new Error(BATCH));
      // Complete when the record is safe, Catch when its tenant is unknown or full.
      member.inlet.put(toRecord(msg), done, { delivery: true, msg });
    });
  }

  RED.nodes.registerType('seganet-tenants', Tenants);
  addOperatorEndpoints(RED);
};

const BATCH =
  'A batch cannot be divided among tenants. Wire records to this node; it makes the batches of each tenant itself.';

/** @param {string} name of the first node */
function second(name) {
  const sentence = `The engine already has the tenants node "${name}". Wire records to that node, or delete it.`;
  return Object.assign(new Error(sentence), { shown: 'second tenants node' });
}

/** @param {TenantsFile} file @returns {import('./lib/engine/plan-compiler').Trouble | null} */
function troubleOf({ tenants, problem, path: name }) {
  if (tenants.length > 0) return null;
  const empty = `The tenants file ${name} has no tenants. Add one with "seganet-tenants add".`;
  return { shown: problem ? 'no tenants file' : 'no tenants', sentence: problem || empty };
}

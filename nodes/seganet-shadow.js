'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('shadow');
const { onInput } = require('./lib/base/message-input');
const { isBlank } = require('./lib/base/options');
const { isBatch, toDeviceId, toPayload, RecordError } = require('./lib/base/record');
const { Status, rate, shorten } = require('./lib/base/status');
const { findHost, leaveInert } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { addEndpoints, allShadows, controlOf, schema, shadowsOf, watch } = require('./lib/shadow');

const KINDS = /** @type {const} */ (['update', 'get', 'delete']);

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  addEndpoints(RED, allShadows);
  const control = controlOf(RED, allShadows);

  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Shadow(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const { engine, wires = [] } = /** @type {{ engine?: string, wires?: string[][] }} */ (
      /** @type {unknown} */ (config)
    );
    const host = findHost(RED, this, engine);
    if (!host) return;
    if (values.dialect !== 'own' && !host.acceptsOddTopics)
      this.warn(
        'The topics of this dialect begin with $, which the engine refuses. Set its "Odd topics" to accept them.'
      );
    const engineNode = /** @type {import('./lib/engine/join').EngineNode} */ (RED.nodes.getNode(host.id));
    const shadows = shadowsOf(host, engineNode, RED);
    const status = new Status(this);
    const responsible = {
      values,
      wantsChanges: (wires[0] ?? []).length > 0,
      changed: (/** @type {string} */ deviceId, /** @type {any} */ payload) =>
        this.send([{ deviceId, payload }, null])
    };
    const leave = shadows.join(responsible);
    Object.assign(this, { control });
    const show = () => status.set(shown(shadows.figures()));
    const unwatch = watch(shadows, show);
    show();

    onInput(this, (msg, send, done) => {
      const record = recordOf(msg);
      const taken = record && shadows.take(responsible, record);
      if (taken) return void taken.then(() => done(), done);
      const kind = requestOf(msg);
      if (!kind) {
        // Whatever else the devices send.
        send([null, msg]);
        return done();
      }
      const device = toDeviceId(msg.deviceId);
      const text = kind === 'update' ? toPayload(msg.payload).toString() : '';
      shadows.ask({ kind, device, text }).then(({ body }) => {
        if (kind === 'get') send([{ ...msg, payload: JSON.parse(body) }, null]);
        done();
      }, done);
    });
    this.on('close', () => {
      unwatch();
      leave();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-shadow', Shadow);
};

/**
 * @param {any} msg
 * @returns {{ device: string, topic: string, payload: unknown } | null} null: it cannot be a record of a device
 */
function recordOf(msg) {
  const { topic, deviceId, payload } = msg;
  if (isBatch(msg))
    throw new RecordError(
      'A batch arrived where records are expected. Wire an unbatch node before this one.'
    );
  if (typeof topic !== 'string' || topic === '' || msg.shadow !== undefined || isBlank(deviceId)) return null;
  return { device: toDeviceId(deviceId), topic, payload };
}

/**
 * @param {any} msg of a flow
 * @returns {(typeof KINDS)[number] | null} null: it does not concern a shadow
 */
function requestOf({ shadow, payload, source }) {
  if (shadow !== undefined) {
    const kind = KINDS.find((each) => each === shadow);
    if (!kind) throw new RecordError('msg.shadow must be update, get or delete.');
    return kind;
  }
  // The record of a device sets nothing but by a topic of its dialect, also if a flow has parsed it.
  if (source !== undefined || typeof payload !== 'object' || payload === null) return null;
  return ['desired', 'reported', 'state'].some((key) => key in payload) ? 'update' : null;
}

/**
 * @param {ReturnType<import('./lib/shadow/shadows').Shadows['figures']>} figures of the engine
 * @returns {import('./lib/base/status').Shown}
 */
function shown({ reason, shadows = 0 }) {
  if (reason) return { fill: 'red', shape: 'ring', text: shorten(reason) };
  return { fill: 'green', shape: 'dot', text: `${rate(shadows)} shadows` };
}

'use strict';

require('../native/node/needs-node');
const { Complaints } = require('./lib/base/complaints');
const { asError } = require('./lib/base/guard');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { schema, toSettings } = require('./lib/sources/observe/observe-settings');
const { rate } = require('./lib/base/status');

/** @typedef {import('./lib/sources/observe/observe-settings').Resource} Resource */
/** @typedef {import('./lib/sources/observe/resource-watch').Watch} Watch */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function CoapObserve(config) {
    RED.nodes.createNode(this, config);
    /** @type {import('./lib/sources/observe/observe-settings').ObserveSettings | undefined} */
    let settings;
    /** @type {Watch[]} */
    const watches = [];
    const member = join(RED, this, config, schema, (values) => {
      settings = toSettings(values);
      return {
        kind: 'source',
        settings: { protocol: 'pushed' },
        protocol: 'coap',
        shown: (rates) => shown(watches, rates.recordsOut)
      };
    });
    if (!member || !settings) return;

    // The coap package takes memory, so it is loaded for the first node of this type.
    const { Peer } = require('./lib/sources/observe/coap-peer');
    const { Reader } = require('./lib/sources/observe/resource-reader');
    const { Watch } = require('./lib/sources/observe/resource-watch');
    const { resources, resourceOf, ...options } = settings;
    const complaints = new Complaints((sentence) => this.warn(sentence));
    /** @param {Resource} resource @param {Buffer} payload @param {(error?: Error) => void} done */
    const put = ({ deviceId, topic, cls }, payload, done) =>
      member.inlet.put({ deviceId, topic, payload, cls, flags: 0, ts: Date.now(), seq: -1 }, done);

    /** @param {Resource} resource @param {'observe' | 'poll'} mode @param {number} intervalMs */
    const watch = (resource, mode, intervalMs) => {
      const { target } = resource;
      const made = new Watch({
        mode,
        intervalMs,
        open: () => Peer.open(target, options),
        value: (payload, done) =>
          put(resource, payload, (error) => {
            done();
            if (error)
              complaints.tell('record', `A record of ${target.url} was not accepted: ${error.message}`);
          }),
        trouble: (reason) => complaints.tell(target.url, `${target.url}: ${reason}. The node retries.`)
      });
      watches.push(made);
      return made;
    };

    /** @type {(() => void)[]} */
    const withdrawals = [];
    for (const resource of resources) {
      watch(resource, resource.mode, resource.intervalS * 1000);
      withdrawals.push(
        member.host.readers.offer(resource.deviceId, (everyMs) => {
          const extra = watch(resource, 'poll', everyMs);
          return () => {
            extra.stop();
            watches.splice(watches.indexOf(extra), 1);
          };
        })
      );
    }

    const reader = new Reader(options);
    onInput(this, ({ url }, _send, done) => {
      let resource;
      try {
        resource = resourceOf(url);
      } catch (error) {
        return done(new Error(`msg.url ${asError(error).message}`));
      }
      const found = resource;
      reader.read(found).then((payload) => put(found, payload, done), done);
    });
    this.on('close', () => {
      for (const withdraw of withdrawals) withdraw();
      for (const each of watches) each.stop();
      reader.close();
    });
  }

  RED.nodes.registerType('seganet-coap-observe', CoapObserve);
};

/**
 * @param {Watch[]} watches
 * @param {number} perSecond
 * @returns {import('./lib/base/status').Shown}
 */
function shown(watches, perSecond) {
  const failing = watches.filter(({ state }) => state === 'failing');
  if (failing.length > 0) {
    const text = `${failing.length} of ${watches.length} fail: ${failing[0].reason}`;
    return { fill: failing.length === watches.length ? 'red' : 'yellow', shape: 'ring', text };
  }
  const count = (/** @type {string} */ state) => watches.filter((watch) => watch.state === state).length;
  const parts = [
    [count('observing'), 'observed'],
    [count('polling'), 'read'],
    [count('starting'), 'asked']
  ].flatMap(([number, word]) => (number ? [`${number} ${word}`] : []));
  return {
    fill: watches.length > 0 ? 'green' : 'grey',
    shape: 'dot',
    text: [...parts, `${rate(perSecond)}/s`].join(' · ')
  };
}

'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('tenants');
const { Status } = require('./lib/base/status');
const { leaveInert } = require('./lib/engine/join');
const { shortReason } = require('./lib/base/texts/short-reasons');
const { readSettings } = require('./lib/settings/migrations');
const { eventSchema } = require('./lib/tenants/settings');
const { KeeperEvents } = require('./lib/tenants/keeper/keeper-events');
const { keeperSocket } = require('./lib/tenants/file/locations');
const { messageOf, streamMessage } = require('./lib/tenants/tenant-message');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function TenantEvents(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, eventSchema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const kinds = values.events.split(/[\s,]+/).filter(Boolean);
    const status = new Status(this);
    status.set({ fill: 'yellow', shape: 'ring', text: 'connecting' });
    /** The flow knows that the stream is lost. */
    let isLost = false;
    const stream = new KeeperEvents(
      { socket: keeperSocket(values.socket) },
      {
        onEvent: (event) => {
          const { kind, msg } = messageOf(event);
          const isWanted = kinds.length === 0 || kinds.includes(kind);
          if (isWanted && (values.tenant === '' || event.tenant === values.tenant)) this.send(msg);
        },
        onState: (problem) => {
          if (problem) {
            status.red(
              `keeper: ${shortReason(/\((E[A-Z]+)\)/.exec(problem)?.[1] ?? '') || 'connection lost'}`
            );
            if (!isLost) this.warn(problem);
          } else status.set({ fill: 'green', shape: 'dot', text: 'connected' });
          // Another reason for the same loss is only shown.
          if (isLost && problem) return;
          isLost = problem !== '';
          // Events while there was no stream are missing, so the flow must know.
          this.send(streamMessage(problem, Date.now()));
        }
      }
    );
    // A message that is sent before all nodes exist is lost.
    const opening = setImmediate(() => stream.open());
    this.on('close', () => {
      clearImmediate(opening);
      stream.close();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-tenant-events', TenantEvents);
};

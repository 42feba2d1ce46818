'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('overlay');
const { Status } = require('./lib/base/status');
const { leaveInert } = require('./lib/engine/join');
const { EVENTS, peerSchema } = require('./lib/overlay/settings');
const { shortReason } = require('./lib/base/texts/short-reasons');
const { readSettings } = require('./lib/settings/migrations');
const { messageOf, shownOf } = require('./lib/overlay/peers');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef & { overlay?: string }} config
   */
  function OverlayPeers(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown } = readSettings(config, peerSchema);
    if (problems.length > 0) return leaveInert(this, shown, problems.join(' '));
    const network = /** @type {import('./seganet-overlay').OverlayNode | null} */ (
      config.overlay ? RED.nodes.getNode(config.overlay) : null
    );
    if (network?.type !== 'seganet-overlay')
      return leaveInert(
        this,
        'no overlay network',
        'No overlay network is chosen, or it is disabled. Choose one in the node.'
      );
    // The overlay network node has reported the reason.
    if (!network.link) return leaveInert(this, 'overlay not started', '');
    const kinds = values.events.split(/[\s,]+/).filter(Boolean);
    /** @param {string | undefined} name */
    const isWanted = (name) =>
      values.peer === '' || name === values.peer || name?.startsWith(`${values.peer}.`) === true;
    const status = new Status(this);
    status.set({ fill: 'yellow', shape: 'ring', text: 'connecting' });
    /** The flow knows that the program is lost. */
    let isLost = false;
    /** @type {import('./lib/overlay/peers').OverlayStatus | null} */
    let latest = null;
    const unfollow = network.link.follow({
      onStatus: (given) => {
        latest = given;
        status.set(shownOf(given));
      },
      onEvent: (event) => {
        const kind = EVENTS.find((each) => each === event.event) ?? 'other';
        if ((kinds.length === 0 || kinds.includes(kind)) && isWanted(event.peer?.name))
          this.send(messageOf(event));
      },
      onState: (problem) => {
        if (problem) {
          latest = null;
          status.red(
            `overlay: ${shortReason(/\((E[A-Z]+)\)/.exec(problem)?.[1] ?? '') || 'connection lost'}`
          );
          if (!isLost) this.warn(problem);
        }
        // Another reason for the same loss is only shown.
        if (isLost && problem) return;
        isLost = problem !== '';
        // Events while there was no connection are missing, so the flow must know.
        const event = problem ? 'lost' : 'connected';
        this.send({
          topic: `overlay/node/${event}`,
          payload: { at: Date.now(), event, ...(problem && { text: problem }) }
        });
      }
    });
    const timer = values.everyS > 0 ? setInterval(report, values.everyS * 1000) : undefined;
    const send = this.send.bind(this);
    function report() {
      if (!latest) return;
      const peers = latest.peers.filter(({ name }) => isWanted(name));
      send({
        topic: 'overlay/peers',
        payload: {
          at: Date.now(),
          node: latest.fqdn,
          peers,
          offered: latest.offered,
          refused: latest.refused
        }
      });
    }
    this.on('close', () => {
      clearInterval(timer);
      unfollow();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-overlay-peers', OverlayPeers);
};

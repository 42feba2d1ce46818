'use strict';
// The example of an overlay network, with the control socket of a program in place of seganet-overlay.

const { TestProgram } = require('../../fixtures/overlay/program');
const { eventually } = require('../../../bench/harness/net');

/**
 * @param {{ nodeRed: any, flow: any[], idOf: (type: string, name?: string) => string }} context
 * @param {(topic: string, payload: string) => Promise<unknown>} publish as a device
 */
async function runOverlay({ nodeRed, flow, idOf }, publish) {
  const program = await new TestProgram().open();
  program.status.peers = [{ name: 'hub', path: 'direct', rttMs: 1 }];
  try {
    const own = { folder: program.folder };
    await nodeRed.deploy(flow.map((each) => ({ ...each, ...(each.type === 'seganet-overlay' && own) })));
    const status = () => nodeRed.statuses.get(idOf('seganet-overlay-peers'))?.text;
    await eventually(() => status() === '1 direct', { timeoutMs: 30000, what: 'the peers' });
    await eventually(() => program.followers.size > 0, { what: 'the events' });
    program.tell({ event: 'path', peer: { name: 'hub', path: 'relay' }, text: 'hub is relayed' });
    await nodeRed.shows('peers', /overlay\/hub\/path/);
    await eventually(() => program.services.some(({ name }) => name === 'pumps'), { what: 'the offer' });
    await publish('d/pump-7', 'hello');
    await nodeRed.shows('records of peers', /pump-7/);
  } finally {
    await program.remove();
  }
}

exports.runOverlay = runOverlay;

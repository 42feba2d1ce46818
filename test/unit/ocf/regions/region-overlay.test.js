'use strict';
// Regions that reach each other by an overlay: real links, and the control socket of a program.

const { needs } = require('../../../../bench/harness/tools');
const { OverlayLink } = require('../../../../nodes/lib/overlay/overlay-link');
const { offerOf } = require('../../../../nodes/lib/settings/overlay-offer');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');
const { TestProgram } = require('../../../fixtures/overlay/program');

const { test } = needs('openssl');

/** @type {any} */
let first;
/** @type {any} */
let second;
const here = scenes(() => first);
const there = scenes(() => second);

test('regions link by names of the overlay, and offer their ports to it', async () => {
  const program = await new TestProgram().open();
  const rig = new RegionRig();
  const link = new OverlayLink(program.folder, null, () => {});
  try {
    link.open();
    const RED = /** @type {any} */ ({ nodes: { getNode: () => ({ link }) } });
    const node = /** @type {any} */ ({ warn: () => {} });
    const start = (/** @type {number} */ number) => {
      const host = `gw-${number}.plant.seganet.internal`;
      const offered = 5680 + number;
      const offer = offerOf(RED, node, { overlay: 'net', overlayName: '' }, 'ocf-region');
      return rig.start({
        own: `coaps+tcp://${host}:${offered}`,
        certificate: rig.authority.issue({ san: `DNS:${host}` }),
        byOverlay: {
          place: link.place.bind(link),
          offer: (/** @type {any} */ place) => offer?.({ ...place, offered })
        }
      });
    };
    first = await start(1);
    second = await start(2);
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    const peers = () => second.region.figures().peers;
    await eventually(() => /No node has the name of gw-1/.test(peers()[0]?.reason ?? ''), 'the reason');
    program.targets['gw-1.plant.seganet.internal:5681'] = first.linkPort;
    await eventually(() => peers()[0]?.isUp, 'the link');
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    await eventually(() => program.services.length === 2, 'the offers');
    expect(program.services).toEqual(
      expect.arrayContaining([
        { name: 'ocf-region-5681', proto: 'tcp', port: 5681, target: `127.0.0.1:${first.linkPort}` }
      ])
    );
    device.destroy();
    await first.stop();
    expect(program.services.map(({ name }) => name)).toEqual(['ocf-region-5682']);
  } finally {
    await rig.stop();
    await link.close();
    await program.remove();
  }
});

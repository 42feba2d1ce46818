'use strict';
// The chapter `overlay` of the benchmark, in short: the real program and the real load in network namespaces.

const { needs } = require('../../../bench/harness/tools');
const { removeHome } = require('../../../bench/overlay/network/home');
const { lackingGo, program } = require('../../../bench/overlay/network/programs');
const { Star, lackingNamespaces } = require('../../../bench/overlay/network/star');
const { load, startServer, tcp, udp } = require('../../../bench/overlay/network/traffic');
const { rates } = require('../../../bench/overlay/rates');
const { systems } = require('../../../bench/overlay/systems');
const { PATIENCE } = require('../../../bench/harness/patience');

jest.setTimeout(300000);

afterAll(removeHome);

const lacking = [lackingGo() && 'go', lackingNamespaces() && 'root', 'ip', 'nft'];
const { test: here } = needs(.../** @type {string[]} */ (lacking.filter(Boolean)));

here('measures the overlay between a hub and two peers', async () => {
  const seganet = /** @type {import('../../../bench/overlay/systems').System} */ (
    systems.find(({ name }) => name === 'seganet')
  );
  const found = await rates(seganet, 2, { seconds: 1 });
  expect(found.tcp.mbits).toBeGreaterThan(1);
  expect(found.tcp.least).toBeGreaterThan(0);
  expect(found.pacedTcp.rtt.answered).toBeGreaterThan(0);
  expect(found.paced.mbits).toBeGreaterThan(1);
  expect(found.paced).toMatchObject({ duplicates: 0 });
  expect(found.idle.answered).toBeGreaterThan(0);
  for (const figure of ['peak', 'threads', 'goroutines', 'heapBytes', 'allocatedBytes']) {
    expect(found.tcp).toMatchObject({ [figure]: expect.any(Number) });
  }
});

here('the load sends TCP at a rate', async () => {
  const star = await Star.open(1);
  try {
    await startServer(star.hub);
    const { mbits } = await tcp(star.spokes[0], star.hubAddress, 0.2, 1, 20);
    expect(mbits).toBeGreaterThan(15 / PATIENCE);
    expect(mbits).toBeLessThan(25);
  } finally {
    await star.close();
  }
});

here('the load counts what is lost, and ends by itself', async () => {
  const star = await Star.open(1);
  try {
    const [spoke] = star.spokes;
    await startServer(star.hub);
    const whole = await udp(spoke, star.hubAddress, 0.3, 10);
    expect(whole).toMatchObject({ received: whole.sent, duplicates: 0, outOfOrder: 0 });
    // The receiver's report comes by TCP.
    star.hub.run('nft add table inet t');
    star.hub.run('nft add chain inet t in { type filter hook input priority 0 ; }');
    star.hub.run('nft add rule inet t in meta l4proto udp drop');
    const lost = await udp(spoke, star.hubAddress, 0.3, 10);
    expect(lost).toMatchObject({ received: 0 });
    expect(lost.sent).toBeGreaterThan(0);
    const stream = await tcp(spoke, star.hubAddress, 0, 0.2, 0);
    expect(stream.mbits).toBeGreaterThan(1);
    await expect(load(spoke, ['tcp', `${star.hubAddress}:5201`, '0', '1', 'NaN'])).rejects.toThrow('rate');
    await expect(load(spoke, ['udp', `${star.hubAddress}:5201`, '100000', '1'])).rejects.toThrow('seconds');
    await expect(load(spoke, ['nothing'])).rejects.toThrow('no command');
  } finally {
    await star.close();
  }
});

here('the programs are built once', () => {
  expect(program('load')).toBe(program('load'));
});

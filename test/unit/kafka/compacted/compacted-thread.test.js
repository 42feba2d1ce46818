'use strict';
// The thread of compacted topics without a cluster.

const { eventually, freePort } = require('../../../../bench/harness/net');
const { CompactedThread } = require('../../../../nodes/lib/kafka/compacted/compacted-thread');
const { clusterOf } = require('../../../system/kafka/rig');

jest.setTimeout(180000);

test('reports that no broker answers, keeps what it cannot write, and does not end', async () => {
  const said = [];
  let restarts = 0;
  const brokers = `127.0.0.1:${await freePort()}`;
  const cluster = clusterOf({ brokers, reconnectMinMs: 10, reconnectMaxMs: 20 });
  const options = {
    clientId: 'region',
    topics: ['presence'],
    marker: { key: 'gateway:a', body: {} },
    what: 'The presence',
    forgotten: 'devices',
    mostBytes: 2048
  };
  const thread = new CompactedThread(
    'seganet-test',
    { ...options, cluster },
    { records: () => {}, caughtUp: () => {}, restarted: () => restarts++, report: (text) => said.push(text) }
  );
  try {
    thread.start();
    await eventually(() => thread.state === 'disconnected', { timeoutMs: 60000, what: 'disconnected' });
    expect(said.join()).toContain('ECONNREFUSED');
    for (const value of ['one', 'two']) thread.publish([{ key: 'device', value }]);
    await eventually(() => thread.waiting === 1, { timeoutMs: 60000, what: 'one record waits' });
    // The clients of each are closed.
    await eventually(() => thread.attempts > 2, { timeoutMs: 60000, what: 'three attempts' });
    expect(thread.waiting).toBe(1);
    expect(restarts).toBe(0);
    expect(thread.isCaughtUp).toBe(false);
  } finally {
    await thread.stop();
  }
  expect(thread.state).toBe('stopped');
});

'use strict';

const path = require('node:path');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { isSupported } = require('../../../../nodes/lib/kafka/uplink/client');
const { needs } = require('../../../../bench/harness/tools');

const WORKER = path.join(__dirname, '../../../fixtures/kafka/watch-worker.js');
const { test } = needs(...(isSupported(process.versions.node) ? [] : ['Node.js 22.22 or 24.6']));

test('a broker that answers nothing is lost when the others no longer list it, until they do', async () => {
  const worker = new Worker(WORKER);
  const [seen] = await once(worker, 'message');
  await worker.terminate();
  expect(seen).toEqual({
    waited: true,
    ended: 'Connection closed',
    refused: expect.stringMatching(/^The cluster counts 127\.0\.0\.1:\d+ as lost\.$/),
    isBack: true
  });
});

'use strict';
// A record through an http request node, which imports a module in a way that Jest cannot. Prints the outcomes of the
// PUBLISH before and after the cloud acknowledges.

const http = require('node:http');
const httpRequest = require('@node-red/nodes/core/network/21-httprequest.js');
const { modules } = require('../../nodes/support/gateway');
const { DeliveryFlow, func, helper, node, publish, turns } = require('../../nodes/support/delivery-flow');

/** @param {() => boolean} condition */
async function wait(condition) {
  for (let i = 0; i < 500 && !condition(); i++) await turns(20);
}

async function main() {
  const server = http.createServer((_request, response) => setTimeout(() => response.end('ok'), 30));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => helper.startServer(() => resolve(undefined)));
  modules.push(httpRequest);
  const gateway = new DeliveryFlow();
  await gateway.prepare();
  const what = { method: 'GET', ret: 'txt', url: `http://127.0.0.1:${port}/`, headers: [] };
  await gateway.start(
    gateway.source('mqtt-devices', {}, 'request'),
    node('request', 'http request', what, 'topic'),
    func('topic', 'msg.topic = "t"; return msg;', 1, 'cloud')
  );
  gateway.cloud.isOpen = false;
  const result = publish(await gateway.device());
  await wait(() => gateway.cloud.arrived.length > 0);
  await turns(200);
  const before = result.outcome;
  gateway.cloud.open();
  await wait(() => result.outcome !== 'waits');
  console.log(JSON.stringify([gateway.cloud.arrived, before, result.outcome]));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

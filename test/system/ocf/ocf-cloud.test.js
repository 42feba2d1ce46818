'use strict';
// The acceptance list of an OCF cloud against the node in a gateway.

const { acceptance } = require('../../fixtures/ocf/acceptance');
const { edges } = require('../../fixtures/ocf/acceptance-edges');
const { hostile } = require('../../fixtures/ocf/acceptance-hostile');
const { observations } = require('../../fixtures/ocf/acceptance-observations');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');

jest.setTimeout(240000);

describe('the ocf cloud node', () => acceptance(() => startGatewayCloud()));

describe('the ocf cloud node at its edges', () =>
  edges(({ accessSeconds, requestTimeoutMs }) =>
    startGatewayCloud({
      node: { accessSeconds: String(accessSeconds), requestTimeoutMs: String(requestTimeoutMs) }
    })
  ));

describe('the ocf cloud node and observations', () =>
  observations(({ keepAliveS }) => startGatewayCloud({ node: { keepAliveS: String(keepAliveS) } })));

describe('the ocf cloud node and hostile clients', () =>
  hostile(() => startGatewayCloud(), { rounds: 300, seed: Number(process.env.SEGANET_SEED ?? 1) }));

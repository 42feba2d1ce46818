'use strict';
// The simulated devices: they send for a few seconds, and stay connected when they are silent.

const mqtt = require('mqtt');

const ROUNDS = 5;
const ROUND_MS = 1000;
const CONNECT_MS = 30000;

/**
 * @param {object} parts
 * @param {number} parts.port of the front
 * @param {string[]} parts.tenants
 * @param {number} parts.devices of each tenant
 * @param {(user: string) => string} parts.passwordOf
 * @param {(error: Error) => void} parts.onError
 */
async function startDevices({ port, tenants, devices, passwordOf, onError }) {
  const clients = await Promise.all(
    tenants.flatMap((tenant) =>
      Array.from({ length: devices }, async (_, i) => {
        const name = `pump-${i + 1}`;
        const user = `${tenant}/${name}`;
        const client = await mqtt.connectAsync({
          host: '127.0.0.1',
          port,
          clientId: `${tenant}-${name}`,
          username: user,
          password: passwordOf(user),
          connectTimeout: CONNECT_MS,
          reconnectPeriod: 2000
        });
        client.on('error', onError);
        return { tenant, client };
      })
    )
  );
  return {
    /**
     * Sends from all devices.
     * @param {(tenant: string, ms: number) => void} onFirst ms until the first record of a tenant was acknowledged
     */
    async send(onFirst) {
      /** @type {Set<string>} */
      const seen = new Set();
      for (let round = 0; round < ROUNDS; round++) {
        const began = performance.now();
        await Promise.all(
          clients.map(async ({ tenant, client }) => {
            const value = (20 + 2 * Math.random()).toFixed(1);
            await client.publishAsync('temperature', value, { qos: 1 }).catch(onError);
            if (seen.has(tenant)) return;
            seen.add(tenant);
            onFirst(tenant, performance.now() - began);
          })
        );
        await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
      }
    },
    stop: () => Promise.all(clients.map(({ client }) => client.endAsync(true)))
  };
}

module.exports = { startDevices, ROUNDS };

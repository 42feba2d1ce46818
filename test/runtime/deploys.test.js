'use strict';

// Deploys by the admin API of a gateway as a user starts it.

const path = require('path');
const mqtt = require('mqtt');
const { run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

/** A gateway whose cloud is away: records are safe on disk. */
async function startGateway() {
  const gateway = run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: path.join(temporaryFolder(), 'home'),
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      SEGANET_WORKERS: '1',
      SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1'
    })
  });
  const [, editor] = await gateway.says(/editor: (http:\/\/127\.0\.0\.1:\d+\/)/);
  const [, port] = await gateway.says(/listener on port (\d+)/);
  return { gateway, editor, port: Number(port) };
}

/** @param {string} url @returns {Promise<any>} */
const getJson = async (url) => (await fetch(url, { headers: { accept: 'application/json' } })).json();

/** @param {string} editor @param {object[]} flows @param {string} type */
async function deploy(editor, flows, type) {
  const response = await fetch(`${editor}flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'node-red-deployment-type': type },
    body: JSON.stringify(flows)
  });
  return { status: response.status, body: await response.text() };
}

/** Connects a device to the port that the gateway named last. @param {() => number} port */
async function connectDevice(port) {
  return until(
    () =>
      mqtt
        .connectAsync(`mqtt://127.0.0.1:${port()}`, { clientId: 'pump', reconnectPeriod: 0 })
        .catch(() => null),
    { what: 'a connection of the device' }
  );
}

describe.each(['full', 'nodes', 'flows'])('a deploy of type %s that deletes a node', (type) => {
  test('succeeds, the flows stay started, devices are acknowledged, and the next one succeeds too', async () => {
    const { gateway, editor } = await startGateway();
    const port = () => Number([...gateway.output.matchAll(/listener on port (\d+)/g)].at(-1)?.[1]);
    let flows = await getJson(`${editor}flows`);
    for (const id of ['seganet-c-look', 'seganet-debug-2']) {
      flows = flows.filter((/** @type {any} */ node) => node.id !== id);
      expect(await deploy(editor, flows, type)).toEqual({ status: 204, body: '' });
      expect(await getJson(`${editor}flows/state`)).toMatchObject({ state: 'start' });
      const device = await connectDevice(port);
      await device.publishAsync('d/pump/t', '{"v":1}', { qos: 1 });
      await device.endAsync();
    }
    expect(gateway.output).not.toMatch(/Cannot destructure|The handler of the Node-RED event/);
  }, 60000);
});

'use strict';
// A simulated lamp, and a controller that finds, reads, observes and switches it.

const { Client } = require('./client');
const { asLamp, ABOUT, LIGHT } = require('./lamp');
const { Participant } = require('./participant');

const LOOK_AGAIN_MS = 200;
/** Topic of the lamp's posts, which are records of the gateway. */
const TOPIC = '/oic/ps/lamps';

/**
 * @typedef {object} Scene
 * @property {{ host: string, port: number, open?: () => Promise<Client> }} cloud
 * @property {string} provider name of the users' provider
 * @property {{ lamp: string, controller: string }} codes
 * @property {number} everySeconds time between two switchings
 * @property {(sentence: string) => void} say
 */

/**
 * Starts both. Resolves when the first notification has come.
 * @param {Scene} scene
 * @returns {Promise<() => void>} ends both
 */
async function startScene({ cloud, provider, codes, everySeconds, say }) {
  const open = cloud.open ?? (() => Client.open(cloud));
  /** The controller switches this lamp, and no other one of the user. */
  let lampId = '';
  const state = { on: false };
  const lamp = new Participant({
    open,
    code: codes.lamp,
    provider,
    report: (sentence) => say(`lamp: ${sentence}`),
    onReady: async (client) => {
      lampId = client.di;
      asLamp(client, state, ({ on }) => void post(client, on));
      await client.publish([LIGHT, ABOUT]);
      // It exists already after a reconnection.
      await client.request('PUT', TOPIC, { query: ['rt=core.light'] });
    }
  });
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {(value?: unknown) => void} */
  let onFirst = () => {};
  const first = new Promise((resolve) => (onFirst = resolve));
  let count = 0;
  const controller = new Participant({
    open,
    code: codes.controller,
    provider,
    report: (sentence) => say(`controller: ${sentence}`),
    onReady: async (client) => {
      const href = await find(client, () => lampId);
      const { value } = await client.request('GET', href);
      say(`controller: found and read the lamp: ${shown(value)}`);
      await client.request('GET', href, {
        observe: 0,
        onNext: (answer) => {
          if (answer.code !== '2.05') return;
          say(`notification ${++count}: the lamp is ${shown(answer.value)}`);
          onFirst();
        }
      });
      clearInterval(timer);
      const change = () => void toggle(client, href, state.on, say);
      timer = setInterval(change, everySeconds * 1000);
      change();
    }
  });
  const stop = () => {
    clearInterval(timer);
    controller.stop();
    lamp.stop();
  };
  try {
    await lamp.start();
    await controller.start();
    await first;
  } catch (error) {
    stop();
    throw error;
  }
  return stop;
}

/** @param {{ on: boolean }} value */
const shown = ({ on }) => (on ? 'on' : 'off');

/** @param {Client} client @param {boolean} on */
async function post(client, on) {
  await client.request('POST', TOPIC, { body: { on } }).catch(() => {});
}

/**
 * Returns the path of the lamp, when it is there.
 * @param {Client} client
 * @param {() => string} lampId
 */
async function find(client, lampId) {
  for (;;) {
    const { value } = await client.request('GET', '/oic/res', { query: [`rt=${LIGHT.rt[0]}`] });
    const links = /** @type {{ href: string }[]} */ (Array.isArray(value) ? value : []);
    const found = links.find(({ href }) => href.includes(lampId()));
    if (found) return found.href;
    if (client.isClosed) throw new Error('The connection ended.');
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

/**
 * @param {Client} client
 * @param {string} href
 * @param {boolean} isOn
 * @param {(sentence: string) => void} say
 */
async function toggle(client, href, isOn, say) {
  if (client.isClosed) return;
  try {
    const { code, value } = await client.request('POST', href, { body: { on: !isOn } });
    if (code !== '2.04') say(`controller: the lamp was not switched: ${code} ${value}`);
  } catch (error) {
    if (!client.isClosed) say(`controller: ${/** @type {Error} */ (error).message}`);
  }
}

exports.startScene = startScene;

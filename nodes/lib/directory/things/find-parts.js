'use strict';
// Puts a find node's directory together with what fills it and the ways to ask devices.

const { DeviceFeed, Directory } = require('..');
const { makeThing } = require('../make-thing');
const { placeOf } = require('../rules');
const { cloudOf, follow } = require('../../ocf/node/clouds');
const { DirectoryError } = require('../directory-error');
const { Refusal, allShadows } = require('../../shadow');
const { OcfFeed } = require('./ocf-feed');
const { coapRoute, commandRoute, ocfRoute } = require('./routes');

/** @typedef {import('../../engine/host').EngineHost} EngineHost */

/**
 * @param {object} given
 * @param {string} given.id of the node
 * @param {import('../directory').DirectoryOptions} given.options
 * @param {import('../rules').Rule[]} given.rules
 * @param {import('../make-thing').Base} given.base
 * @param {() => EngineHost | null} given.host
 * @param {string} given.cloud id of an OCF cloud node, '' = none
 * @param {(sentence: string) => void} given.problem
 * @param {() => void} given.changed
 */
function openDirectory({ id, options, rules, base, host, cloud, problem, changed }) {
  const routes = [commandRoute(() => host()?.commands ?? null), ocfRoute(() => cloudOf(cloud)), coapRoute()];
  const desire = (/** @type {string} */ device, /** @type {string} */ text) =>
    setDesired(host(), device, text);
  const directory = new Directory(options, { routes, problem, changed, desire });
  const ask = directory.ask.bind(directory);
  const page = (/** @type {string} */ after, /** @type {number} */ limit) => {
    const found = host();
    return found && !found.closing ? found.registry.page(after, limit) : { agents: [], next: null };
  };
  const { values } = directory;
  const leftBy = (/** @type {string} */ source) => (/** @type {number} */ things) =>
    directory.leaveOut(source, things);
  const feed = new DeviceFeed({
    source: `devices:${id}`,
    page,
    values,
    ask,
    base,
    rules,
    problem,
    left: leftBy('devices')
  });
  const make = (/** @type {Omit<import('../make-thing').Source, 'placed'>} */ source) => {
    const placed = placeOf(rules, source.device) ?? (source.title ? placeOf(rules, source.title) : null);
    return makeThing(base, { ...source, placed });
  };
  const ocf = cloud
    ? new OcfFeed({
        source: `ocf:${cloud}`,
        cloud: () => cloudOf(cloud),
        make,
        ask,
        problem,
        left: leftBy('ocf')
      })
    : null;
  const unfollow = cloud ? follow(cloud, () => ocf?.soon()) : () => {};
  return {
    directory,
    feed,
    close: async () => {
      unfollow();
      await Promise.all([feed.close(), ocf?.close(), directory.close()]);
    }
  };
}

/**
 * @param {EngineHost | null} host
 * @param {string} device
 * @param {string} text update of its shadow, JSON
 * @throws {DirectoryError}
 */
async function setDesired(host, device, text) {
  const shadows = host && allShadows.get(host);
  if (!shadows)
    throw new DirectoryError(
      404,
      'What is desired cannot be kept. Choose an engine in the find node, and add a shadow node of this engine.'
    );
  try {
    await shadows.ask({ kind: 'update', device, text });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new DirectoryError(error.status, error.message);
  }
}

exports.openDirectory = openDirectory;

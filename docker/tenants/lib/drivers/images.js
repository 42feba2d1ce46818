'use strict';
// The properties of images, from the engine.

const { SHELL } = require('./container-output');
const { Refusal } = require('./engine-client');

const IMAGE_OF_TAG = /^[\w][\w.:/-]{0,400}$/;

/** @typedef {{ Entrypoint: string[] | null, Cmd: string[] | null }} Config */

class Images {
  #client;
  /** By the image's name, which includes its digest, so they never change. @type {Map<string, Config>} */
  #configs = new Map();

  /** @param {import('./engine-client').EngineClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** @param {string} image with its digest @returns {Promise<Config>} what it runs */
  async configOf(image) {
    const known = this.#configs.get(image);
    if (known) return known;
    const found = await this.#client.find('GET', `/images/${image}/json`);
    if (!found) throw new Error(`the engine has no image ${image}. Pull it first`);
    const { Entrypoint = null, Cmd = null } = found.Config ?? {};
    this.#configs.set(image, { Entrypoint, Cmd });
    return { Entrypoint, Cmd };
  }

  /** @param {string} container that need not run */
  async hasShell(container) {
    try {
      await this.#client.ask('HEAD', `/containers/${container}/archive?path=${SHELL}`);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return false;
      throw error;
    }
  }

  /** @param {string} image with a tag or a digest @returns {Promise<string>} its name with its digest */
  async digestOf(image) {
    if (image.includes('@') || /^sha256:/.test(image)) return image;
    if (!IMAGE_OF_TAG.test(image)) throw new Error(`'${image.slice(0, 64)}' is no name of an image.`);
    const found = await this.#client.find('GET', `/images/${image}/json`);
    if (!found) throw new Error(`The engine has no image ${image}. Pull it first.`);
    const id = /^sha256:/.test(found.Id) ? found.Id : `sha256:${found.Id}`;
    // An image that was not pulled has no digest of a registry.
    const digests = (found.RepoDigests ?? []).filter(
      (/** @type {string} */ each) => !each.startsWith('localhost/')
    );
    return digests[0] ?? id;
  }
}

module.exports = { Images };

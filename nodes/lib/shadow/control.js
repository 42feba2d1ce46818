'use strict';
// seganet-gateway shadow: what the gateway's user asks through the control socket.

const { Refusal } = require('./refusal');
const { deleteShadow, getShadow, listShadows, setShadow } = require('./requests');

const USER = { username: 'seganet-gateway' };

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('./requests').AllShadows} all
 */
function controlOf(RED, all) {
  /** @type {Record<string, (params: Record<string, string>, text: string) => Promise<string>>} */
  const works = {
    list: (params) => listShadows(all, params),
    get: (params) => getShadow(all, params),
    set: (params, text) => audited('set', params, setShadow(all, params, text)),
    delete: (params) => audited('delete', params, deleteShadow(all, params))
  };

  /** @param {string} what @param {Record<string, string>} params @param {Promise<string>} done */
  async function audited(what, { device }, done) {
    const answer = await done;
    RED.log.audit(/** @type {any} */ ({ event: `seganet.shadow.${what}`, device, user: USER }));
    return answer;
  }

  /**
   * @param {{ verb: string, params: Record<string, string>, text: string }} asked
   * @returns {Promise<{ status: number, text: string }>} JSON
   */
  return async ({ verb, params, text }) => {
    try {
      if (!Object.hasOwn(works, verb)) throw new Refusal(404, `Shadows do not know ${JSON.stringify(verb)}.`);
      return { status: 200, text: await works[verb](params, text) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, text: JSON.stringify({ error: error.message }) };
    }
  };
}

exports.controlOf = controlOf;

'use strict';

const path = require('node:path');
const { addUse } = require('../../login/files-in-use');
const { PasswordVerifier } = require('../../login/password-verifier');
const { Endpoint } = require('../common/endpoint');
const { PageServer } = require('./page-server');

/**
 * @typedef {object} PagesOptions
 * @property {string} host
 * @property {number} port
 * @property {import('../../sources/http/http-server').Tls | null} tls
 * @property {string} passwordFile
 * @property {string} node name of the tenants node
 * @property {import('../keeper/held-leases').Keeper} keeper
 * @property {(tenant: string) => number} pagesOf see PageServer
 * @property {(sentence: string) => void} warn
 * @property {(sentence: string) => void} error
 */

/**
 * The port for the pages of tenants.
 * @extends {Endpoint<InstanceType<typeof PageServer>>}
 */
class Pages extends Endpoint {
  #verifier;
  #endUse;

  /** @param {PagesOptions} options @throws {Error} with a sentence */
  constructor(options) {
    const { host, port, passwordFile, node, warn, error } = options;
    if (!passwordFile) {
      throw new Error(
        "The tenants' pages need a password file. Make one with seganet-passwd, with users such as acme/alice."
      );
    }
    const verifier = new PasswordVerifier(passwordFile, { warn });
    /** @type {InstanceType<typeof PageServer>} */
    let server;
    try {
      server = new PageServer({ ...options, verifier });
    } catch (thrown) {
      verifier.close();
      throw thrown;
    }
    super(server, { what: "The tenants' pages cannot be opened", host, port, error });
    this.#verifier = verifier;
    this.#endUse = addUse({
      file: path.resolve(passwordFile),
      node,
      hasTenants: true,
      refresh: () => verifier.refresh(),
      end: (user) => server.endUser(user)
    });
  }

  get figures() {
    return this.server.figures;
  }

  async close() {
    this.#endUse();
    this.#verifier.close();
    await super.close();
  }
}

exports.Pages = Pages;

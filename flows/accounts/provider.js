'use strict';
// The OpenID provider: oidc-provider with the users of a password file.

const { errorPage, pageHeaders } = require('./pages');
const { Full } = require('./storage');

const PACKAGE = 'oidc-provider';
const CODE_SECONDS = 600;
const DAY_SECONDS = 86400;
const SCOPE = 'openid offline_access';

/**
 * @typedef {object} Client
 * @property {string} id
 * @property {string} secret
 * @property {string[]} redirectUris
 */

/** @returns {Promise<{ Provider: any, interactionPolicy: any }>} what oidc-provider exports */
async function loadPackage() {
  try {
    return await import(PACKAGE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`The package ${PACKAGE} is missing (${message}). Run npm install in the checkout.`, {
      cause: error
    });
  }
}

/**
 * Returns the steps of a login. A session outlives its user in the password file: without an account, the consent that
 * comes next has no grant to look at, so the session must log in again.
 * @param {any} interactionPolicy of oidc-provider
 */
function policyOf({ base, Check }) {
  const policy = base();
  const isGone = (/** @type {any} */ { oidc }) => Boolean(oidc.session.accountId && !oidc.account);
  const check = new Check('unknown_user', 'the user is no longer known', 'login_required', isGone);
  policy.get('login').checks.add(check);
  return policy;
}

/**
 * @param {object} parts
 * @param {string} parts.issuer
 * @param {Client} parts.client
 * @param {import('./storage').Storage} parts.storage
 * @param {(user: string) => boolean} parts.isKnown
 * @param {(error: Error) => void} parts.problem
 * @returns {Promise<any>}
 */
async function makeProvider({ issuer, client, storage, isKnown, problem }) {
  const { Provider, interactionPolicy } = await loadPackage();
  const { Adapter } = storage;
  const provider = new Provider(issuer, {
    adapter: (/** @type {string} */ model) => new Adapter(model),
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: client.redirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256'
      }
    ],
    jwks: { keys: [storage.signingKey] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access'],
    // The code goes to the device and from there to the cloud. The page that gets it cannot pass a verifier on.
    pkce: { required: () => false },
    findAccount: async (/** @type {unknown} */ _ctx, /** @type {string} */ id) =>
      isKnown(id) ? { accountId: id, claims: async () => ({ sub: id }) } : undefined,
    // The cloud is a client with a secret. With rotation, one lost answer would cost a device its registration.
    rotateRefreshToken: false,
    ttl: {
      AuthorizationCode: CODE_SECONDS,
      AccessToken: 3600,
      IdToken: 3600,
      RefreshToken: 365 * DAY_SECONDS,
      Grant: 365 * DAY_SECONDS,
      Session: DAY_SECONDS / 3,
      Interaction: 600
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false }
    },
    cookies: { keys: [storage.cookieKey] },
    interactions: {
      policy: policyOf(interactionPolicy),
      url: (/** @type {unknown} */ _ctx, /** @type {{ uid: string }} */ { uid }) => `/interaction/${uid}`
    },
    renderError: (/** @type {any} */ ctx, /** @type {any} */ out, /** @type {Error} */ error) => {
      if (error instanceof Full) ctx.status = 503;
      ctx.set(pageHeaders([]));
      const { error: name, error_description: text } = out;
      const sentence = error instanceof Full ? error.message : (text ?? name);
      ctx.body = errorPage('The login did not work', `${sentence}`);
    }
  });
  provider.on('server_error', (/** @type {unknown} */ _ctx, /** @type {Error} */ error) => {
    if (!(error instanceof Full)) problem(error);
  });
  return provider;
}

module.exports = { makeProvider, CODE_SECONDS, SCOPE };

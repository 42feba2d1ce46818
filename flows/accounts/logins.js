'use strict';
// The pages of a login: the start, the form for the password, the consent, and the access code.

const { randomBytes, timingSafeEqual } = require('node:crypto');
const { isFromHere } = require('../../nodes/lib/base/request-origin');
const { codePage, consentPage, errorPage, loginPage, startPage } = require('./pages');
const { CODE_SECONDS, SCOPE } = require('./provider');

const MOST_BODY_BYTES = 8192;
const STATE_COOKIE = 'seganet_state';
/** A login takes no longer. */
const STATE_SECONDS = 1800;
const STATE = /^[\w-]{43}$/;
const CODE = /^[\w.~-]{1,4096}$/;
const WRONG = 'The user or the password is wrong.';

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {{ verify: (user: string, password: Buffer, address: string) => Promise<boolean | undefined> }} Passwords
 */

/** A request that is refused with a page. */
class Refused extends Error {
  /** @param {number} status @param {string} sentence */
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

class Logins {
  #provider;
  #passwords;
  #issuer;
  #client;
  #send;

  /**
   * @param {object} parts
   * @param {any} parts.provider of oidc-provider
   * @param {Passwords} parts.passwords
   * @param {string} parts.issuer
   * @param {import('./provider').Client} parts.client
   * @param {(response: Response, status: number, html: string, headers?: Record<string, string>) => void} parts.send
   */
  constructor({ provider, passwords, issuer, client, send }) {
    this.#provider = provider;
    this.#passwords = passwords;
    this.#issuer = issuer;
    this.#client = client;
    this.#send = send;
  }

  /**
   * Answers a request if it is for one of the pages.
   * @param {Request} request
   * @param {Response} response
   * @param {URL} url of the request
   * @returns {Promise<boolean>} false: it is for the provider
   */
  async answer(request, response, url) {
    const { method } = request;
    const { pathname } = url;
    if (pathname.startsWith('/interaction/')) {
      if (method !== 'GET' && method !== 'POST') throw new Refused(405, 'The page has no such method.');
      await (method === 'GET' ? this.#show(request, response) : this.#submit(request, response));
      return true;
    }
    if (method !== 'GET' && ['/', '/login', '/code'].includes(pathname)) {
      throw new Refused(405, 'The page has no such method.');
    }
    if (pathname === '/') this.#send(response, 200, startPage());
    else if (pathname === '/login') this.#start(request, response, url.searchParams.get('as') === 'other');
    else if (pathname === '/code') this.#code(request, response, url);
    else return false;
    return true;
  }

  /** Sends the browser to the provider. @param {Request} request @param {Response} response @param {boolean} asOther */
  #start(request, response, asOther) {
    const known = cookieOf(request, STATE_COOKIE);
    // Logins in two windows of a browser share it.
    const state = STATE.test(known) ? known : randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      client_id: this.#client.id,
      response_type: 'code',
      scope: SCOPE,
      redirect_uri: `${this.#issuer}/code`,
      state,
      // Refresh tokens need a consent (OpenID Connect Core, 11).
      prompt: asOther ? 'login consent' : 'consent'
    });
    response.writeHead(303, {
      Location: `${this.#issuer}/auth?${query}`,
      'Set-Cookie': this.#stateCookie(state),
      'Cache-Control': 'no-store'
    });
    response.end();
  }

  /** @param {string} value */
  #stateCookie(value) {
    const secure = this.#issuer.startsWith('https:') ? '; Secure' : '';
    return `${STATE_COOKIE}=${value}; Path=/; Max-Age=${STATE_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
  }

  /**
   * Shows the code, if this browser asked for it. Otherwise a link could show somebody a code of another user, and the
   * device would then belong to that user.
   * @param {Request} request
   * @param {Response} response
   * @param {URL} url
   */
  #code(request, response, { searchParams }) {
    const state = searchParams.get('state') ?? '';
    const known = cookieOf(request, STATE_COOKIE);
    if (
      !STATE.test(state) ||
      !STATE.test(known) ||
      !timingSafeEqual(Buffer.from(state), Buffer.from(known))
    ) {
      throw new Refused(400, 'This page does not belong to a login in this browser.');
    }
    const code = searchParams.get('code') ?? '';
    if (CODE.test(code)) {
      this.#send(response, 200, codePage(code, CODE_SECONDS / 60));
    } else {
      const why = searchParams.get('error_description') ?? searchParams.get('error') ?? 'There is no code.';
      this.#send(response, 400, errorPage('The login did not work', why.slice(0, 200)));
    }
  }

  /** @param {Request} request @param {Response} response */
  async #interaction(request, response) {
    try {
      return await this.#provider.interactionDetails(request, response);
    } catch (error) {
      if (/** @type {Error} */ (error).name !== 'SessionNotFound') throw error;
      throw new Refused(400, 'The login has expired, or belongs to another browser.');
    }
  }

  /** @param {Request} request @param {Response} response */
  async #show(request, response) {
    const { uid, prompt, session } = await this.#interaction(request, response);
    const action = `/interaction/${uid}`;
    const isConsent = prompt.name === 'consent' && session;
    const html = isConsent ? consentPage(action, session.accountId, this.#client.id) : loginPage(action);
    this.#send(response, 200, html);
  }

  /** @param {Request} request @param {Response} response */
  async #submit(request, response) {
    this.#checkOrigin(request);
    const body = await readForm(request);
    const { uid, prompt, params, session } = await this.#interaction(request, response);
    const isConsent = prompt.name === 'consent' && session;
    const accountId = isConsent ? session.accountId : await this.#logIn(request, response, body, uid);
    if (accountId === '') return;
    // The page of the password says what the code is for, so it is the consent, too.
    const grant = new this.#provider.Grant({ accountId, clientId: params.client_id });
    grant.addOIDCScope(SCOPE);
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await this.#provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  /** Refuses forms of other sites. @param {Request} request */
  #checkOrigin({ headers }) {
    if (isFromHere(headers, (origin) => origin === this.#issuer)) return;
    throw new Refused(403, 'The form comes from another site.');
  }

  /**
   * @param {Request} request
   * @param {Response} response gets the form again if the password is wrong
   * @param {URLSearchParams} body
   * @param {string} uid of the interaction
   * @returns {Promise<string>} the user, '' = the response was sent
   */
  async #logIn({ socket }, response, body, uid) {
    const user = body.get('user') ?? '';
    const { remoteAddress = '', remotePort = 0 } = socket;
    const address = remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress;
    const password = Buffer.from(body.get('password') ?? '');
    const isRight = await this.#passwords.verify(user, password, `${address}:${remotePort}`);
    if (isRight) return user;
    const problem = isRight === false ? WRONG : 'There are too many logins at present. Try again.';
    const html = loginPage(`/interaction/${uid}`, { problem, user: user.slice(0, 256) });
    this.#send(response, isRight === false ? 401 : 503, html);
    return '';
  }
}

/** @param {Request} request @param {string} name @returns {string} '' = there is none */
function cookieOf({ headers: { cookie = '' } }, name) {
  for (const part of cookie.split(';')) {
    const [key, value = ''] = part.trim().split('=');
    if (key === name) return value;
  }
  return '';
}

/** @param {Request} request @returns {Promise<URLSearchParams>} @throws {Refused} */
async function readForm(request) {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(type)) {
    throw new Refused(415, 'The page takes a form only.');
  }
  /** @type {Buffer[]} */
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > MOST_BODY_BYTES) throw new Refused(413, 'The form is too long.');
    parts.push(part);
  }
  return new URLSearchParams(Buffer.concat(parts).toString());
}

module.exports = { Logins, Refused };

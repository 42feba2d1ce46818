'use strict';
// Whether a login may change something. Node-RED answers a login without the permission as it answers none, with 401;
// here that is 403 with a sentence.

/** As Node-RED names permissions: all, all that write, and the one of this palette. */
const WRITE = 'seganet.write';
const SCOPES = ['*', 'write', '*.write', WRITE];
const REFUSAL = `This login may only read. A change needs a login with the permission ${WRITE}.`;

/**
 * @param {{ user?: unknown, authInfo?: { scope?: string | string[] } }} request that Node-RED's needsPermission passed
 * @returns {boolean}
 */
function mayWrite({ user, authInfo }) {
  // Without a login, the admin API is as open as the editor.
  if (!user) return true;
  const scopes = [authInfo?.scope ?? ''].flat().flatMap((each) => each.split(' '));
  return scopes.some((each) => SCOPES.includes(each));
}

/** @param {any} response @param {string} error */
const refuseAsJson = (response, error) => void response.status(403).json({ error });

/**
 * Returns middleware that passes requests which may change something: 401 without a login, 403 for one that may not.
 * @param {Pick<import('node-red').NodeAPI, 'auth' | 'log'>} RED
 * @param {(response: any, sentence: string) => void} [refuse] answers with 403
 * @returns {(request: any, response: any, next: () => void) => void}
 */
function needsWrite(RED, refuse = refuseAsJson) {
  // Every login has the empty permission.
  const needsLogin = RED.auth.needsPermission('');
  return (request, response, next) =>
    needsLogin(request, response, () => {
      if (mayWrite(request)) return next();
      RED.log.audit(/** @type {any} */ ({ event: 'permission.fail', permissions: WRITE }), request);
      refuse(response, REFUSAL);
    });
}

module.exports = { mayWrite, needsWrite };

'use strict';
// Whether a login may change something, so that a page need not offer what the gateway would refuse. The gateway checks
// the permission again at each request that changes something.

/** As Node-RED names permissions: all, all that write, and the one of this palette. */
const SCOPES = ['*', 'write', '*.write', 'seganet.write'];

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

exports.mayWrite = mayWrite;

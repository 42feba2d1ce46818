'use strict';
// Runs a script as a user without rights: node as-user.js UID SCRIPT [arguments]. Node itself is started by root,
// because that user may not be able to reach its file.

const path = require('node:path');

const [uid, script, ...args] = process.argv.slice(2);
process.setgroups?.([Number(uid)]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
if (script === '-e') {
  new Function('require', args[0])(require);
} else {
  process.argv = [process.execPath, path.resolve(script), ...args];
  /** @type {any} */ (require('node:module')).runMain();
}

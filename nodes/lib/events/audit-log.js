'use strict';
// The audit log: who changed what, when, and from which address. It takes the changes from Node-RED's own audit
// messages, in which the palette's endpoints report theirs (RED.log.audit), whether or not Node-RED logs them.

const { EventEmitter } = require('node:events');

/** Messages that report a change. Others report what was read. */
const CHANGES =
  /^(seganet\..+|flows\.set|flows\.setState|flow\.(add|update|remove)|nodes\.(install|remove)|auth\.login)$/;
const WRONG_LOGIN = /^auth\.login\.fail/;
/** What a message has beside its details. */
const COMMON = new Set(['event', 'level', 'timestamp', 'user', 'username', 'path', 'ip', 'error', 'message']);
const MAX_TEXT = 200;
const MAX_DETAIL = 500;

/**
 * @typedef {object} AuditMessage of Node-RED
 * @property {string} event
 * @property {{ username?: string }} [user]
 * @property {string} [username]
 * @property {string} [ip]
 * @property {unknown} [error] why nothing was changed
 */

/**
 * Returns the log handler that keeps the changes.
 * @param {object} parts
 * @param {number} parts.level of audit messages
 * @param {(line: Omit<import('./event-store').AuditLine, 'id' | 'at'>) => void} parts.add
 * @param {(user: string) => void} parts.wrongLogin called for a wrong login to the editor or the admin API
 * @returns {EventEmitter}
 */
function auditHandler({ level, add, wrongLogin }) {
  const handler = new EventEmitter();
  handler.on('log', (/** @type {AuditMessage & { level: number }} */ message) => {
    if (message.level !== level || typeof message.event !== 'string') return;
    const { event: what, user, username, ip = '', error } = message;
    const who = cut(String(user?.username ?? username ?? ''), MAX_TEXT);
    if (WRONG_LOGIN.test(what)) wrongLogin(who);
    if (!CHANGES.test(what) || error) return;
    add({ user: who, address: cut(String(ip), MAX_TEXT), what, detail: cut(detailOf(message), MAX_DETAIL) });
  });
  return handler;
}

/** @param {object} message @returns {string} such as type: full, rows: 3 */
function detailOf(message) {
  return Object.entries(message)
    .filter(([name, value]) => !COMMON.has(name) && ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

/** @param {string} text @param {number} most characters */
const cut = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

module.exports = { auditHandler };

'use strict';
// Records of the topic of commands, as docs/reference/messages.md describes them. The key is <device>/<id>, the value
// is the command. A record without a value ends it; its headers have the outcome.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const {
  deviceTopic,
  commandProblem,
  restOf,
  DEFAULT_EXPIRY_S,
  MAX_EXPIRY_S
} = require('../../commands/command');

/** @typedef {import('../../commands/command').Command} Command */
/** @typedef {import('../../commands/command').Status} Status */
/** @typedef {{ gateway: string, boot: string }} Writer */

const MOST_PAYLOAD_BYTES = 256 * 1024;
/** Of a key and of a value: a payload in base64, and 32 KiB for the rest. */
const MOST_BYTES = Math.ceil(MOST_PAYLOAD_BYTES / 3) * 4 + 32 * 1024;
const MOST_ID_CHARACTERS = 128;
const MOST_KEY_CHARACTERS = MAX_DEVICE_BYTES + 1 + MOST_ID_CHARACTERS;
const STATUSES = ['taken', 'refused', 'expired', 'timeout', 'full'];

/** @param {Pick<Command, 'device' | 'id'>} command */
const keyOf = ({ device, id }) => `${device}/${id}`;

/** @param {Pick<Command, 'id' | 'payload'>} command @returns {string} why it cannot be written, '' = it can */
function writeProblem({ id, payload }) {
  if (id.includes('/')) return 'The id of a command must not have a slash.';
  if (payload.length > MOST_PAYLOAD_BYTES)
    return `The payload of a command must have at most ${MOST_PAYLOAD_BYTES} bytes.`;
  return '';
}

/** @param {Command} command @param {Writer} writer @returns {{ key: string, value: string }} */
function commandRecord(command, { gateway, boot }) {
  const { device, id, topic, qos, expiresAt: expires, payload, origin } = command;
  const { correlation, ...from } = origin ?? {};
  const value = {
    device,
    id,
    topic,
    qos,
    expires,
    payloadBase64: payload.toString('base64'),
    by: { gateway, boot },
    from: origin && { ...from, ...(correlation && { correlation: correlation.toString('base64') }) }
  };
  return { key: keyOf(command), value: JSON.stringify(value) };
}

/**
 * @param {{ key: string, value: string, at: number }} record at: Kafka's time of the record, ms since 1970
 * @returns {{ command: Command, by: Writer | null } | { problem: string }} by null: no gateway has written it
 */
function readCommand({ key, value, at }) {
  if (value === '') return { problem: `The value is empty, or has more than ${MOST_BYTES} bytes.` };
  /** @type {any} */
  let body;
  try {
    body = JSON.parse(value);
  } catch {
    body = null;
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return { problem: 'The value is no JSON object.' };
  const { device, id, rest = '', qos = 1, payload = '', payloadBase64 } = body;
  const { expires = at + DEFAULT_EXPIRY_S * 1000, by, from } = body;
  const isNamed = [device, id, rest].every((each) => typeof each === 'string') && id !== '';
  if (!isNamed || id.length > MOST_ID_CHARACTERS || id.includes('/') || key !== keyOf({ device, id }))
    return { problem: `"device" and "id" must be those of the key, and the id have at most ${MOST_ID_CHARACTERS} characters and no slash.` }; // prettier-ignore
  const topic = body.topic ?? deviceTopic(device, rest);
  const isText = typeof (payloadBase64 ?? payload) === 'string' && typeof topic === 'string';
  if (!isText) return { problem: '"payload", "payloadBase64", "topic" and "rest" must be texts.' };
  if (!Number.isFinite(expires) || expires > at + MAX_EXPIRY_S * 1000)
    return { problem: '"expires" must be a time in ms since 1970.' };
  const isRow = typeof by?.gateway === 'string' && typeof by.boot === 'string';
  /** @type {Command} */
  const command = {
    id,
    device,
    topic,
    payload: payloadBase64 === undefined ? Buffer.from(payload) : Buffer.from(payloadBase64, 'base64'),
    qos: qos === 0 ? 0 : 1,
    expiresAt: expires,
    // Who may report is for gateways to say.
    origin: originOf(isRow ? from : {}, restOf({ device, topic }))
  };
  const problem = commandProblem(command) || writeProblem(command);
  return problem ? { problem } : { command, by: isRow ? { gateway: by.gateway, boot: by.boot } : null };
}

/**
 * @param {any} from null: a flow of a gateway sent it; without a broker, the cloud wrote it into the topic
 * @param {string} rest
 * @returns {Command['origin']}
 */
function originOf(from, rest) {
  if (from === null) return null;
  const { broker, tenant, responseTopic, correlation } = typeof from === 'object' ? from : {};
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : undefined);
  return {
    broker: text(broker) ?? '',
    rest: text(from?.rest) ?? rest,
    ...(text(tenant) && { tenant }),
    ...(text(responseTopic) && { responseTopic }),
    ...(text(correlation) && { correlation: Buffer.from(correlation, 'base64') })
  };
}

/**
 * @param {string} key
 * @param {{ status: Status, reason: string }} outcome
 * @param {Writer} writer
 * @param {number} now ms since 1970
 * @returns {{ key: string, value: null, headers: Record<string, string> }}
 */
function outcomeRecord(key, { status, reason }, { gateway, boot }, now) {
  return { key, value: null, headers: { status, reason, gateway, boot, ts: String(now) } };
}

/** @param {Record<string, string>} headers @returns {{ status: Status, reason: string, boot: string }} */
function readOutcome({ status, reason = '', boot = '' }) {
  if (STATUSES.includes(status)) return { status: /** @type {Status} */ (status), reason, boot };
  return { status: 'refused', reason: 'It was withdrawn.', boot: '' };
}

module.exports = {
  MOST_BYTES,
  MOST_KEY_CHARACTERS,
  commandRecord,
  keyOf,
  outcomeRecord,
  readCommand,
  readOutcome,
  writeProblem
};

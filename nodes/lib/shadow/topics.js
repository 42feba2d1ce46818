'use strict';
// The topics at which devices and the gateway speak about a shadow, in each dialect.

const { deviceTopic } = require('../commands/command');

/**
 * @typedef {import('./settings').Values} Values
 *
 * @typedef {object} Asked what a device asks for
 * @property {'update' | 'get' | 'delete'} kind
 * @property {'reported' | null} section whose patch the payload is; null = the payload names sections
 * @property {(result: { status: number, sectionVersion: number }) => string} replyTo returns the topic of the answer,
 *   '' = there is none
 * @property {string} problem why it cannot be done, '' = it can
 */

const AWS = /^\$aws\/things\/([^/]+)\/shadow(\/name\/[^/]+)?\/(update|get|delete)$/;
const AZURE = /^\$iothub\/twin\/(GET|PATCH\/properties\/reported)\/\?\$rid=([^&]{1,64})/;

/**
 * @param {Values} values of the node
 * @param {string} device that is proven
 * @param {string} topic of its record
 * @returns {Asked | null} null: the record does not concern a shadow
 */
function askedBy(values, device, topic) {
  if (values.dialect === 'aws') return askedAsAws(device, topic);
  if (values.dialect === 'azure') return askedAsAzure(topic);
  const to = (/** @type {string} */ last) => deviceTopic(device, `${values.level}/${last}`);
  const isLast = (/** @type {string} */ end) => topic === end || topic.endsWith(`/${end}`);
  if (isLast(`${values.level}/reported`)) {
    return {
      kind: 'update',
      section: 'reported',
      problem: '',
      // The acknowledgement of its record is the answer.
      replyTo: ({ status }) => (status === 200 ? '' : to('rejected'))
    };
  }
  if (!isLast(`${values.level}/get`)) return null;
  return {
    kind: 'get',
    section: null,
    problem: '',
    replyTo: ({ status }) => to(status === 200 ? 'document' : 'rejected')
  };
}

/** @param {string} device @param {string} topic @returns {Asked | null} */
function askedAsAws(device, topic) {
  const [, thing, name, verb] = AWS.exec(topic) ?? [];
  if (!verb) return null;
  let problem = '';
  if (thing !== device) problem = `The topic names the thing ${thing}, but the device is ${device}.`;
  else if (name) problem = 'Named shadows are not kept. Use the topics of the unnamed (classic) shadow.';
  return {
    kind: /** @type {Asked['kind']} */ (verb),
    section: null,
    problem,
    replyTo: ({ status }) => `${topic}/${status === 200 ? 'accepted' : 'rejected'}`
  };
}

/** @param {string} topic @returns {Asked | null} */
function askedAsAzure(topic) {
  const [, verb, rid] = AZURE.exec(topic) ?? [];
  if (!verb) return null;
  const isGet = verb === 'GET';
  return {
    kind: isGet ? 'get' : 'update',
    section: isGet ? null : 'reported',
    problem: '',
    replyTo: ({ status, sectionVersion }) => {
      if (status !== 200) return `$iothub/twin/res/${status}/?$rid=${rid}`;
      const end = isGet ? `200/?$rid=${rid}` : `204/?$rid=${rid}&$version=${sectionVersion}`;
      return `$iothub/twin/res/${end}`;
    }
  };
}

/**
 * @param {Values} values
 * @param {string} device
 * @param {string} delta as written for the device
 * @returns {string} topic at which the device gets what is desired
 */
function deltaTopic({ dialect, level }, device, delta) {
  if (dialect === 'aws') return `$aws/things/${device}/shadow/update/delta`;
  if (dialect === 'own') return deviceTopic(device, `${level}/delta`);
  return `$iothub/twin/PATCH/properties/desired/?$version=${JSON.parse(delta).$version}`;
}

module.exports = { askedBy, deltaTopic };

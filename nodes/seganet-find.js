'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('directory');
const path = require('node:path');
const { Complaints } = require('./lib/base/complaints');
const { asError } = require('./lib/base/guard');
const { eachSecond } = require('./lib/base/timing/each-second');
const { onInput } = require('./lib/base/message-input');
const { isBatch, toClass, toDeviceId, toTimestamp, RecordError } = require('./lib/base/record');
const { Status, rate, shorten } = require('./lib/base/status');
const { addEndpoints, findNodes, parseRules, readQuestion, rootOf, schema } = require('./lib/directory');
const { leaveInert } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { openDirectory } = require('./lib/directory/things/find-parts');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  addEndpoints(RED, findNodes);

  /**
   * @this {import('./lib/directory/endpoints').FindNode}
   * @param {import('node-red').NodeDef} config
   */
  function Find(config) {
    RED.nodes.createNode(this, config);
    findNodes.add(this);
    this.directory = null;
    this.on('close', () => void findNodes.delete(this));
    const { values, problems, shown: why } = readSettings(config, schema);
    /** @type {import('./lib/directory/rules').Rule[]} */
    let rules = [];
    try {
      // A property that cannot be read has no value.
      rules = parseRules(values.rules ?? '');
    } catch (error) {
      problems.push(/** @type {Error} */ (error).message);
    }
    if (values.folder?.includes('\0')) problems.push('Folder must not contain NUL.');
    if (problems.length > 0) return leaveInert(this, why || 'wrong setting', problems.join(' '));

    const { engine, cloud, folder, maxThings, keepDays, maxAgeS, askMs } = values;
    const host = () => /** @type {any} */ (engine ? RED.nodes.getNode(engine) : null)?.host ?? null;
    const { httpAdminRoot, adminAuth, userDir } = /** @type {any} */ (RED.settings);
    const status = new Status(this);
    const complaints = new Complaints((sentence) => this.error(sentence));
    const show = () => status.set(shownOf(directory.view()));
    const { directory, feed, close } = openDirectory({
      id: this.id,
      options: {
        directory: path.resolve(folder || path.join(userDir || process.cwd(), 'seganet-directory', this.id)),
        maxThings,
        keepDays,
        maxAgeS,
        askMs
      },
      rules,
      base: {
        gateway: host()?.gatewayId || this.id,
        path: `${rootOf(httpAdminRoot)}seganet/directory/${this.id}/`,
        isSecured: Boolean(adminAuth)
      },
      host,
      cloud,
      problem: (sentence) => complaints.tell(sentence, sentence),
      changed: () => show()
    });
    this.directory = directory;
    const endTicks = eachSecond(show);

    onInput(this, (msg, send, done) => {
      if (msg.question !== undefined) {
        const question = readQuestion(msg.question, directory.usual);
        directory.answering
          .answer(question)
          .then((answer) => {
            msg.payload = answer.value ?? answer['sosa:hasSimpleResult'];
            msg.answer = answer;
            send(msg);
            done();
          })
          .catch((error) => done(asError(error)));
        return;
      }
      if (isBatch(msg))
        throw new RecordError(
          'A batch arrived where records are expected. Wire an unbatch node before this one.'
        );
      const isNew = directory.values.note({
        device: toDeviceId(msg.deviceId),
        payload: msg.payload,
        topic: typeof msg.topic === 'string' ? msg.topic : '',
        ts: toTimestamp(msg.ts),
        cls: toClass(msg.priority, 0),
        rssi: msg.rssi,
        protocol: typeof msg.source?.protocol === 'string' ? msg.source.protocol : ''
      });
      if (isNew) feed.soon();
      done();
    });
    this.on('close', (/** @type {() => void} */ done) => {
      endTicks();
      status.close();
      this.directory = null;
      void close().finally(done);
    });
  }

  RED.nodes.registerType('seganet-find', Find);
};

/**
 * @param {ReturnType<import('./lib/directory/directory').Directory['view']>} view
 * @returns {import('./lib/base/status').Shown}
 */
function shownOf({ reason, things, left, counters: { questions, unanswered } }) {
  if (reason) return { fill: 'red', shape: 'ring', text: shorten(reason) };
  if (left > 0)
    return { fill: 'yellow', shape: 'dot', text: `${rate(things)} things · ${rate(left)} left out` };
  const failed = unanswered > 0 ? ` · ${rate(unanswered)} without answer` : '';
  return {
    fill: 'green',
    shape: 'dot',
    text: `${rate(things)} things · ${rate(questions)} questions${failed}`
  };
}

'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('forecast');
const { onInput } = require('./lib/base/message-input');
const { toRecord } = require('./lib/base/record');
const { join } = require('./lib/engine/join');
const { fileOfNode, noteSeason, parseForecast, schema, seriesNodes, shownOf } = require('./lib/forecast');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Forecast(config) {
    RED.nodes.createNode(this, config);
    const warn = (/** @type {string} */ sentence) => this.warn(sentence);
    /** @type {ReturnType<typeof fileOfNode> | null} */
    let file = null;
    const info = (/** @type {string} */ sentence) => this.log(sentence);
    const member = join(RED, this, config, schema, (values, host) => {
      const settings = { ...parseForecast(values), restores: host.keptIn !== '' };
      const lessons = { settings, seriesNodes: () => seriesNodes, info };
      return {
        kind: 'forecast',
        settings,
        shown: shownOf(values.maxSeries, () => file?.progress ?? null),
        planned: () => {
          const stage = host.stageOf(this.id);
          noteSeason(host, stage, settings);
          if (host.keptIn !== '') file = fileOfNode(host, this.id, stage, warn, lessons);
        }
      };
    });
    if (!member) return;
    // The stage leaves with the plan of this deploy, so what it learned is saved before.
    this.on('close', (/** @type {boolean} */ isRemoved, /** @type {() => void} */ done) => {
      if (!isRemoved || !file) return done();
      file.endHistory();
      void file.save().finally(done);
    });

    // The stage decides, and sends the record on.
    onInput(this, (msg, _send, done) => {
      member.inlet.put(toRecord(msg), done, { msg });
    });
  }

  RED.nodes.registerType('seganet-forecast', Forecast);
};

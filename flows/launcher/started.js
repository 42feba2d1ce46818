'use strict';

// Checks the result of the start. Without an editor, a flow cannot be corrected while it runs, so a gateway that can
// serve no device ends with an exit code that a supervisor understands. With an editor it continues, and the log and
// the canvas show the reason.

const { onRuntimeEvent } = require('../../nodes/lib/base/runtime-events');
const { runningNodes } = require('../service/running-nodes');
const { ConfigError, EXIT_CONFIG } = require('./config-error');
const { readFlow } = require('./flow-file');
const log = require('./log');

/**
 * @typedef {{ id: string, payload?: { error?: string, types?: string[], modules?: { module: string }[] } }}
 *   RuntimeEvent
 */

/**
 * Checks the flow's file. Node-RED starts without any node when it cannot read its flow.
 * @param {string} file
 * @returns {string} a sentence, '' when the file contains a flow
 */
function flowProblem(file) {
  const remedy =
    'Restore it from a backup (Node-RED keeps the previous one as .gateway.json.backup), or remove it to get the shipped flow.';
  try {
    readFlow(file);
    return '';
  } catch (error) {
    return `The flow ${file} ${/** @type {Error} */ (error).message}. ${remedy}`;
  }
}

/**
 * @param {string} file
 * @param {boolean} hasEditor
 * @throws {ConfigError} when the file cannot be read and there is no editor
 */
function checkFlow(file, hasEditor) {
  const problem = flowProblem(file);
  if (problem && !hasEditor) throw new ConfigError([problem]);
  if (problem) log.fail(problem);
}

/** @param {any} RED @returns {any[]} the enabled engines of the flow, in their state after the start */
function enginesOf(RED) {
  /** @type {any[]} */
  const flow = [];
  RED.nodes.eachNode((/** @type {any} */ config) => void flow.push(config));
  return runningNodes(flow)
    .filter(({ type }) => type === 'seganet-engine')
    .map(({ id }) => RED.nodes.getNode(id));
}

/**
 * Watches the start. Call it before Node-RED starts.
 * @param {any} RED the node-red module
 * @param {{ flowFile: string, hasEditor: boolean }} options
 */
function watchStart(RED, { flowFile, hasEditor }) {
  const report = log.fail;
  /** @param {string} sentence @param {number} code */
  const fail = (sentence, code) => {
    report(sentence);
    if (!hasEditor) process.exit(code);
  };
  const follow = (/** @type {RuntimeEvent} */ { id, payload }) => {
    if (id !== 'runtime-state' || !payload) return;
    const { error, types = [], modules = [] } = payload;
    if (error !== 'missing-types' && error !== 'missing-modules') return;
    const missing = error === 'missing-types' ? types : modules.map(({ module }) => module);
    fail(
      `Nothing was started: the flow ${flowFile} needs ${missing.join(', ')}, which is not installed. ` +
        'Install the package that provides it in SEGANET_HOME, or remove its nodes from the flow.',
      EXIT_CONFIG
    );
  };
  const check = () => {
    stop();
    const engines = enginesOf(RED);
    if (engines.length === 0 || engines.some((engine) => engine?.host)) return;
    const isSetting = engines.every((engine) => engine?.failure === 'wrong setting');
    if (!hasEditor)
      fail('No engine is running, so no device can be served. Exiting.', isSetting ? EXIT_CONFIG : 1);
  };
  onRuntimeEvent(RED.events, 'runtime-event', follow, report);
  const stop = onRuntimeEvent(RED.events, 'flows:started', check, report);
  if (hasEditor) return;
  // The event loop is empty, although the gateway was not stopped.
  process.on('beforeExit', () => {
    report(`Nothing in the flow ${flowFile} keeps the gateway running: it has no enabled engine. Exiting.`);
    process.exit(EXIT_CONFIG);
  });
}

module.exports = { checkFlow, watchStart };

'use strict';

const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { table } = require('../../nodes/lib/base/cli/cli-output');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { askJson, isRunning } = require('./gateway-client');
const { homeOf } = require('./home-settings');
const { EXIT } = require('./usage');

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function events({ home: given, open, acknowledge, json }, output) {
  const home = homeOf(given);
  workAsOwnerOf(home);
  if (!(await isRunning(home))) {
    output.note(`No gateway uses ${home}. Start it, or name its folder with --home.`);
    return EXIT.NOT_RUNNING;
  }
  if (acknowledge > 0) {
    const event = await askJson(home, `/events/${acknowledge}/acknowledge`);
    if (event === null) throw new CliError(`There is no event ${acknowledge}.`, EXIT.CANNOT);
    output.line(json ? JSON.stringify(event) : `acknowledged: ${event.sentence}`);
    return EXIT.OK;
  }
  /** @type {import('../../nodes/lib/events/event-book').ShownEvent[]} */
  const list = await askJson(home, `/events${open ? '?open=yes' : ''}`);
  if (json) output.line(JSON.stringify({ home, events: list }));
  else if (list.length === 0) output.line(open ? 'Nothing lasts.' : 'Nothing has happened.');
  else
    for (const line of table(['id', 'severity', 'since', 'until', 'times', 'seen', 'what'], list.map(row)))
      output.line(line);
  return EXIT.OK;
}

/** @param {import('../../nodes/lib/events/event-book').ShownEvent} event */
function row({ id, severity, since, until, count, acknowledged, sentence }) {
  const time = (/** @type {number} */ at) => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
  const seen = acknowledged ? acknowledged.by || 'yes' : '–';
  return [
    String(id),
    severity,
    time(since),
    until === null ? 'lasts' : time(until),
    String(count),
    seen,
    sentence
  ];
}

exports.events = events;

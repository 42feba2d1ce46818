'use strict';

const fs = require('node:fs');
const { plural, size, table } = require('../../nodes/lib/base/cli/cli-output');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { Unanswered, askJson, isRunning } = require('./gateway-client');
const { homeOf } = require('./home-settings');
const { EXIT } = require('./usage');

/** @typedef {import('../service/view').GatewayState} GatewayState */
/** @typedef {import('../service/view').EngineState} EngineState */

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function status({ home: given, json }, output) {
  const home = homeOf(given);
  workAsOwnerOf(home);
  if (!(await isRunning(home))) {
    if (json) output.line(JSON.stringify({ home, status: 'not running' }));
    else output.line(`not running: no gateway uses ${home}`);
    return EXIT.NOT_RUNNING;
  }
  const state = await read(home);
  const isOk = state.ready && state.problems.length === 0;
  const word = !state.ready ? 'starting' : isOk ? 'ok' : 'degraded';
  if (json)
    output.line(JSON.stringify({ home, status: word, ...state, engines: state.engines.map(withDisk) }));
  else for (const line of lines(word, home, state)) output.line(line);
  return isOk ? EXIT.OK : EXIT.DEGRADED;
}

/** @param {string} home @returns {Promise<GatewayState>} */
async function read(home) {
  try {
    return await askJson(home, '/status');
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const none = { version: '', pid: 0, uptimeS: 0, ready: true, engines: [], listeners: [] };
    return { ...none, problems: [error.message] };
  }
}

/** @param {EngineState} engine @returns {EngineState & { diskFreeBytes: number }} -1 = unknown */
const withDisk = (engine) => ({
  ...engine,
  diskFreeBytes: engine.log ? freeBytes(engine.log.directory) : -1
});

/** @param {string} folder @returns {number} -1 = unknown */
function freeBytes(folder) {
  try {
    const { bavail, bsize } = fs.statfsSync(folder);
    return bavail * bsize;
  } catch {
    return -1;
  }
}

/** @param {string} word @param {string} home @param {GatewayState} state @returns {string[]} */
function lines(word, home, { version, pid, uptimeS, engines, listeners, problems }) {
  const about = pid ? `: ${home}, version ${version}, process ${pid}, up ${duration(uptimeS)}` : `: ${home}`;
  return [
    `${word}${about}`,
    ...problems.map((problem) => `  ${problem}`),
    ...engines.flatMap((engine) => ['', ...engineLines(engine)]),
    ...(listeners.length > 0
      ? [
          '',
          ...table(
            ['listener', 'node', 'shows'],
            listeners.map(({ id, type, name, text }) => [type.replace('seganet-', ''), name || id, text])
          )
        ]
      : [])
  ];
}

/** @param {EngineState} engine @returns {string[]} */
function engineLines({ id, name, running, reason, devices, records, log, uplinks }) {
  const called = `engine ${name || id}`;
  if (!running) return [`${called}: not running: ${reason}`];
  const rows = [
    `${called}: running, ${plural(devices, 'device')} connected`,
    `  records: ${records.delivered} delivered since the start, ${records.held + records.backlog} wait ` +
      `(${records.stored} of them safe on disk), ${records.dropped} dropped`,
    ...uplinks.map(
      (uplink) =>
        `  uplink ${uplink.name || uplink.id}: ${uplink.state}${uplink.reason || uplink.code ? ` (${uplink.reason || uplink.code})` : ''}`
    )
  ];
  if (!log) return [...rows, '  log: none is kept'];
  const free = freeBytes(log.directory);
  const disk = free < 0 ? '' : `, ${size(free)} free on the disk`;
  return [
    ...rows,
    `  log: ${log.state}, ${size(log.bytes)} of ${size(log.limitBytes)}${disk}: ${log.directory}`,
    `  dead letters: ${log.dead === 0 ? 'none' : `${log.dead} (seganet-log dead lists them)`}` +
      `${log.quarantined > 0 ? `, quarantine: ${log.quarantined}` : ''}`
  ];
}

/** @param {number} seconds @returns {string} */
function duration(seconds) {
  const [days, hours, minutes] = [seconds / 86400, (seconds / 3600) % 24, (seconds / 60) % 60].map(
    Math.floor
  );
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : `${seconds} s`;
}

exports.status = status;

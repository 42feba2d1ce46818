'use strict';
// Reads the command line of seganet-log.

const { CLASS_WORDS, classOf } = require('../../base/classes');
const { readCommandLine, usageOf } = require('../../base/cli/command-line');
const { page } = require('../../base/texts/page');
const { TABLES } = require('./walk');

const HELP = `seganet-log <command> [options] <directory>

Inspects and repairs the log of a SegaNet gateway. <directory> is the log's folder, by default seganet-log/<engine id>
in Node-RED's user directory, or a database file in that folder. Stop the gateway first.

commands
  inspect   shows the waiting records by class and uplink node, oldest and newest, dead letters, quarantine, file sizes
              --json            prints one JSON object
  verify    checks the database and every chunk, and lists damage
  dump      prints the records as NDJSON: device, topic, ts, class, payload (JSON) or base64, key
              --table NAME      chunk (default), dead or quarantine
              --class CLASS     1 to 8, or critical, high, normal, bulk
              --node ID         records of one uplink node
              --limit N         at most N records
  repair    keeps the intact batches of damaged chunks, including chunks in quarantine, and moves the rest to quarantine;
            rebuilds a malformed database, and merges files that a gateway set aside as log.db.damaged-<time>;
            the damaged file is kept with -salvaged at the end of its name
              --dry-run         only shows what it would do
  dead      lists the dead letters: records that the cloud refused permanently
              --requeue         queues them for sending again
              --delete          deletes them
              --row N[,N...]    only these rows; --class and --node as above

  --help, --version

exit codes
  0  done, nothing is damaged      1  damage was found
  2  wrong usage                   3  there is no log, it cannot be opened, or it is in use

The format:
  ${page('reference/log-format.md')}`;

const operands = ['The directory'];
const PROGRAM = {
  name: 'seganet-log',
  help: HELP,
  commands: {
    inspect: { operands, options: ['json'] },
    verify: { operands },
    dump: { operands, options: ['table', 'class', 'node', 'limit'] },
    repair: { operands, options: ['dry-run'] },
    dead: { operands, options: ['requeue', 'delete', 'class', 'node', 'row'] }
  },
  flags: ['json', 'dry-run', 'requeue', 'delete']
};

const usage = usageOf(PROGRAM.name);

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
function whole(value, name) {
  if (!/^\d{1,15}$/.test(String(value))) throw usage(`--${name} takes a whole number, not '${value}'.`);
  return Number(value);
}

/** @param {unknown} value @returns {number} 0 = all */
function toClass(value) {
  if (value === undefined) return 0;
  const cls = classOf(value);
  if (cls === 0) throw usage(`--class takes ${CLASS_WORDS}, not '${value}'.`);
  return cls;
}

/** @param {unknown} value @returns {import('./walk').Table} */
function toTable(value = 'chunk') {
  const found = TABLES.find((name) => name === value);
  if (!found) throw usage(`--table takes one of ${TABLES.join(', ')}, not '${value}'.`);
  return found;
}

/** @param {string[]} args of the command line */
const readArguments = (args) =>
  readCommandLine(PROGRAM, args, (given, [directory]) => {
    const [requeue, remove] = [given.flag('requeue'), given.flag('delete')];
    if (requeue && remove) throw usage('--requeue and --delete are mutually exclusive.');
    const [limit, row] = [given.text('limit'), given.text('row')];
    return {
      directory,
      json: given.flag('json'),
      'dry-run': given.flag('dry-run'),
      requeue,
      delete: remove,
      node: given.text('node'),
      class: toClass(given.text('class')),
      table: toTable(given.text('table')),
      limit: limit === undefined ? Infinity : whole(limit, 'limit'),
      rows: row === undefined ? [] : row.split(',').map((each) => whole(each, 'row'))
    };
  });

module.exports = { readArguments };

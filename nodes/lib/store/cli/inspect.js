'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { classNames } = require('../../base/classes');
const { isDamage } = require('./sqlite');
const { size, plural, time, table } = require('../../base/cli/cli-output');
const { openToRead } = require('./open');
const { EXIT, CliError } = require('./log-error');

/** @typedef {import('./open').Place} Place */
/** @typedef {{ chunks: number, records: number, bytes: number, oldest: number, newest: number }} Sums */

/** @returns {Sums} */
const none = () => ({ chunks: 0, records: 0, bytes: 0, oldest: 0, newest: 0 });

/** @param {Sums} sums @param {Sums} more */
function add(sums, more) {
  sums.oldest = sums.chunks === 0 ? more.oldest : Math.min(sums.oldest, more.oldest);
  sums.newest = sums.chunks === 0 ? more.newest : Math.max(sums.newest, more.newest);
  sums.chunks += more.chunks;
  sums.records += more.records;
  sums.bytes += more.bytes;
}

/** Lists the database, its companions, and files left by repairs. @param {Place} place */
function files({ directory, file }) {
  const base = path.basename(file);
  return fs
    .readdirSync(directory)
    .filter((name) => name === base || name.startsWith(`${base}-`) || name.startsWith(`${base}.`))
    .sort()
    .map((name) => ({
      name,
      bytes: fs.statSync(path.join(directory, name), { throwIfNoEntry: false })?.size ?? 0
    }));
}

/**
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {Place} place
 * @param {ReturnType<typeof files>} sizes
 */
function summary(db, place, sizes) {
  const lanes = db
    .prepare(
      `SELECT node, class, count(*) AS chunks, sum(records) AS records, sum(bytes) AS bytes,
        min(first_ts) AS oldest, max(last_ts) AS newest FROM chunk GROUP BY node, class ORDER BY node, class`
    )
    .all();
  const total = none();
  const classes = classNames.slice(1).map((name, i) => ({ class: i + 1, name, ...none() }));
  /** @type {Map<string, Sums & { node: string }>} */
  const nodes = new Map();
  for (const lane of lanes) {
    const sums = /** @type {Sums} */ (/** @type {unknown} */ (lane));
    const name = String(lane.node);
    const node = nodes.get(name) ?? { node: name, ...none() };
    nodes.set(name, node);
    const ofClass = classes[Number(lane.class) - 1];
    for (const to of [total, node, ...(ofClass ? [ofClass] : [])]) add(to, sums);
  }
  const aside =
    'count(*) AS count, ifnull(sum(records), 0) AS records, ifnull(sum(length(body)), 0) AS bytes';
  const [dead, quarantine] = ['dead', 'quarantine'].map((name) => {
    const { count, records, bytes } = db.prepare(`SELECT ${aside} FROM ${name}`).get() ?? {};
    return { count: Number(count), records: Number(records), bytes: Number(bytes) };
  });
  return {
    file: place.file,
    ...total,
    classes,
    nodes: [...nodes.values()],
    dead,
    quarantine,
    files: sizes
  };
}

/** @typedef {Sums & { class: number, name: string }} ClassSums */

/** @param {ClassSums} sums */
const isNumber = (sums) => sums.name === String(sums.class);

/** @param {ClassSums} sums */
const classLabel = (sums) => (isNumber(sums) ? sums.name : `${sums.class} ${sums.name}`);

/** @param {Sums} sums @returns {string[]} */
function cells(sums) {
  const times = sums.chunks === 0 ? ['', ''] : [time(sums.oldest), time(sums.newest)];
  return [String(sums.chunks), String(sums.records), size(sums.bytes), ...times];
}

/** @param {ReturnType<typeof summary>} sums @returns {string[]} */
function lines(sums) {
  const head = ['chunks', 'records', 'bytes', 'oldest', 'newest'];
  // Classes without a name are rarely used, so they are shown only if they have chunks.
  const named = sums.classes.filter((each) => !isNumber(each) || each.chunks > 0);
  return [
    sums.file,
    '',
    ...table(
      ['class', ...head],
      [...named.map((each) => [classLabel(each), ...cells(each)]), ['all', ...cells(sums)]]
    ),
    ...(sums.nodes.length > 0
      ? [
          '',
          ...table(
            ['uplink node', ...head],
            sums.nodes.map((node) => [node.node, ...cells(node)])
          )
        ]
      : []),
    '',
    ...[
      { name: 'dead letters', ...sums.dead },
      { name: 'quarantine', ...sums.quarantine }
    ].map(({ name, count, records, bytes }) =>
      count === 0
        ? `${name}: none`
        : `${name}: ${plural(count, 'row')}, ${plural(records, 'record')}, ${size(bytes)}`
    ),
    `files: ${sums.files.map(({ name, bytes }) => `${name} ${size(bytes)}`).join(', ')}`
  ];
}

/**
 * @param {Place} place
 * @param {{ json?: boolean }} options
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function inspect(place, options, output) {
  const sizes = files(place); // before SQLite adds its own
  const db = openToRead(place.file);
  try {
    const sums = summary(db, place, sizes);
    for (const line of options.json ? [JSON.stringify(sums)] : lines(sums)) output.line(line);
    return EXIT.OK;
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new CliError(`${place.file} is damaged. Run: seganet-log verify ${place.directory}`, EXIT.DAMAGE);
  } finally {
    db.close();
  }
}

module.exports = { inspect };

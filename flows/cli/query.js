'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { size, table } = require('../../nodes/lib/base/cli/cli-output');
const { locked } = require('../../nodes/lib/base/cli/state-folder');
const { howToInstall } = require('../../nodes/lib/base/texts/how-to-install');
const { copyFiles, remediesOf } = require('../../nodes/lib/parquet/store/bucket-files');
const { listedFiles } = require('../../nodes/lib/parquet/store/listed-files');
const { ObjectCache } = require('../../nodes/lib/parquet/store/object-cache');
const { ObjectStore } = require('../../nodes/lib/parquet/store/object-store');
const { StoreError } = require('../../nodes/lib/parquet/store/store-error');
const { placeOf } = require('./query-place');
const { EXIT } = require('./usage');

/** @typedef {import('@duckdb/node-api').DuckDBConnection} Connection */
/** @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output */

const PACKAGE = '@duckdb/node-api';
const VERSION = '1.5.6-r.1';
/** A table needs the widths of all rows before the first one. */
const TABLE_ROWS = 10000;
/** The gateway may merge files between the look at the manifests and the answer. */
const TRIES = 3;
const MIB = 1024 * 1024;
const LOCK = 'lock';

/**
 * @param {import('./usage').Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function query({ home, question: asked }, output) {
  const question = /** @type {import('./usage').Question} */ (asked);
  const { folder, access } = placeOf(question, home);
  if (!access) return answer(question, async () => listedFiles(folder, question.days), output);
  const cache = new ObjectCache(folder, access, question.cacheMib * MIB);
  const store = new ObjectStore(access, { remedies: remediesOf(access.keys) });
  const progress = (/** @type {{ bytes: number, all: number }} */ { bytes, all }) =>
    output.progress(() => `${size(bytes)} of ${size(all)} of s3://${access.bucket}/${access.prefix}`);
  const busy = (/** @type {number} */ owner) =>
    `Another question (process ${owner}) uses ${folder}. Wait for its end, or name another folder with --cache.`;
  return locked(path.join(folder, LOCK), busy, async () => {
    try {
      const files = await copyFiles({ store, cache, days: question.days, progress });
      return await answer(question, async () => files, output);
    } catch (error) {
      if (error instanceof StoreError) throw new CliError(error.message, EXIT.CANNOT);
      throw error;
    } finally {
      if (question.removesCache) cache.clear();
    }
  });
}

/**
 * @param {Pick<import('./usage').Question, 'sql' | 'format' | 'days'>} question
 * @param {() => Promise<string[]>} filesNow
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function answer({ sql, format, days }, filesNow, output) {
  const { DuckDBInstance, StatementType } = loadDuckDb();
  for (let attempt = 1; ; attempt++) {
    const files = await filesNow();
    if (files.length === 0)
      throw new CliError(
        days.from || days.to
          ? 'There are no Parquet files of these days.'
          : 'There are no Parquet files yet.',
        EXIT.CANNOT
      );
    // A new one each time: the files that one may read cannot be changed.
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    try {
      await openRecords(connection, files);
      const statement = await prepare(connection, sql, StatementType.SELECT);
      await print(await statement.stream(), format, output);
      return EXIT.OK;
    } catch (error) {
      if (error instanceof CliError) throw error;
      const [first] = /** @type {Error} */ (error).message.split('\n');
      // DuckDB reports a file that is gone as one that the question may not read, among others.
      const gone = files.filter((file) => !fs.existsSync(file));
      if (gone.length === 0 || output.waiting !== '')
        throw new CliError(`The question failed: ${first}`, EXIT.CANNOT);
      if (attempt === TRIES)
        throw new CliError(
          `Files that a manifest names are missing: ${gone.length}, such as ${gone[0]}. Restore them from a backup, or leave their days out with --days.`,
          EXIT.CANNOT
        );
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  }
}

/** @returns {typeof import('@duckdb/node-api')} */
function loadDuckDb() {
  try {
    return require(PACKAGE);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new CliError(
      code === 'MODULE_NOT_FOUND'
        ? `Questions need the package ${PACKAGE}: ${howToInstall(`${PACKAGE}@${VERSION}`)}.`
        : `The package ${PACKAGE} does not load (${message}). Install it again.`,
      EXIT.CANNOT
    );
  }
}

/**
 * Makes the view, and closes everything else to the question: it may read these files only.
 * @param {Connection} connection
 * @param {string[]} files at least one
 */
async function openRecords(connection, files) {
  const list = `[${files.map((file) => `'${file.replaceAll("'", "''")}'`).join(', ')}]`;
  await connection.run(`SET TimeZone = 'UTC'; SET temp_directory = ''; SET allowed_paths = ${list}`);
  await connection.run('SET enable_external_access = false');
  await connection.run(`CREATE VIEW records AS FROM read_parquet(${list}, hive_partitioning = true)`);
  await connection.run('SET lock_configuration = true');
}

/**
 * @param {Connection} connection
 * @param {string} sql
 * @param {number} select the type of a statement that only reads
 */
async function prepare(connection, sql, select) {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) throw onlySelect();
  const statement = await statements.prepare(0);
  // COPY could overwrite a file that may be read, and EXPLAIN ANALYZE runs what it explains.
  if (statement.statementType !== select) throw onlySelect();
  return statement;
}

const onlySelect = () =>
  new CliError('A question is one SELECT statement, such as "SELECT count(*) FROM records".', EXIT.USAGE);

/**
 * @param {import('@duckdb/node-api').DuckDBResult} result
 * @param {string} format table, csv or json
 * @param {Output} output
 */
async function print(result, format, output) {
  const names = result.deduplicatedColumnNames();
  if (format === 'csv') await output.line(names.map(cell).join(','));
  /** @type {string[][]} */
  const rows = [];
  let left = 0;
  for await (const chunk of result.yieldRowsJson()) {
    for (const row of chunk) {
      if (format === 'json')
        await output.line(JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i]]))));
      else if (format === 'csv') await output.line(row.map((value) => cell(textOf(value))).join(','));
      else if (rows.length < TABLE_ROWS) rows.push(row.map((value) => shown(textOf(value))));
      else left++;
    }
  }
  if (format !== 'table') return;
  for (const line of table(names.map(shown), rows)) await output.line(line);
  if (left > 0)
    await output.note(`${left} rows more: a table has ${TABLE_ROWS}. Use --format csv or json, or LIMIT.`);
}

/** @param {unknown} value @returns {string} */
function textOf(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A device chooses its name: control characters must not reach the terminal. @param {string} text */
const shown = (text) => text.replace(/\p{Cc}/gu, '\ufffd');

/** @param {string} text of a field [RFC 4180] */
const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

module.exports = { answer, query };

'use strict';

// Entry of the thread that searches. The directory ends it when a search takes too long: nothing else stops one.
// In:  {type: 'ask', id, what: 'sparql' | 'jsonpath', input}
// Out: {type: 'begin', id} when the things are loaded · {type: 'answer', id, value | failure, isBroken}; isBroken: the
//      thread must not be used again

const path = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('../store/sqlite');
const { FILE } = require('./directory-database');
const { DirectoryError } = require('./directory-error');
const { loadPackage } = require('./packages');
const { triplesOf } = require('./triples');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const MAX_ROWS = 10000;
const MAX_ANSWER = 16 << 20;
const { directory, tripleBytes } = workerData.options;
const db = new DatabaseSync(path.join(directory, FILE), { readOnly: true, timeout: 2000 });

/** What this thread has of each thing, by its number. @type {Map<number, { revision: number, td: any }>} */
const things = new Map();
/** @type {any} */
let graph = null;
/** What the graph has of each thing; bytes: of its triples as text. @type {Map<number, { revision: number, bytes: number }>} */
const inGraph = new Map();
/** Of all triples in the graph. */
let graphBytes = 0;

/** Of the directory when the things, and the graph, were read. */
let [readAt, graphAt] = [-1, -1];

/** Reads the things that have changed. */
function refresh() {
  const revision = Number(db.prepare("SELECT value FROM meta WHERE name = 'revision'").get()?.value ?? 0);
  if (revision === readAt) return;
  readThings();
  readAt = revision;
}

function readThings() {
  const rows = db.prepare('SELECT n, revision FROM thing').all();
  const known = new Set(rows.map(({ n }) => Number(n)));
  for (const n of things.keys()) if (!known.has(n)) things.delete(n);
  const read = db.prepare('SELECT id, td FROM thing WHERE n = ?');
  for (const row of rows) {
    const [n, revision] = [Number(row.n), Number(row.revision)];
    if (things.get(n)?.revision === revision) continue;
    const found = read.get(n);
    if (!found) continue;
    things.set(n, { revision, td: { ...JSON.parse(String(found.td)), id: found.id } });
  }
}

/** @param {number} bytes */
const shownBytes = (bytes) => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : `${bytes} bytes`);

/** Brings the graph to the state of the things. Each thing has a graph of its own, so that it can be replaced. */
function refreshGraph() {
  if (graphAt === readAt) return;
  const oxigraph = loadPackage('sparql');
  graph ??= new oxigraph.Store();
  const nameOf = (/** @type {number} */ n) => oxigraph.namedNode(`urn:seganet:graph:${n}`);
  const drop = (/** @type {number} */ n) => {
    for (const quad of graph.match(null, null, null, nameOf(n))) graph.delete(quad);
    graphBytes -= inGraph.get(n)?.bytes ?? 0;
    inGraph.delete(n);
  };
  for (const n of [...inGraph.keys()]) if (!things.has(n)) drop(n);
  for (const [n, { revision, td }] of things) {
    if (inGraph.get(n)?.revision === revision) continue;
    if (inGraph.has(n)) drop(n);
    const text = triplesOf(td.id, td, `t${n}`);
    const bytes = Buffer.byteLength(text);
    if (graphBytes + bytes > tripleBytes)
      throw new DirectoryError(
        507,
        `The things of this directory have more than ${shownBytes(tripleBytes)} of triples, too many for SPARQL. Use JSONPath, or delete things.`
      );
    graph.load(text, { format: 'application/n-triples', to_graph_name: nameOf(n), lenient: true });
    inGraph.set(n, { revision, bytes });
    graphBytes += bytes;
  }
  graphAt = readAt;
}

/** @param {{ text: string, form: string, format: string }} input @returns {string} */
function sparql({ text, form, format }) {
  const options = { use_default_graph_as_union: true };
  if (form === 'SELECT' || form === 'ASK') {
    const found = graph.query(text, options);
    if (Array.isArray(found) && found.length > MAX_ROWS)
      throw new DirectoryError(
        400,
        `The answer has more than ${MAX_ROWS} rows. Add LIMIT ${MAX_ROWS} to the query.`
      );
    return JSON.stringify(typeof found === 'boolean' ? { head: {}, boolean: found } : resultsOf(found, text));
  }
  const quads = graph.query(text, options);
  if (quads.length > MAX_ROWS)
    throw new DirectoryError(400, `The answer has more than ${MAX_ROWS} triples. Add LIMIT to the query.`);
  return format === 'application/n-triples'
    ? quads.map((/** @type {any} */ quad) => `${quad.subject} ${quad.predicate} ${quad.object} .\n`).join('')
    : JSON.stringify(linkedData(quads));
}

/** SPARQL 1.1 Query Results JSON Format. @param {Map<string, any>[]} rows @param {string} text */
function resultsOf(rows, text) {
  const vars = new Set(rows.flatMap((row) => [...row.keys()]));
  // Without rows, the names come from the query's head.
  if (rows.length === 0)
    for (const [, name] of (/SELECT([^{]*)/i.exec(text)?.[1] ?? '').matchAll(/[?$]([\p{L}\p{N}_]+)/gu))
      vars.add(name);
  const bindings = rows.map((row) =>
    Object.fromEntries([...row].map(([name, term]) => [name, termOf(term)]))
  );
  return { head: { vars: [...vars] }, results: { bindings } };
}

/** @param {any} term */
function termOf({ termType, value, language, datatype }) {
  if (termType === 'NamedNode') return { type: 'uri', value };
  if (termType === 'BlankNode') return { type: 'bnode', value };
  const isString = datatype?.value === 'http://www.w3.org/2001/XMLSchema#string';
  return {
    type: 'literal',
    value,
    ...(language ? { 'xml:lang': language } : isString || !datatype ? {} : { datatype: datatype.value })
  };
}

/** Expanded JSON-LD of triples. @param {any[]} quads */
function linkedData(quads) {
  /** @type {Map<string, Map<string, any[]>>} */
  const nodes = new Map();
  const idOf = (/** @type {any} */ { termType, value }) => (termType === 'BlankNode' ? `_:${value}` : value);
  for (const { subject, predicate, object } of quads) {
    const members = nodes.get(idOf(subject)) ?? new Map();
    nodes.set(idOf(subject), members);
    const isType = predicate.value.endsWith('22-rdf-syntax-ns#type');
    const name = isType ? '@type' : predicate.value;
    const isLiteral = object.termType === 'Literal';
    const type = isLiteral && !object.language ? object.datatype.value : '';
    const value = isLiteral
      ? {
          '@value': object.value,
          ...(object.language && { '@language': object.language }),
          ...(type && !type.endsWith('#string') && { '@type': type })
        }
      : isType
        ? idOf(object)
        : { '@id': idOf(object) };
    members.set(name, [...(members.get(name) ?? []), value]);
  }
  return [...nodes].map(([id, members]) => ({ '@id': id, ...Object.fromEntries(members) }));
}

/** @param {{ query: string }} input @returns {string} */
function jsonpath({ query }) {
  const { query: find, JSONPathError } = loadPackage('jsonpath');
  try {
    const found = find(
      query,
      [...things.values()].map(({ td }) => td)
    ).values();
    const list = Array.isArray(found) ? found : [...found];
    if (list.length > MAX_ROWS)
      throw new DirectoryError(400, `The answer has more than ${MAX_ROWS} values. Use a narrower query.`);
    return JSON.stringify(list);
  } catch (error) {
    if (error instanceof DirectoryError) throw error;
    if (error instanceof JSONPathError || error instanceof RangeError)
      throw new DirectoryError(400, `The query is not a JSONPath (RFC 9535): ${short(error)}`);
    throw error;
  }
}

/** @param {unknown} error */
const short = (error) => String(/** @type {any} */ (error)?.message ?? error).slice(0, 500);

/** @param {{ id: number, what: string, input: any }} message */
function answer({ id, what, input }) {
  let isBroken = false;
  try {
    loadPackage(what === 'sparql' ? 'sparql' : 'jsonpath');
    refresh();
    if (what === 'sparql') refreshGraph();
    port.postMessage({ type: 'begin', id });
    let value;
    try {
      value = what === 'sparql' ? sparql(input) : jsonpath(input);
    } catch (error) {
      if (error instanceof DirectoryError) throw error;
      // After a fault in WebAssembly, nothing in its memory can be trusted.
      isBroken = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
      throw new DirectoryError(400, `The query cannot be answered: ${short(error)}`);
    }
    if (value.length > MAX_ANSWER)
      throw new DirectoryError(
        400,
        `The answer is larger than ${MAX_ANSWER >> 20} MiB. Use a narrower query.`
      );
    port.postMessage({ type: 'answer', id, value });
  } catch (error) {
    const { status = 503, more = {} } = error instanceof DirectoryError ? error : {};
    port.postMessage({ type: 'answer', id, isBroken, failure: { status, message: short(error), more } });
  }
}

port.on('message', answer);

'use strict';

// Entry of the thread with the database of a directory.
// In:  {type: 'ask', id, what, input} · {type: 'stop'}
// Out: {type: 'answer', id, value | failure} · {type: 'events', events} · {type: 'state', reason, total, posted}
//      {type: 'problem', sentence} · {type: 'replaced'} the file was set aside, a new one follows

const path = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');
const { Reopening } = require('../store/reopening');
const { FILE, explain, isDamage, openDatabase, setAside } = require('./directory-database');
const { DirectoryError } = require('./directory-error');
const { DirectoryStore } = require('./directory-store');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const TICK_MS = 10000;
const CALLS = [
  'createAnonymous',
  'put',
  'patch',
  'remove',
  'get',
  'list',
  'make',
  'keepOnly',
  'namesOf',
  'find',
  'eventsAfter'
];
/** They change nothing. */
const READS = ['get', 'list', 'find', 'namesOf'];
const { directory, ...options } = workerData.options;

/** @type {DirectoryStore | null} */
let store = null;
let reason = '';
const reopening = new Reopening(path.join(directory, FILE));
/** Id of the latest event. */
let lastEvent = 0;

/** @param {import('./directory-store').Event[]} events at least one */
function report(events) {
  lastEvent = events[events.length - 1].id;
  port.postMessage({ type: 'events', events });
}

function open() {
  try {
    store = new DirectoryStore(openDatabase(directory, lastEvent), { ...options, report });
    reason = '';
  } catch (error) {
    fault(error);
  }
}

/** @param {unknown} error @returns {string} a sentence */
function fault(error) {
  reason = explain(error, directory);
  if (!isDamage(error)) return reason;
  store?.close();
  store = null;
  if (reopening.asideInMs > 0) return reason;
  const aside = setAside(directory, reopening);
  reason = `The directory in ${directory} is damaged. Its file is now ${aside}; the node begins a new one. Post the things of the old one again.`;
  port.postMessage({ type: 'replaced' });
  port.postMessage({ type: 'problem', sentence: reason });
  return reason;
}

/** @param {{ id: number, what: string, input: any }} message */
function answer({ id, what, input }) {
  try {
    if (!store) open();
    if (!store || !CALLS.includes(what))
      throw new DirectoryError(503, reason || 'The directory is not open.');
    store.purge();
    const value = /** @type {any} */ (store)[what](input);
    port.postMessage({ type: 'answer', id, value });
  } catch (error) {
    const known =
      error instanceof DirectoryError
        ? error
        : new DirectoryError(
            503,
            safely(() => fault(error))
          );
    const { status, message, more } = known;
    port.postMessage({ type: 'answer', id, failure: { status, message, more } });
  }
  if (!READS.includes(what)) state();
}

/** @param {() => string} work */
function safely(work) {
  try {
    return work();
  } catch (error) {
    return explain(error, directory);
  }
}

function state() {
  const { total = 0, posted = 0 } = (reason === '' && store?.counts()) || {};
  port.postMessage({ type: 'state', reason, total, posted });
}

function tick() {
  try {
    if (!store) open();
    store?.tick();
    if (store) reason = '';
  } catch (error) {
    safely(() => fault(error));
  }
  try {
    state();
  } catch (error) {
    port.postMessage({ type: 'state', reason: explain(error, directory), total: 0, posted: 0 });
  }
}

const timer = setInterval(tick, TICK_MS);
tick();
port.on('message', (message) => {
  if (message.type === 'ask') answer(message);
  else {
    clearInterval(timer);
    store?.close();
    port.close();
  }
});

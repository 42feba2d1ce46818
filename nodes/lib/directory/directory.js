'use strict';
// One directory: its database, searches, values, answers and events.

const { randomUUID } = require('node:crypto');
const path = require('node:path');
const { Answering } = require('./answering');
const { Calls } = require('./calls');
const { EventStreams } = require('./event-streams');
const { Searches } = require('./searches');
const { Values } = require('./values');

/**
 * @typedef {object} DirectoryOptions
 * @property {string} directory folder, absolute
 * @property {number} maxThings
 * @property {number} keepDays
 * @property {number} maxAgeS
 * @property {number} askMs
 */

class Directory {
  /**
   * @param {DirectoryOptions} options
   * @param {object} parts
   * @param {import('./answering').NamedRoute[]} parts.routes
   * @param {(sentence: string) => void} parts.problem
   * @param {() => void} parts.changed called when the state has changed
   */
  constructor({ directory, maxThings, keepDays, maxAgeS, askMs }, { routes, problem, changed }) {
    /** Defaults of a question. */
    this.usual = { maxAgeS, askMs };
    /** Of this run, for ETags. */
    this.nonce = randomUUID().slice(0, 8);
    /** Of the thread with the database; reason: why it does not work, '' = it does. */
    this.state = { reason: '', total: 0, posted: 0 };
    this.values = new Values(maxThings);
    this.searches = new Searches(directory);
    this.calls = new Calls({
      file: path.join(__dirname, 'directory-worker.js'),
      name: 'seganet-directory',
      options: { directory, maxThings, keepDays },
      problem,
      onMessage: ({ type, events, sentence, ...state }) => {
        if (type === 'events') this.streams.send(events);
        else if (type === 'problem') problem(sentence);
        else {
          this.state = /** @type {any} */ (state);
          changed();
        }
      }
    });
    this.streams = new EventStreams((after) => this.ask('eventsAfter', { after }));
    this.answering = new Answering({
      find: (wanted) => this.ask('find', wanted),
      values: this.values,
      routes
    });
  }

  /** @param {string} what @param {object} input @returns {Promise<any>} */
  ask(what, input) {
    return this.calls.ask(what, input);
  }

  view() {
    const { reason, total, posted } = this.state;
    const { counters } = this.answering;
    return { reason, things: total, posted, devices: this.values.size, streams: this.streams.size, counters };
  }

  /** @returns {Promise<void>} */
  async close() {
    this.answering.close();
    this.streams.close();
    await Promise.all([this.searches.close(), this.calls.close()]);
  }
}

exports.Directory = Directory;

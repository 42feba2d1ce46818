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
   * @param {(device: string, text: string) => Promise<void>} parts.desire updates the shadow of a device; text: JSON
   */
  constructor({ directory, maxThings, keepDays, maxAgeS, askMs }, { routes, problem, changed, desire }) {
    this.desire = desire;
    /** Defaults of a question. */
    this.usual = { maxAgeS, askMs };
    /** Of this run, for ETags. */
    this.nonce = randomUUID().slice(0, 8);
    /** Of the thread with the database; reason: why it does not work, '' = it does. */
    this.state = { reason: '', total: 0, posted: 0 };
    /** Things that were not made because there are too many, by source. @type {Map<string, number>} */
    this.left = new Map();
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
        else if (type === 'replaced') this.searches.reopen();
        else {
          this.state = /** @type {any} */ (state);
          changed();
        }
      }
    });
    this.streams = new EventStreams((after, limit) => this.ask('eventsAfter', { after, limit }));
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

  /** @param {string} source @param {number} things that it has beyond the limit */
  leaveOut(source, things) {
    this.left.set(source, things);
  }

  view() {
    const { reason, total, posted } = this.state;
    const { counters } = this.answering;
    const { size: devices, forgotten } = this.values;
    const left = [...this.left.values()].reduce((sum, things) => sum + things, 0);
    return {
      reason,
      things: total,
      posted,
      left,
      devices,
      forgotten,
      streams: this.streams.size,
      counters
    };
  }

  /** @returns {Promise<void>} */
  async close() {
    this.answering.close();
    this.streams.close();
    await Promise.all([this.searches.close(), this.calls.close()]);
  }
}

exports.Directory = Directory;

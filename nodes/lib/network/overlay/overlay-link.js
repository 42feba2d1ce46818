'use strict';
// What an overlay network node has: the program, if the node starts it, the connection to it, and the nodes that follow
// it.

const { OverlayProgram } = require('./overlay-program');
const { OverlayWatch } = require('./overlay-watch');
const { controlSocket } = require('./places');

/** A program that this node starts joins the network first. */
const START_MS = 10000;

/**
 * @typedef {object} User
 * @property {(status: import('./peers').OverlayStatus) => void} onStatus
 * @property {(event: import('./peers').OverlayEvent) => void} onEvent
 * @property {(problem: string) => void} onState see OverlayWatch
 */

class OverlayLink {
  #program;
  #watch;
  /** @type {Set<User>} */
  #users = new Set();
  /** Why the services refuse this node, '' = they do not. */
  #refusal = '';
  /** Changes of the paths to peers. */
  pathChanges = 0;
  /** @type {import('./peers').OverlayStatus | null} the latest one; null = not connected */
  status = null;

  /**
   * @param {string} folder state of the program
   * @param {Omit<import('./overlay-program').ProgramOptions, 'folder'> | null} start null: the program runs already
   * @param {(sentence: string) => void} onProblem
   */
  constructor(folder, start, onProblem) {
    this.socket = controlSocket(folder);
    this.#program = start && new OverlayProgram({ ...start, folder }, { onProblem });
    this.#watch = new OverlayWatch(
      { socket: this.socket, graceMs: start ? START_MS : 0 },
      {
        onStatus: (status) => {
          this.status = status;
          const { isRefused, problem } = status.services;
          if (isRefused && problem !== this.#refusal)
            onProblem(`The services of the overlay refuse this node: ${problem}.`);
          this.#refusal = isRefused ? problem : '';
          for (const user of this.#users) user.onStatus(status);
        },
        onEvent: (event) => {
          if (event.event === 'path') this.pathChanges++;
          for (const user of this.#users) user.onEvent(event);
        },
        onState: (problem) => {
          if (problem) this.status = null;
          for (const user of this.#users) user.onState(problem);
        }
      }
    );
  }

  /** @returns {string | null} see OverlayWatch */
  get problem() {
    return this.#watch.problem;
  }

  open() {
    this.#program?.open();
    this.#watch.open();
  }

  /** @param {User} user @returns {() => void} ends it */
  follow(user) {
    this.#users.add(user);
    const { problem } = this.#watch;
    if (problem !== null) user.onState(problem);
    if (this.status) user.onStatus(this.status);
    return () => void this.#users.delete(user);
  }

  async close() {
    this.#users.clear();
    this.#watch.close();
    await this.#program?.close();
  }
}

exports.OverlayLink = OverlayLink;

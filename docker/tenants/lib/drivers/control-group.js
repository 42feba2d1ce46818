'use strict';
// The control group in which the tenants of an engine have theirs.

const { Refusal } = require('./engine-client');
const { parentOf, parentProblem } = require('./engine-limits');
const { chosenParent } = require('./engine-parent');

class ControlGroup {
  #options;
  /** Why the engine makes no groups elsewhere, '' = it does, or that is not known yet. */
  #refusal = '';
  /** What an administrator has chosen for all containers of the engine, '' = nothing. */
  #chosen = '';
  /** Why the engine refuses the group that was given, '' = it does not. */
  #problem = '';
  /** The group, '' = that of the engine. */
  parent = '';

  /**
   * @param {object} options
   * @param {'docker' | 'podman'} options.name
   * @param {string} options.socket
   * @param {string} [options.given] '' = that of the engine
   * @param {{ proc: string, config: string }} [options.places] where the processes and the configuration of Docker are
   */
  constructor(options) {
    this.#options = options;
  }

  /** @param {any} info the engine's /info @param {boolean} isRootless */
  learn(info, isRootless) {
    const { name, socket, given, places } = this.#options;
    this.#chosen = name === 'docker' && !isRootless ? chosenParent(socket, places) : '';
    this.parent = given ?? (this.#refusal ? '' : parentOf(info, { isRootless, chosen: this.#chosen }));
    this.#problem = parentProblem(info, given);
  }

  /**
   * Decides whether tenants can start in the engine's group, after one did not start.
   * @param {unknown} error
   * @returns {boolean} true: they are in that group from now on
   */
  isRefusedBy(error) {
    const isOurs = this.parent !== '' && this.#options.given === undefined;
    if (!isOurs || !(error instanceof Refusal) || !/cgroup/i.test(error.message)) return false;
    // The engine may not make groups there, for example in a user namespace.
    this.#refusal = error.message;
    this.parent = '';
    return true;
  }

  /** @returns {string} an administrator's group that the tenants are in, '' = there is none */
  get chosen() {
    return this.#options.given === undefined ? this.#chosen : '';
  }

  /** @returns {string} why tenants are in one group, '' = they are not */
  get shared() {
    const { name } = this.#options;
    return (
      this.#refusal &&
      `${name} makes no control groups for tenants beside those of other programs, so a busy tenant delays the others: ${this.#refusal}`
    );
  }

  /** @returns {string[]} sentences */
  get problems() {
    return [this.#problem, this.shared].filter(Boolean).map((each) => `${each}.`);
  }
}

exports.ControlGroup = ControlGroup;

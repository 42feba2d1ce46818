'use strict';
// Registers the messaging hooks of Node-RED for a Deliveries object, only while it is needed: each hook costs time for
// each message of every flow. Also finds the hooks of other packages.

const { asError } = require('../base/guard');

/** Begins the label of our hooks. They do not change messages, so they are no reason to avoid native wires. */
const LABEL = 'seganet-deliveries';

/** The hooks that see messages. */
const NAMES = ['onSend', 'preRoute', 'preDeliver', 'postDeliver', 'onReceive', 'postReceive', 'onComplete'];

/**
 * @typedef {import('./deliveries').Deliveries} Deliveries
 *
 * @typedef {object} Hooks RED.hooks
 * @property {(name: string, hook: (event: any) => void) => void} add
 * @property {(name: string) => void} remove
 * @property {(name: string) => boolean} has
 */

/** Our objects that have registered their hooks. @type {WeakMap<Hooks, Set<MessageHooks>>} */
const registered = new WeakMap();

class MessageHooks {
  #hooks;
  #deliveries;
  #label;
  #report;
  #isOn;
  /** Completions that were followed. @type {WeakSet<object>} */
  #completed;

  /**
   * @param {Hooks} hooks
   * @param {Deliveries} deliveries
   * @param {string} id unique among the objects of this class
   * @param {(error: Error) => void} report gets what a hook throws; Node-RED would stop the message
   */
  constructor(hooks, deliveries, id, report) {
    this.#hooks = hooks;
    this.#deliveries = deliveries;
    this.#label = `${LABEL}-${id.replace(/\W/g, '-')}`;
    this.#report = report;
    this.#isOn = false;
    this.#completed = new WeakSet();
  }

  /** @param {boolean} on */
  use(on) {
    if (on === this.#isOn) return;
    this.#isOn = on;
    const all = registered.get(this.#hooks) ?? new Set();
    registered.set(this.#hooks, all);
    if (on) {
      all.add(this);
      this.register();
    } else {
      all.delete(this);
      this.unregister();
    }
  }

  unregister() {
    this.#hooks.remove(`*.${this.#label}`);
  }

  register() {
    const deliveries = this.#deliveries;
    this.#add('preRoute', (event) => deliveries.onRoute(event));
    this.#add('preDeliver', (event) => deliveries.onDeliver(event));
    this.#add('onReceive', (event) => deliveries.onReceive(event));
    this.#add('postReceive', (event) => deliveries.onReceived(event));
    this.#add('onComplete', (event) => {
      // A hook that registers again behind a waiting hook of another package gets the same event again.
      if (this.#completed.has(event)) return;
      this.#completed.add(event);
      deliveries.onComplete(event);
    });
  }

  /** @param {string} name @param {(event: any) => void} hook */
  #add(name, hook) {
    // One parameter and no result: with others, Node-RED waits for the hook, or stops the message.
    this.#hooks.add(`${name}.${this.#label}`, (event) => {
      try {
        hook(event);
      } catch (error) {
        this.#report(asError(error));
      }
    });
  }
}

/**
 * @param {Hooks | undefined} hooks
 * @returns {string} name of a messaging hook that another package has registered, '' = there is none
 */
function foreignHook(hooks) {
  const find = () => NAMES.find((name) => hooks?.has(name)) ?? '';
  const found = find();
  const ours = (hooks && registered.get(hooks)) ?? new Set();
  if (!found || ours.size === 0) return found;
  // has() does not tell whose hooks there are. Without ours, it reports the others only. No message passes meanwhile.
  for (const own of ours) own.unregister();
  const foreign = find();
  for (const own of ours) own.register();
  return foreign;
}

exports.MessageHooks = MessageHooks;
exports.foreignHook = foreignHook;
exports.LABEL = LABEL;

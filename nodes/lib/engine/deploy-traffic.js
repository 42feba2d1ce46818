'use strict';
// The traffic between an engine and Node-RED in a deploy: it waits from the begin until the next plan is in use.

const { dividedBy } = require('./planner');

/** Longest wait for the MQTT sessions of the last run, before devices may connect. */
const RESTORE_MS = 10000;

class DeployTraffic {
  #host;
  #pump;
  #context;

  /**
   * @param {import('./host').EngineHost} host
   * @param {import('./pump').Pump} pump
   * @param {Pick<import('./host').HostContext, 'getNode' | 'warn'>} context
   */
  constructor(host, pump, context) {
    this.#host = host;
    this.#pump = pump;
    this.#context = context;
  }

  /** Call it when a deploy begins. */
  hold() {
    const { inbox, logins, deliveries } = this.#host;
    this.#pump.paused = true;
    inbox.waitForPlan = true;
    logins.hold();
    deliveries.hold();
  }

  /**
   * Call it when the nodes of the deploy exist.
   * @returns {Promise<unknown> | null} resolves when a plan can be applied; null: now
   */
  prepare() {
    for (const member of this.#host.members) member.renew();
    const { log } = this.#host;
    const parting = this.part();
    const owning = log?.owning ?? null;
    const restoring = owning ? owning.then(() => this.#restore()) : this.#restore();
    return parting && restoring ? Promise.all([parting, restoring]) : (parting ?? restoring);
  }

  /** Takes the uplinks from nodes that do not have them any more. @returns {Promise<unknown> | null} null: no wait */
  part() {
    const { uplinks, members } = this.#host;
    const wanted = members.flatMap(({ stage, uplink }) => (uplink ? [{ stage, ...uplink }] : []));
    return uplinks.part(wanted, dividedBy(members));
  }

  /** @returns {Promise<void> | null} resolves when the sessions of the last run are restored, or will not be */
  #restore() {
    const host = this.#host;
    const restoring = host.log?.restoring(RESTORE_MS) ?? null;
    return (
      restoring &&
      restoring.then((isRestored) => {
        if (isRestored || host.isClosed) return;
        host.engine.endRestore();
        this.#context.warn(
          `The sessions of MQTT devices could not be read within ${RESTORE_MS / 1000} s${host.log?.reason() ?? ''}. Devices that return begin new sessions.`
        );
      })
    );
  }

  /** Call it when a plan is in use after a deploy. */
  goOn() {
    const { inbox, logins, deliveries, commands } = this.#host;
    deliveries.resume((node) => this.#context.getNode(node.id) === node);
    inbox.waitForPlan = false;
    this.#pump.paused = false;
    logins.resume();
    commands.resume();
  }
}

exports.DeployTraffic = DeployTraffic;

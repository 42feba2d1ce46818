'use strict';
// Stages of a node that are not on the canvas: a tenants node divides records among its tenants, each with a batch
// stage and an uplink stage of its own.

const { TenantsLink } = require('./tenants-link');

/**
 * @typedef {import('../../../../native/index.js').StageSpec} StageSpec
 * @typedef {import('../file/tenants-file').Part} Part
 * @typedef {import('../uplink/tenants-thread').PlanTenant} PlanTenant
 *
 * @typedef {object} Division
 * @property {object} settings of the stage that divides: names, rates and budgets
 * @property {number[]} next the stages behind it, one a name
 * @property {StageSpec[]} stages all hidden ones
 * @property {PlanTenant[]} tenants
 * @property {string[]} logNames
 * @property {import('../../engine/plan-compiler').Trouble | null} trouble why it can take no records
 */

const MIB = 1048576;

/**
 * @param {Pick<import('../../engine/host').EngineHost, 'stageOf' | 'uplinks'>} host
 * @param {Part[]} parts
 * @param {object} batch the fields of a batch stage
 * @param {import('../../engine/plan-compiler').Trouble | null} trouble
 * @returns {Division}
 */
function divide(host, parts, batch, trouble) {
  /** @type {StageSpec[]} */
  const stages = [];
  /** @type {number[]} */
  const next = [];
  /** @type {PlanTenant[]} */
  const tenants = [];
  for (const { name } of parts) {
    const logName = TenantsLink.logName(name);
    // Not the ids of nodes: a tenant keeps its stages, and so its records, when the node is made again.
    const [id, stage] = [host.stageOf(`${logName} batch`), host.stageOf(logName)];
    const number = host.uplinks.numberOf(logName);
    stages.push(/** @type {StageSpec} */ ({ id, kind: 'batch', next: [stage], messages: false, ...batch }), {
      id: stage,
      kind: 'uplink',
      next: [],
      messages: false,
      uplink: number,
      name: logName
    });
    next.push(id);
    tenants.push({ name, number, stage });
  }
  const settings = {
    parts: parts.map(({ name }) => name),
    rates: parts.map(({ rate }) => rate),
    budgets: parts.map(({ waitingMiB }) => waitingMiB * MIB)
  };
  return {
    settings,
    next,
    stages,
    tenants,
    logNames: tenants.map(({ name }) => TenantsLink.logName(name)),
    trouble
  };
}

module.exports = { divide };

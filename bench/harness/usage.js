'use strict';
// Resource use of a run between two snapshots: the measured system by process, and the harness.

const { machineTimes, machineUse } = require('./machine');
const { readCpu, readGroup, readThreads, threadUse } = require('./proc');

/** @typedef {ReturnType<typeof snapshot>} Snapshot */

/** @param {import('../runs/stage').Stage} stage */
function snapshot(stage) {
  const system = stage.system?.children ?? [];
  const cloud = stage.cloud?.child;
  return {
    ms: Date.now(),
    machine: machineTimes(),
    system: system.map(({ pid }) => ({ cpuSeconds: readCpu(pid), threads: readThreads([pid]) })),
    harness: [...stage.tools, ...(cloud ? [cloud] : [])].map(({ name, pid }) => ({
      name,
      cpuSeconds: readGroup(pid).cpuSeconds
    }))
  };
}

/** @param {Snapshot} before @param {Snapshot} after @param {string[]} names of the system's process groups */
function usage(before, after, names) {
  const seconds = (after.ms - before.ms) / 1000;
  const parts = names.map((part, i) => {
    const [from, to] = [before.system[i], after.system[i]];
    const threads = threadUse(from.threads, to.threads, seconds);
    const switches = threads.map(
      ({ wakesPerSecond, preemptedPerSecond }) => wakesPerSecond + preemptedPerSecond
    );
    return {
      part,
      cores: (to.cpuSeconds - from.cpuSeconds) / seconds,
      switchesPerS: switches.reduce((sum, each) => sum + each, 0),
      threads: threads.filter(({ cores }) => cores >= 0.001)
    };
  });
  const harness = after.harness.map(({ name, cpuSeconds }) => {
    const began = before.harness.find((each) => each.name === name);
    return { name, cores: Math.max(0, cpuSeconds - (began?.cpuSeconds ?? 0)) / seconds };
  });
  return { parts, harness, machine: machineUse(before.machine, after.machine) };
}

module.exports = { snapshot, usage };

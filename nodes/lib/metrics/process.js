'use strict';
// Metrics of the whole process, which is Node-RED with all its nodes. The names are those that Prometheus's client
// libraries use for the same figures: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics

/**
 * @typedef {object} ProcessView
 * @property {number} cpuSeconds of all threads, since the start
 * @property {number} residentBytes
 * @property {number} startedAt seconds since 1970
 * @property {number} now the clock, seconds since 1970
 * @property {boolean | null} isSynchronized null = unknown
 * @property {number} loopDelaySeconds longest delay of the event loop in the last minute
 */

/** @param {import('./text').Exposition} out @param {ProcessView} view */
function addProcess(out, { cpuSeconds, residentBytes, startedAt, now, isSynchronized, loopDelaySeconds }) {
  out
    .counter('process_cpu_seconds_total', 'CPU time of the whole process, in all threads.')
    .add({}, cpuSeconds);
  out.gauge('process_resident_memory_bytes', 'Resident memory of the whole process.').add({}, residentBytes);
  out.gauge('process_start_time_seconds', 'When the process started, since 1970.').add({}, startedAt);
  out.gauge('seganet_clock_seconds', "The gateway's clock at the scrape, since 1970.").add({}, now);
  out
    .gauge(
      'seganet_clock_synchronized',
      '1 if a service such as chrony keeps the clock right; from the kernel.'
    )
    .add({}, isSynchronized);
  out
    .gauge(
      'seganet_event_loop_delay_seconds',
      "Longest time in the last minute for which Node-RED's event loop was blocked."
    )
    .add({}, loopDelaySeconds);
}

exports.addProcess = addProcess;

'use strict';
// The rows of a range as text: NDJSON, CSV, JSON, or the JSON of Grafana. Pure.

/** @typedef {import('./series-reader').Answer} Answer */

/** @param {string} text @returns {string} a field of CSV (RFC 4180) */
function field(text) {
  // A spreadsheet would run a text that begins like a formula.
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** @param {Answer} answer @param {boolean} hasSteps */
function csv({ series }, hasSteps) {
  const lines = [hasSteps ? 'ts,device,name,mean,min,max,count' : 'ts,device,name,value'];
  for (const { device, name, columns } of series) {
    const { ts, value, low, high, count } = columns;
    const key = `${field(device)},${field(name)}`;
    for (let i = 0; i < ts.length; i++) {
      const tail = hasSteps ? `,${low[i]},${high[i]},${count[i]}` : '';
      lines.push(`${new Date(ts[i]).toISOString()},${key},${value[i]}${tail}`);
    }
  }
  return lines.join('\r\n') + '\r\n';
}

/** @param {Answer} answer @param {boolean} hasSteps */
function ndjson({ series }, hasSteps) {
  let text = '';
  for (const { device, name, columns } of series) {
    const { ts, value, low, high, count } = columns;
    const key = `"device":${JSON.stringify(device)},"name":${JSON.stringify(name)}`;
    for (let i = 0; i < ts.length; i++)
      text += hasSteps
        ? `{"ts":${ts[i]},${key},"mean":${value[i]},"min":${low[i]},"max":${high[i]},"count":${count[i]}}\n`
        : `{"ts":${ts[i]},${key},"value":${value[i]}}\n`;
  }
  return text;
}

/** @param {Answer} answer @returns {string} for the data source "JSON" of Grafana */
function grafana({ series }) {
  const targets = series.map(({ device, name, columns: { ts, value } }) => ({
    target: `${device}|${name}`,
    datapoints: Array.from(ts, (at, i) => [value[i], at])
  }));
  return JSON.stringify(targets);
}

const TYPES = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  grafana: 'application/json; charset=utf-8'
};

/**
 * @param {Answer} answer
 * @param {keyof typeof TYPES} format
 * @param {boolean} hasSteps
 * @returns {{ type: string, text: string, next: number | null }}
 */
function textOf(answer, format, hasSteps) {
  const text = { csv, ndjson, grafana }[format](answer, hasSteps);
  return { type: TYPES[format], text, next: answer.next };
}

module.exports = { textOf };

'use strict';
// The Grafana dashboard and the alert rules: well formed, and about metrics and labels that exist.

const fs = require('node:fs');
const path = require('node:path');
const { documentedMetrics, usesOf } = require('../../fixtures/gateway/metrics-page');
const { CASES } = require('../../system/prometheus/alert-cases');

const docs = path.join(__dirname, '..', '..', '..', 'docs');
const dashboard = JSON.parse(fs.readFileSync(path.join(docs, 'grafana/seganet-gateway.json'), 'utf8'));
const rules = fs.readFileSync(path.join(docs, 'prometheus/seganet-alerts.yml'), 'utf8');
const metrics = documentedMetrics();

/** Prometheus adds them to each sample. */
const TARGET = ['instance', 'job'];

/** @param {string} expression @returns {string[]} what does not exist */
function unknownIn(expression) {
  const { selectors, grouping } = usesOf(expression);
  const known = new Set(TARGET);
  const problems = selectors.flatMap(({ metric, labels }) => {
    if (metric === 'up') return [];
    const found = metrics.get(metric) ?? metrics.get(metric.replace(/_(count|sum)$/, ''));
    if (!found) return [metric];
    for (const label of found.labels) known.add(label);
    return labels.filter((label) => !TARGET.includes(label) && !found.labels.includes(label));
  });
  return [...problems, ...grouping.filter((label) => !known.has(label))];
}

test('recognizes a metric, a label and a grouping that do not exist', () => {
  expect(unknownIn('sum by (engine) (rate(seganet_records_received_total{instance="a"}[5m]))')).toEqual([]);
  expect(unknownIn('rate(seganet_no_such_total[5m]) > 0')).toEqual(['seganet_no_such_total']);
  expect(unknownIn('seganet_devices{class="3"}')).toEqual(['class']);
  expect(unknownIn('sum by (engine, worker) (seganet_devices)')).toEqual(['worker']);
  expect(unknownIn('seganet_devices and on (instance) nonsense')).toEqual(['nonsense']);
});

describe('the dashboard', () => {
  const panels = dashboard.panels;
  const charts = panels.filter((/** @type {any} */ { type }) => type !== 'row');

  test('has what an import into Grafana needs', () => {
    expect(dashboard).toMatchObject({ uid: 'seganet-gateway', title: 'SegaNet Gateway', id: null });
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    const ids = panels.map((/** @type {any} */ { id }) => id);
    expect(new Set(ids).size).toBe(panels.length);
    for (const panel of charts) {
      expect(['timeseries', 'stat', 'gauge', 'state-timeline']).toContain(panel.type);
      expect(panel).toMatchObject({
        title: expect.stringMatching(/./),
        description: expect.stringMatching(/\.$/),
        datasource: { type: 'prometheus', uid: '${datasource}' },
        fieldConfig: { defaults: { unit: expect.stringMatching(/./) }, overrides: [] }
      });
      const refs = panel.targets.map((/** @type {any} */ { refId }) => refId);
      expect(refs.length).toBeGreaterThan(0);
      expect(new Set(refs).size).toBe(refs.length);
    }
  });

  test('places its panels in 24 columns without overlaps', () => {
    const taken = new Map();
    for (const { id, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect(x + w).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          const cell = `${column},${line}`;
          expect([cell, taken.get(cell)]).toEqual([cell, undefined]);
          taken.set(cell, id);
        }
      }
    }
  });

  test('uses only variables that it defines, or that Grafana has', () => {
    const own = dashboard.templating.list.map((/** @type {any} */ { name }) => name);
    expect(own).toEqual(['datasource', 'instance', 'engine']);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)\}?/g)].map(([, name]) => name);
    const known = new Set([...own, '__rate_interval', '__range', '__all']);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test.each(
    charts.flatMap((/** @type {any} */ { title, targets }) =>
      targets.map((/** @type {any} */ { expr, refId }) => [`${title} ${refId}`, expr])
    )
  )('asks only for metrics and labels that exist: %s', (_title, expression) => {
    expect(unknownIn(expression)).toEqual([]);
  });

  test('has a panel for each of these', () => {
    const text = JSON.stringify(charts);
    const shown = [
      ...['seganet_devices', 'records_received_total', 'records_delivered_total', 'records_in_memory'],
      ...['delivery_latency_seconds', 'records_dropped_total', 'session_state', 'records_backlog'],
      ...['log_bytes', 'log_dead_letters', 'worker_busy_ratio', 'resident_memory_bytes', 'cpu_seconds_total'],
      ...['deferred_records', 'deliveries_total'],
      ...['ocf_devices_on', 'ocf_requests_total', 'ocf_attempts_refused_total', 'ocf_store_seconds'],
      ...['ocf_http_requests_total', 'ocf_http_streams', 'ocf_endpoints'],
      ...['kafka_source_state', 'kafka_source_lag_records', 'kafka_retried_records_total'],
      ...['kafka_dead_letter_records_total', 'kafka_partitions_in_flight']
    ];
    expect(shown.filter((name) => !text.includes(name))).toEqual([]);
  });
});

describe('the alert rules', () => {
  const names = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name);
  const page = fs.readFileSync(path.join(docs, 'reference', 'metrics.md'), 'utf8');

  test('are each tested, firing and not firing, and documented', () => {
    expect(names).toEqual(Object.keys(CASES));
    for (const { fires, quiet } of Object.values(CASES)) {
      expect(fires.length).toBeGreaterThan(0);
      expect(quiet.length).toBeGreaterThan(0);
    }
    const rows = [...page.matchAll(/^\| `(Seganet\w+)`/gm)].map(([, name]) => name);
    expect(rows).toEqual(names);
  });

  const expressions = rules
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => {
      const [, expression] = /^ {8}expr: (?:>-\n)?([\s\S]*?)(?=^ {8}(?:for|labels):)/m.exec(text) ?? [];
      return [text.split('\n')[0], expression];
    });
  test.each(expressions)('ask only for metrics and labels that exist: %s', (_name, expression) => {
    expect(expression).toMatch(/\w/);
    expect(unknownIn(expression)).toEqual([]);
  });
});

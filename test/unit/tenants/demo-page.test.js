'use strict';
// The page of a tenant of the demo: what records leave in it, and what of them its HTML shows.

const { keepValue, pageOf } = require('../../../flows/demo/tenants/page');

/** @param {object[]} messages */
function kept(...messages) {
  const values = {};
  for (const each of messages) keepValue(values, each);
  return values;
}
const page = (/** @type {object} */ values) =>
  pageOf({ tenant: 'acme', user: 'alice', values: /** @type {any} */ (values), now: 5000 });

test('keeps the latest value of a device and topic, and its last 60 numbers', () => {
  const many = Array.from({ length: 70 }, (_, i) => ({ deviceId: 'a', topic: 't', payload: `${i}`, ts: i }));
  const values = kept(
    ...many,
    { deviceId: 'a', topic: 't', payload: 'off', ts: 90 },
    { deviceId: 'b', topic: 't' }
  );
  const [first, second] = Object.values(values);
  expect(first).toMatchObject({ device: 'a', text: 'off', ts: 90 });
  expect([first.line.length, first.line[0], first.line[59]]).toEqual([60, 10, 69]);
  expect(second).toMatchObject({ device: 'b', text: '', line: [] });
});

test('shows a card for each value, with its age and a line, in the order of the devices', () => {
  const html = page(
    kept(
      { deviceId: 'pump-10', topic: 't', payload: '3', ts: 4000 },
      { deviceId: 'pump-2', topic: 't', payload: '1', ts: 1000 },
      { deviceId: 'pump-2', topic: 't', payload: '2', ts: 2000 }
    )
  );
  expect(html.match(/class="device">[^<]*/g)).toEqual(['class="device">pump-2', 'class="device">pump-10']);
  expect(html).toContain('<strong>2</strong>');
  expect(html).toContain('d="M0.0 18.5L59.0 1.5h0.01"');
  expect(html).toContain('3 s ago');
});

test('shows hostile devices, topics and payloads as text', () => {
  const image = '<img src=x onerror="alert(1)">';
  const html = page(kept({ deviceId: image, topic: `${image}'`, payload: image, ts: 0 }));
  expect(html).not.toContain('<img');
  expect(html.match(/&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;/g)).toHaveLength(3);
});

test('says that there is no value yet', () => {
  expect(page({})).toContain('No value yet since the tenant was woken.');
});

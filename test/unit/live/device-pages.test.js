'use strict';
// What a viewer may ask for, and the page of devices that it gets.

const { DevicePages, MAX_DEVICES } = require('../../../nodes/lib/live/device-pages');
const { parseLiveQuery } = require('../../../nodes/lib/live/live-query');

const agent = (device, more = {}) => ({
  device,
  node: 'n1',
  name: 'field',
  protocol: 'mqtt',
  connected: true,
  listening: false,
  class: 3,
  records: 1,
  bytes: 1,
  ratePerS: 1,
  silentMs: 10,
  address: '',
  bridge: '',
  worker: 0,
  ...more
});
/** A registry as the engine's: sorted by id, in pages; it counts its calls. */
function registryOf(agents) {
  const registry = {
    calls: 0,
    page(after, limit) {
      registry.calls++;
      const begin = after === '' ? 0 : agents.findIndex(({ device }) => device === after) + 1;
      const rows = agents.slice(begin, begin + limit);
      return { agents: rows, next: rows.length === limit ? rows[rows.length - 1].device : null };
    }
  };
  return registry;
}
const queryOf = (given) => /** @type {any} */ (parseLiveQuery(given).devices);
const ids = ({ rows }) => rows.map(({ device }) => device);
const numbered = (count) =>
  Array.from({ length: count }, (_, index) => agent(`d${String(index).padStart(6, '0')}`));

describe('a query', () => {
  test('asks for the first page of all devices by default', () => {
    expect(parseLiveQuery({})).toEqual({
      engine: '',
      devices: { q: '', sort: 'device', descending: false, page: 1, size: 25 },
      cloud: null,
      tenants: null
    });
  });

  test('asks for a page of an OCF cloud only if the query names it', () => {
    const page = { node: '', show: 'devices', q: '', page: 1, size: 25 };
    expect(parseLiveQuery({ ocf: 'on' }).cloud).toEqual(page);
    expect(
      parseLiveQuery({ ocf: 'on', ocfNode: 'n', ocfShow: 'users', ocfQ: 'ALICE', ocfPage: '3' }).cloud
    ).toEqual({ ...page, node: 'n', show: 'users', q: 'ALICE', page: 3 });
    expect(parseLiveQuery({ ocfShow: 'users' }).cloud).toBeNull();
  });

  test('requests a page of the tenants only if the query asks for it', () => {
    const page = { show: 'all', q: '', chosen: '', page: 1, size: 25 };
    expect(parseLiveQuery({ tenants: 'on' }).tenants).toEqual(page);
    const all = { tenantsShow: 'trouble', tenantsQ: 'AC', tenant: 'acme', tenantsPage: '2' };
    expect(parseLiveQuery({ tenants: 'on', ...all }).tenants).toEqual({
      ...page,
      show: 'trouble',
      q: 'ac',
      chosen: 'acme',
      page: 2
    });
    expect(parseLiveQuery(all).tenants).toBeNull();
  });

  test.each([
    [{ tenants: '1' }, 'tenants must be on or off.'],
    [{ tenants: 'on', tenantsShow: 'x' }, 'tenantsShow must be one of all, awake, asleep, trouble.'],
    [{ tenants: 'on', tenant: 'x'.repeat(65) }, 'tenant must be a text of at most 64 characters.'],
    [{ devices: 'maybe' }, 'devices must be on or off.'],
    [{ ocf: '1' }, 'ocf must be on or off.'],
    [{ ocf: 'on', ocfShow: 'tokens' }, 'ocfShow must be one of devices, on, users.'],
    [{ ocf: 'on', ocfPage: '0' }, 'ocfPage must be a number from 1 to 100000.'],
    [{ ocf: 'on', ocfQ: 'x'.repeat(257) }, 'ocfQ must be a text of at most 256 characters.'],
    [{ ocf: 'on', ocfNode: ['a'] }, 'ocfNode must be a text of at most 64 characters.'],
    [{ sort: 'password' }, /^sort must be one of device,/],
    [{ page: '0' }, 'page must be a number from 1 to 100000.'],
    [{ page: '1e3' }, 'page must be a number from 1 to 100000.'],
    [{ size: '101' }, 'size must be a number from 1 to 100.'],
    [{ q: 'x'.repeat(257) }, 'q must be a text of at most 256 characters.'],
    [{ q: ['a', 'b'] }, 'q must be a text of at most 256 characters.'],
    [{ q: { a: 1 } }, 'q must be a text of at most 256 characters.'],
    [{ engine: 'x'.repeat(65) }, 'engine must be a text of at most 64 characters.']
  ])('refuses %j', (given, sentence) => {
    expect(() => parseLiveQuery(given)).toThrow(RangeError);
    expect(() => parseLiveQuery(given)).toThrow(sentence);
  });
});

describe('a page of devices', () => {
  test('has the rows of that page only, and the last page instead of one beyond it', () => {
    const pages = new DevicePages(registryOf(numbered(60)), () => 0);
    const second = pages.page(queryOf({ page: '2' }));
    expect(second).toMatchObject({ known: 60, found: 60, page: 2, pages: 3, cut: false });
    expect([ids(second)[0], ids(second).length]).toEqual(['d000025', 25]);
    expect(pages.page(queryOf({ page: '9' }))).toMatchObject({ page: 3, pages: 3 });
  });

  test('finds devices by id, node and protocol, without regard to case', () => {
    const all = [
      agent('Pump-1'),
      agent('x', { name: 'pumps' }),
      agent('y', { protocol: 'pumpcast' }),
      agent('z')
    ];
    const pages = new DevicePages(registryOf(all), () => 0);
    expect(ids(pages.page(queryOf({ q: 'PUMP' })))).toEqual(['Pump-1', 'x', 'y']);
    expect(pages.page(queryOf({ q: 'nothing' }))).toMatchObject({
      known: 4,
      found: 0,
      page: 1,
      pages: 1,
      rows: []
    });
  });

  test.each([
    ['device', ['a', 'b', 'c']],
    ['-device', ['c', 'b', 'a']],
    ['-rate', ['b', 'c', 'a']],
    ['class', ['b', 'a', 'c']],
    ['seen', ['b', 'c', 'a']]
  ])('is sorted by %s', (sort, wanted) => {
    const all = [
      agent('a', { ratePerS: 1, class: 3, silentMs: -1 }),
      agent('b', { ratePerS: 9, class: 1, silentMs: 5 }),
      agent('c', { ratePerS: 2, class: 3, silentMs: 70 })
    ];
    expect(ids(new DevicePages(registryOf(all), () => 0).page(queryOf({ sort })))).toEqual(wanted);
  });

  test('searches at most 50,000 devices, and reports the limit', () => {
    const pages = new DevicePages(registryOf(numbered(MAX_DEVICES + 1)), () => 0);
    expect(pages.page(queryOf({}))).toMatchObject({ known: MAX_DEVICES, cut: true });
    expect(new DevicePages(registryOf(numbered(MAX_DEVICES)), () => 0).page(queryOf({}))).toMatchObject({
      known: MAX_DEVICES,
      cut: false
    });
  });

  test('reads all devices once a second at most, and rests 200 times as long as a reading took', () => {
    let now = 0;
    const registry = registryOf(numbered(10));
    const slow = {
      page: (after, limit) => {
        now += 40;
        return registry.page(after, limit);
      }
    };
    const pages = new DevicePages(slow, () => now);
    pages.page(queryOf({ sort: '-rate' }));
    pages.page(queryOf({ q: 'd' }));
    expect(registry.calls).toBe(1);
    now = 7900;
    expect(pages.page(queryOf({ q: 'd' })).ageMs).toBe(7900);
    expect(registry.calls).toBe(1);
    now = 8000;
    expect(pages.page(queryOf({ q: 'd' })).ageMs).toBe(0);
    expect(registry.calls).toBe(2);
  });

  test('has the present rows of the plain list between two readings', () => {
    let now = 0;
    const all = numbered(60);
    const registry = registryOf(all);
    const pages = new DevicePages(
      {
        page: (after, limit) => {
          now += limit > 100 ? 40 : 0;
          return registry.page(after, limit);
        }
      },
      () => now
    );
    pages.page(queryOf({}));
    all[30] = agent(all[30].device, { records: 99 });
    now = 2000;
    const second = pages.page(queryOf({ page: '2' }));
    expect(second).toMatchObject({ known: 60, page: 2, ageMs: 0 });
    expect(second.rows[5]).toMatchObject({ device: 'd000030', records: 99 });
    expect(pages.page(queryOf({})).rows[0].device).toBe('d000000');
  });
});

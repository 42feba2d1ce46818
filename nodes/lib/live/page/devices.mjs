// The devices: searched, sorted and paged by the gateway, so that only one page of them crosses the network.

import { h, Table } from './dom.mjs';
import { count, duration, visible } from './format.mjs';
import { Pager, searchField } from './paging.mjs';

/** Rows of a page where there is little room. */
const FEW = 8;
/** Columns whose first press sorts from the largest value. */
const LARGEST_FIRST = ['rate', 'records'];

export class Devices {
  #t;
  #table;
  #search;
  #isShort;
  #pager;
  #changed;
  #sort = 'device';
  #descending = false;
  #page = 1;

  /** isShort: a page has few devices; changed(): called when the query has changed */
  constructor(t, id, { isShort, changed }) {
    this.#t = t;
    this.#isShort = isShort;
    this.#changed = changed;
    this.#search = searchField(id, 256, () => this.#turn(1));
    this.#table = new Table({
      label: t('section.devices'),
      none: t('devices.none'),
      onSort: (key) => this.#sortBy(key),
      columns: [
        { label: t('devices.device'), sort: 'device' },
        { label: t('devices.rate'), sort: 'rate', numeric: true },
        { label: t('devices.seen'), sort: 'seen', numeric: true },
        { label: t('devices.class'), sort: 'class', numeric: true },
        { label: t('devices.protocol'), sort: 'protocol' },
        { label: t('devices.worker'), sort: 'worker', numeric: true },
        { label: t('devices.records'), sort: 'records', numeric: true },
        { label: t('devices.node'), sort: 'node' },
        { label: t('devices.state') },
        { label: t('devices.address') }
      ]
    });
    this.#pager = new Pager(t, (step) => this.#turn(this.#page + step));
    this.element = h(
      'div',
      {},
      h(
        'p',
        { class: 'controls', role: 'search' },
        h('label', { for: id }, t('devices.search')),
        this.#search
      ),
      this.#table.element,
      this.#pager.element
    );
    this.#table.sorted(this.#sort, this.#descending);
  }

  /** The members of the stream's query. */
  get query() {
    const sort = `${this.#descending ? '-' : ''}${this.#sort}`;
    const size = this.#isShort ? { size: String(FEW) } : {};
    return { devices: 'on', q: this.#search.value, sort, page: String(this.#page), ...size };
  }

  #turn(page) {
    this.#page = Math.max(1, page);
    this.#changed();
  }

  #sortBy(key) {
    this.#descending = key === this.#sort ? !this.#descending : LARGEST_FIRST.includes(key);
    this.#sort = key;
    this.#table.sorted(key, this.#descending);
    this.#turn(1);
  }

  update({ devicePage: found, workers }) {
    if (!found) return;
    const t = this.#t;
    this.#page = found.page;
    const age = found.ageMs >= 2000 ? t('devices.age', { time: duration(found.ageMs) }) : '';
    const cut = found.cut ? t('devices.cut', { number: found.known }) : '';
    const told = { page: found.page, pages: found.pages, found: found.found, known: found.known };
    this.#pager.show(found.page, found.pages, t('devices.page', told), age, cut);
    this.#table.update(found.rows.map((row) => this.#row(row, workers)));
  }

  #state({ connected, listening, reads, drops }) {
    const t = this.#t;
    if (!connected) return { text: t('devices.away'), state: 'off' };
    if (reads === 0) return { text: t(listening ? 'devices.listening' : 'devices.connected'), state: 'ok' };
    if (drops === 0) return { text: t('devices.reads', { filters: reads }), state: 'ok' };
    return { text: t('devices.drops', { filters: reads, drops: count(drops) }), state: 'warn' };
  }

  #row(row, workers) {
    const t = this.#t;
    const core = workers[row.worker]?.core ?? -1;
    return [
      visible(row.device),
      count(row.ratePerS),
      duration(row.silentMs),
      row.class === 0 ? '–' : String(row.class),
      visible(row.protocol),
      row.worker < 0
        ? '–'
        : core < 0
          ? String(row.worker)
          : t('devices.onCore', { worker: row.worker, core }),
      count(row.records),
      visible(row.name || row.node),
      this.#state(row),
      row.bridge ? t('devices.via', { bridge: visible(row.bridge) }) : visible(row.address)
    ];
  }
}

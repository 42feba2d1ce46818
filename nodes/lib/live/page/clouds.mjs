// The OCF clouds: one of them at a time, with its devices and users, which the gateway searches and pages, the latest
// refused requests, and two actions.

import { Confirm } from './confirm.mjs';
import { h, setText, Table } from './dom.mjs';
import { count, duration, visible } from './format.mjs';
import { Pager, searchField } from './paging.mjs';
import { regions } from './regions.mjs';
import { facts, markOf, word } from './sections.mjs';

const SHOWS = ['devices', 'on', 'users'];
const FACTS = [
  ...['state', 'devices', 'on', 'connections', 'store', 'storeTime', 'forwarded', 'observations'],
  ...['endpoints', 'http', 'attempts', 'reused']
];

export class Clouds {
  #t;
  #ask;
  #onLogin;
  #changed;
  #cloud;
  #cloudRow;
  #facts;
  #regions;
  #search;
  #show;
  #devices;
  #users;
  #refused;
  #pager;
  #user;
  #make;
  #told;
  #code;
  #confirm;
  #page = 1;
  #engine = null;

  /**
   * ask(path, body): sends a request to the gateway, path: below its folder; returns { status, value }. onLogin():
   * called when the login may not change anything; returns false if there is no way to log in here. changed(): called
   * when the query has changed
   */
  constructor({ t, id, ask, onLogin, changed }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#changed = changed;
    this.#cloud = h('select', { id: id('ocf-cloud'), onchange: () => this.#turn(1) });
    this.#cloudRow = h(
      'p',
      { class: 'controls' },
      h('label', { for: id('ocf-cloud') }, t('ocf.cloud')),
      this.#cloud
    );
    this.#facts = facts(t, 'ocf', FACTS);
    this.#regions = regions(t);
    this.#confirm = new Confirm(t);
    this.#told = h('p', { class: 'note', role: 'status' });
    this.#code = h('p', { hidden: true });
    this.#addTables();
    this.#pager = new Pager(t, (step) => this.#turn(this.#page + step));
    this.element = h(
      'div',
      {},
      this.#cloudRow,
      this.#facts.element,
      this.#regions.element,
      this.#searchRow(id),
      this.#devices.element,
      this.#users.element,
      this.#pager.element,
      this.#codeRow(id),
      this.#confirm.element,
      this.#told,
      this.#code,
      h('h3', {}, t('ocf.refused')),
      this.#refused.element
    );
  }

  #addTables() {
    const t = this.#t;
    const columns = (group, names) => names.map((name) => ({ label: t(`${group}.${name}`) }));
    this.#devices = new Table({
      label: t('ocf.devices'),
      none: t('ocf.none'),
      columns: [
        ...columns('ocf', ['device', 'user', 'name', 'presence', 'since']),
        { label: t('ocf.links'), numeric: true },
        ...columns('ocf', ['type', 'address', 'action'])
      ]
    });
    this.#users = new Table({
      label: t('ocf.users'),
      none: t('ocf.none'),
      columns: [
        ...columns('ocf', ['user']),
        { label: t('ocf.devices'), numeric: true },
        ...columns('ocf', ['created'])
      ]
    });
    this.#refused = new Table({
      label: t('ocf.refused'),
      none: t('ocf.noneRefused'),
      columns: columns('ocf', ['at', 'request', 'code', 'reason', 'address', 'device'])
    });
  }

  #searchRow(id) {
    const t = this.#t;
    this.#search = searchField(id('ocf-search'), 256, () => this.#turn(1));
    const options = SHOWS.map((value) => h('option', { value }, t(`ocf.show.${value}`)));
    this.#show = h('select', { id: id('ocf-show'), onchange: () => this.#turn(1) }, ...options);
    return h(
      'p',
      { class: 'controls', role: 'search' },
      h('label', { for: id('ocf-show') }, t('ocf.shown')),
      this.#show,
      h('label', { for: id('ocf-search') }, t('ocf.search')),
      this.#search
    );
  }

  #codeRow(id) {
    const t = this.#t;
    const onkeydown = (event) => {
      if (event.key !== 'Enter') return;
      // Otherwise the same key presses the button that gets the focus.
      event.preventDefault();
      this.#askCode();
    };
    const user = { id: id('ocf-user'), type: 'text', maxlength: '128', autocomplete: 'off', onkeydown };
    this.#user = h('input', user);
    this.#make = h('button', { type: 'button', onclick: () => this.#askCode() }, t('ocf.makeCode'));
    return h(
      'p',
      { class: 'controls' },
      h('label', { for: user.id }, t('ocf.codeFor')),
      this.#user,
      this.#make
    );
  }

  /** The members of the stream's query. */
  get query() {
    return {
      ocf: 'on',
      ocfNode: this.#cloud.value ?? '',
      ocfShow: this.#show.value,
      ocfQ: this.#search.value,
      ocfPage: String(this.#page)
    };
  }

  isPresent = ({ clouds = [] }) => clouds.length > 0;

  #turn(page) {
    this.#page = Math.max(1, page);
    this.#changed();
  }

  update({ engine, clouds, cloudPage: page, at }) {
    this.#showClouds(clouds);
    const cloud = clouds.find(({ node }) => node === this.#cloud.value) ?? clouds[0];
    if (!cloud) return;
    const place = `${engine} ${cloud.node}`;
    if (place !== this.#engine) {
      this.#engine = place;
      this.#confirm.cancel();
      this.#tell('');
      // Buttons in rows of another cloud would act on this one.
      this.#devices.update([]);
      this.#users.update([]);
      this.#pager.show(1, 1);
      this.#page = 1;
      this.#changed();
    }
    this.#showFacts(cloud);
    this.#regions.update(cloud.region ?? null, at);
    this.#make.disabled = !cloud.isOpen;
    this.#refused.update((cloud.refused ?? []).map((row) => this.#refusedRow(row)));
    // A page of before another choice may still arrive.
    if (page?.node === cloud.node && (page.show === this.#show.value || page.error)) this.#showPage(page, at);
  }

  #showClouds(clouds) {
    const wanted = clouds.map(({ node, name }) => [node, visible(name || node)]);
    const select = this.#cloud;
    const shown = [...select.options].map(({ value, text }) => [value, text]);
    if (JSON.stringify(shown) !== JSON.stringify(wanted)) {
      const before = select.value;
      select.replaceChildren(...wanted.map(([value, text]) => h('option', { value }, text)));
      if (clouds.some(({ node }) => node === before)) select.value = before;
    }
    this.#cloudRow.hidden = clouds.length < 2;
  }

  #showFacts(cloud) {
    const t = this.#t;
    const list = this.#facts;
    const { isOpen, store, http, observations, attempts } = cloud;
    const state = isOpen ? 'up' : 'down';
    list.set('state', t(isOpen ? 'ocf.open' : 'ocf.closed'), markOf(state));
    list.set('devices', isOpen ? `${count(cloud.devices)} / ${count(cloud.mostDevices)}` : '–');
    for (const name of ['on', 'connections', 'forwarded', 'endpoints']) list.set(name, count(cloud[name]));
    list.set(
      'observations',
      isOpen ? count(observations.route + observations.presence + observations.topic) : '–'
    );
    list.set('store', isOpen ? word(t, 'state', store.state) : '–', isOpen ? markOf(store.state) : '');
    list.set('storeTime', isOpen ? `${duration(store.readMs)} / ${duration(store.writeMs)}` : '–');
    const isHttp = http?.port > 0;
    const httpText = http
      ? t('ocf.httpOpen', { port: http.port, streams: count(http.streams) })
      : t('ocf.noHttp');
    list.set(
      'http',
      http && !isHttp ? visible(http.trouble) : httpText,
      http ? markOf(isHttp ? 'up' : 'down') : ''
    );
    const wrong = isOpen ? attempts.wrong + attempts.limited : null;
    list.set('attempts', count(wrong), wrong > 0 ? 'warn' : '');
    list.set('reused', count(cloud.tokensReused), cloud.tokensReused > 0 ? 'bad' : '');
  }

  #refusedRow({ at, request, code, reason, address, di }) {
    return [
      this.#time(at),
      visible(request),
      visible(code),
      visible(reason),
      visible(address),
      visible(di) || '–'
    ];
  }

  #time(ms) {
    return new Date(ms).toLocaleString(this.#t.language);
  }

  #showPage(page, at) {
    const t = this.#t;
    if (page.error) return this.#pager.show(1, 1, t('ocf.failed', { reason: visible(page.error) }));
    const isUsers = page.show === 'users';
    this.#devices.element.hidden = isUsers;
    this.#users.element.hidden = !isUsers;
    this.#page = page.page;
    const told = { page: page.page, pages: page.pages, found: page.found, known: page.known };
    const age = page.ageMs >= 2000 ? t('devices.age', { time: duration(page.ageMs) }) : '';
    const text = t(isUsers ? 'ocf.userPages' : 'ocf.pages', told);
    this.#pager.show(page.page, page.pages, text, age);
    if (isUsers) this.#users.update(page.rows.map((row) => this.#userRow(row)));
    else this.#devices.update(page.rows.map((row) => this.#deviceRow(row, at)));
  }

  #userRow({ user, devices, created }) {
    return [visible(user), count(devices), this.#time(created)];
  }

  #deviceRow(row, at) {
    const t = this.#t;
    return [
      visible(row.di),
      visible(row.user),
      visible(row.name) || '–',
      this.#presence(row),
      row.on && row.since > 0
        ? { text: duration(Math.max(0, at - row.since)), title: this.#time(row.since) }
        : '–',
      count(row.links),
      visible(row.kind) || '–',
      visible(row.address || row.region) || '–',
      {
        action: t('ocf.delete'),
        label: t('ocf.deleteOne', { device: visible(row.di) }),
        disabled: false,
        key: row.di,
        onPress: this.#askDelete
      }
    ];
  }

  /** A device may be signed in at another region. */
  #presence({ on, state }) {
    const t = this.#t;
    if (on) return { text: t('ocf.isOn'), state: 'ok' };
    if (state === 'on') return { text: t('ocf.isElsewhere'), state: 'ok' };
    if (state === 'unknown') return { text: t('ocf.isUnknown'), state: 'warn' };
    return { text: t('ocf.isOff'), state: 'off' };
  }

  #askDelete = (di) => {
    const t = this.#t;
    const text = t('ocf.sureDelete', { device: visible(di) });
    this.#confirm.ask(text, t('ocf.delete'), () => void this.#delete(di));
  };

  #askCode() {
    const t = this.#t;
    const user = this.#user.value.trim();
    if (user === '' || this.#make.disabled) return;
    const text = t('ocf.sureCode', { user: visible(user) });
    this.#confirm.ask(text, t('ocf.makeCode'), () => void this.#makeCode(user));
  }

  async #delete(di) {
    const value = await this.#send('delete', { device: di });
    if (!value) return;
    this.#tell(this.#t(value.deleted ? 'ocf.deleted' : 'ocf.notThere', { device: visible(di) }));
    this.#changed();
  }

  async #makeCode(user) {
    const value = await this.#send('codes', { user });
    if (!value) return;
    const t = this.#t;
    this.#tell(t('ocf.madeCode', { user: visible(user), time: this.#time(value.expires) }));
    this.#code.replaceChildren(h('code', {}, value.code));
    this.#code.hidden = false;
  }

  /** Returns the answer, or null after it showed why there is none. */
  async #send(action, body) {
    const t = this.#t;
    this.#tell(t('ocf.sending'));
    const path = `ocf/${encodeURIComponent(this.#cloud.value)}/${action}`;
    const { status, value } = await this.#ask(path, body).catch(() => ({ status: 0, value: null }));
    if (status === 200) return value;
    if (status === 401 || status === 403) this.#tell(t(this.#onLogin() ? 'ocf.login' : 'ocf.readOnly'));
    else this.#tell(visible(value?.error ?? t('deadLetters.failed')));
    return null;
  }

  /** Shows a text, and hides the code of before. */
  #tell(text) {
    setText(this.#told, text);
    this.#code.replaceChildren();
    this.#code.hidden = true;
  }
}

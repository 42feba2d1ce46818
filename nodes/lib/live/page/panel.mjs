// The live view: the same component in the page and in the editor's sidebar.

import { Audit } from './audit.mjs';
import { Charts } from './charts.mjs';
import { Clouds } from './clouds.mjs';
import { LiveConnection } from './connection.mjs';
import { DeadLetters } from './dead-letters.mjs';
import { Devices } from './devices.mjs';
import { h, setText } from './dom.mjs';
import { Events } from './events.mjs';
import { flowPicture } from './flow-picture.mjs';
import { count, visible } from './format.mjs';
import { healthLine } from './health.mjs';
import { kafka } from './kafka.mjs';
import { Logins } from './logins.mjs';
import { overlay } from './overlay.mjs';
import { OverlayServices } from './overlay-services.mjs';
import { SECTIONS, markOf, nodeText, summary } from './sections.mjs';
import { Tenants } from './tenants.mjs';
import { Values } from './values.mjs';

/** Sections that only read the snapshot, in their order. */
const [UPLINKS, ...OTHERS] = SECTIONS;
const PARTS = [['flow', flowPicture], UPLINKS, ['kafka', kafka], ['overlay', overlay], ...OTHERS];
/** Sections that are open at first in the sidebar, and on a phone; elsewhere the page opens all. */
const OPEN_IN_SIDEBAR = ['uplinks', 'tenants', 'classes'];
const OPEN_ON_PHONE = ['flow', 'charts', 'values', 'tenants'];
const PHONE = '(max-width: 600px)';
/** Sections that need half of the width of a page. */
const SMALL = ['batches', 'log', 'workers', 'commands'];
/** Sections that are closed at first everywhere: each reads more than the stream has. */
const CLOSED = ['overlayServices', 'logins', 'audit'];
/** Sections that a flow may not need. */
const OPTIONAL = ['kafka', 'overlay', 'overlayServices', 'tenants', 'ocf'];

export class Panel {
  #t;
  #connection;
  #engines;
  #state;
  #told;
  #announcer;
  #selected;
  #selection = null;
  #health;
  #summary;
  #parts;
  #devices;
  #deadLetters;
  #clouds;
  #tenants;
  #charts;
  #values;
  #events;
  #audit;
  #logins;
  #overlayServices;
  #details;
  #isWanted = false;
  #announced = new Map();
  #body;

  /**
   * t: returns a text; root: folder of the page's files; token(): the login; isSidebar; onLogin(mayWrite): called when
   * a login is needed, one that may also change something or one that reads; returns false if there is no way to log in
   */
  constructor({ t, root, token, isSidebar = false, onLogin = () => false }) {
    this.#t = t;
    this.#connection = new LiveConnection({
      url: `${root}live`,
      token,
      handlers: {
        snapshot: (snapshot) => this.#show(snapshot),
        history: (history) => this.#charts.history(history),
        state: (state) => {
          this.#showState(state);
          if (state === 'login') onLogin(false);
        }
      }
    });
    const id = (name) => `seganet-live-${name}`;
    this.#engines = h('select', { id: id('engine'), onchange: () => this.#restart() });
    this.#state = h('span', { class: 'state' });
    this.#announcer = h('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' });
    this.#selected = h('p', { class: 'selected', hidden: true });
    this.#health = healthLine(t);
    this.#summary = summary(t);
    this.#parts = PARTS.map(([name, make]) => ({ name, ...make(t) }));
    const isNarrow = isSidebar || matchMedia(PHONE).matches;
    this.#devices = new Devices(t, id('search'), { isShort: isNarrow, changed: () => this.#restart() });
    const ask = (path, body) => askGateway(`${root}${path}`, token(), body);
    const askLetters = (engine, query, body) =>
      ask(`engines/${encodeURIComponent(engine)}/dead-letters${query}`, body);
    this.#deadLetters = new DeadLetters({ t, ask: askLetters, onLogin: () => onLogin(true) });
    const changed = () => this.#restart();
    this.#clouds = new Clouds({ t, id, ask, onLogin: () => onLogin(true), changed });
    this.#tenants = new Tenants({
      t,
      id,
      root,
      isShort: isSidebar,
      ask,
      changed,
      onLogin: () => onLogin(true)
    });
    this.#charts = new Charts(t, id('range'));
    const size = isNarrow ? 3 : 12;
    this.#values = new Values({ t, id, root, token, ask, size, onLogin: () => onLogin(true) });
    this.#events = new Events({ t, id, ask, onLogin: () => onLogin(true) });
    this.#overlayServices = new OverlayServices({ t, id, ask, onLogin: () => onLogin(true) });
    this.#logins = new Logins({ t, id, ask, onLogin: () => onLogin(true) });
    this.#audit = new Audit({ t, ask, onLogin: () => onLogin(true) });
    const [flow, uplinks, ...others] = this.#parts;
    const all = [
      flow,
      { name: 'charts', element: this.#charts.element },
      { name: 'values', element: this.#values.element },
      { name: 'events', element: this.#events.element },
      uplinks,
      { name: 'tenants', element: this.#tenants.element },
      ...others
    ];
    all.push({ name: 'deadLetters', element: this.#deadLetters.element });
    all.push({ name: 'devices', element: this.#devices.element });
    all.push({ name: 'ocf', element: this.#clouds.element });
    all.push({ name: 'overlayServices', element: this.#overlayServices.element });
    all.push({ name: 'logins', element: this.#logins.element });
    all.push({ name: 'audit', element: this.#audit.element });
    this.#details = new Map(
      all.map(({ name, element }) => {
        const openAtFirst = isSidebar ? OPEN_IN_SIDEBAR : OPEN_ON_PHONE;
        const open = isNarrow ? openAtFirst.includes(name) : !CLOSED.includes(name);
        const title = h('summary', {}, h('h2', {}, t(`section.${name}`)));
        // A flow may have neither.
        const hidden = OPTIONAL.includes(name);
        const attributes = {
          open,
          hidden,
          'data-section': name,
          class: SMALL.includes(name) ? 'small' : null
        };
        return [name, h('details', attributes, title, element)];
      })
    );
    const { devices, ocf, tenants: section, charts, values } = Object.fromEntries(this.#details);
    for (const each of [devices, ocf, section]) each.addEventListener('toggle', () => this.#restart());
    values.addEventListener('toggle', () => this.#followValues());
    charts.addEventListener('toggle', () => this.#charts.draw());
    this.#told = h('p', { class: 'note' });
    const head = h('p', { class: 'controls' });
    head.append(h('label', { for: id('engine') }, t('engine')), this.#engines, this.#state);
    const sections = h('div', { class: 'sections' }, ...this.#details.values());
    this.#body = h('div', { hidden: true }, this.#summary.element, sections);
    this.element = h('div', { class: 'seganet-live' });
    this.element.append(head, this.#health.element, this.#announcer, this.#selected, this.#told, this.#body);
  }

  /** Starts or stops the stream. Call it when the panel becomes visible or hidden. */
  setVisible(isVisible) {
    this.#isWanted = isVisible;
    if (isVisible) {
      this.#showState('connecting');
      this.#restart();
    } else this.#connection.stop();
    this.#followValues();
  }

  /** Opens the stream again. Call it when there is another login. */
  reconnect() {
    this.#connection.stop();
    this.#restart();
    this.#values.setVisible(false);
    this.#followValues();
  }

  /** What changes is read only while it is seen. */
  #followValues() {
    this.#values.setVisible(this.#isWanted && this.#details.get('values').open);
  }

  /**
   * Shows what the editor has selected: { node: id, engine: id } for a node, with `to` for a wire to that node; null =
   * nothing.
   */
  select(selection) {
    this.#selection = selection;
    this.#selected.hidden = selection === null;
    setText(this.#selected, selection ? this.#t('selected.waiting') : '');
    const { engine } = selection ?? {};
    if (!engine || engine === this.#engines.value) return;
    if ([...this.#engines.options].some(({ value }) => value === engine)) {
      this.#engines.value = engine;
      this.#restart();
    }
  }

  #restart() {
    if (!this.#isWanted) return;
    const devices = this.#details.get('devices').open ? this.#devices.query : { devices: 'off' };
    const isShown = (name) => {
      const { open, hidden } = this.#details.get(name);
      return open && !hidden;
    };
    const clouds = isShown('ocf') ? this.#clouds.query : {};
    const tenants = isShown('tenants') ? this.#tenants.query : {};
    this.#connection.start({ engine: this.#engines.value ?? '', ...devices, ...clouds, ...tenants });
  }

  #showState(state) {
    setText(this.#state, this.#t(`connection.${state}`));
    // A live stream says nothing about the gateway: the line below does.
    this.#state.dataset.state = { live: 'off', connecting: 'warn' }[state] ?? 'bad';
    if (state !== 'live') this.#health.update(null);
    if (state !== 'connecting') this.#announce('connection', state, this.#t(`connection.${state}`));
  }

  /** Tells a screen reader that a state has changed; the first state of anything is no change. */
  #announce(what, state, text) {
    const before = this.#announced.get(what);
    this.#announced.set(what, state);
    if (before !== undefined && before !== state) setText(this.#announcer, text);
  }

  #show(snapshot) {
    this.#showEngines(snapshot);
    const isRunning = snapshot.summary !== undefined;
    this.#body.hidden = !isRunning;
    this.#health.update(isRunning ? snapshot : null);
    const { engines, engine } = snapshot;
    const { reason = '' } = engines.find(({ id }) => id === engine) ?? {};
    const trouble =
      engine === null
        ? this.#t('noEngine')
        : this.#t('notRunning', { reason: visible(this.#t.inWords(reason)) });
    this.#told.hidden = isRunning;
    setText(this.#told, isRunning ? '' : trouble);
    if (!isRunning) return;
    this.#summary.update(snapshot);
    // A closed section costs nothing.
    for (const { name, update, isPresent = () => true } of this.#parts) {
      const details = this.#details.get(name);
      details.hidden = !isPresent(snapshot);
      if (details.open && !details.hidden) update(snapshot);
    }
    this.#showPaged('ocf', this.#clouds, snapshot);
    this.#showPaged('tenants', this.#tenants, snapshot);
    if (this.#details.get('deadLetters').open) this.#deadLetters.update(snapshot);
    if (this.#details.get('events').open) this.#events.update(snapshot);
    const services = this.#details.get('overlayServices');
    services.hidden = !snapshot.overlayServices;
    if (services.open && !services.hidden) this.#overlayServices.update(snapshot);
    if (this.#details.get('logins').open) this.#logins.update(snapshot);
    if (this.#details.get('audit').open) this.#audit.update(snapshot);
    this.#devices.update(snapshot);
    this.#values.update(snapshot);
    this.#charts.add(snapshot);
    this.#showSelected(snapshot);
    this.#reportChanges(snapshot);
  }

  /** A section with a page of a list, which the stream must be asked for. */
  #showPaged(name, section, snapshot) {
    const details = this.#details.get(name);
    const before = details.hidden;
    details.hidden = !section.isPresent(snapshot);
    if (details.open && !details.hidden) section.update(snapshot);
    if (before !== details.hidden) this.#restart();
  }

  #showEngines({ engines, engine }) {
    const wanted = engines.map(({ id, name }) => [id, visible(name || id)]);
    const select = this.#engines;
    const shown = [...select.options].map(({ value, text }) => [value, text]);
    if (JSON.stringify(shown) !== JSON.stringify(wanted))
      select.replaceChildren(...wanted.map(([value, text]) => h('option', { value }, text)));
    if (engine !== null && select.value !== engine) select.value = engine;
  }

  #showSelected({ nodes }) {
    if (!this.#selection) return;
    const t = this.#t;
    const { node: id, to } = this.#selection;
    const node = nodes.find((each) => each.id === id);
    if (!node) return setText(this.#selected, t('selected.unknown'));
    const rate = count(node.outPerS);
    const wire = to && node.wires.find((each) => each.to === to);
    if (wire) {
      const carriage = t(`carriage.${wire.carriage}`);
      const why = wire.reason ? t('selected.why', { reason: visible(t.inWords(wire.reason)) }) : '';
      return setText(this.#selected, `${t('selected.wire', { carriage, rate })} ${why}`.trim());
    }
    const carriage = t(`carriage.${node.carriage}`);
    const told = { node: nodeText(node), carriage, in: count(node.inPerS), out: rate };
    setText(this.#selected, t(node.wires.length > 0 ? 'selected.node' : 'selected.end', told));
  }

  #reportChanges({ uplinks, summary: { slowedFrom, waitsFor }, log }) {
    const t = this.#t;
    for (const { broker, name, state } of uplinks) {
      const text = t.optional(`state.${state}`) ?? state;
      this.#announce(`uplink ${broker}`, state, t('told.uplink', { name: visible(name), state: text }));
    }
    if (log) {
      const text = t.optional(`state.${log.state}`) ?? log.state;
      this.#announce('log', log.state, t('told.log', { state: text }));
    }
    this.#announce('slowed', slowedFrom, t(slowedFrom > 0 ? 'told.slowed' : 'told.notSlowed'));
    this.#announce(
      'waits',
      waitsFor,
      waitsFor ? t('summary.waits', { reason: visible(t.inWords(waitsFor)) }) : ''
    );
    const worst = uplinks.map(({ state }) => markOf(state));
    this.element.dataset.worst = ['bad', 'warn'].find((mark) => worst.includes(mark)) ?? 'ok';
  }
}

/** Sends a request with the login, and the body as JSON if there is one. Returns { status, value }. */
async function askGateway(url, token, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const options = body
    ? {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { ...headers, 'content-type': 'application/json' }
      }
    : { headers };
  const response = await fetch(url, { ...options, cache: 'no-store' });
  return { status: response.status, value: await response.json().catch(() => null) };
}

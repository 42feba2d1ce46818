// The tenants of the gateway: one page of them, which the gateway searches, and one tenant with what an operator may
// do.

import { h, setText, Table } from './dom.mjs';
import { bytes, count, duration, visible } from './format.mjs';
import { Pager, searchField } from './paging.mjs';
import { Templates } from './templates.mjs';
import { OneTenant, backupMark, backupText, stateOf } from './tenant.mjs';

const SHOWS = ['all', 'trouble', 'awake', 'asleep'];
const STATES = ['awake', 'paused', 'asleep', 'waking', 'leaving', 'waiting', 'retrying', 'failed', 'unknown'];
/** Those that are counted although there are none. */
const ALWAYS = ['awake', 'paused', 'asleep'];
/** Tenants in the sidebar. */
const FEW = 5;

export class Tenants {
  #t;
  #isShort;
  #changed;
  #told;
  #counts;
  #note;
  #search;
  #show;
  #table;
  #pager;
  #one = null;
  #templates = null;
  #page = 1;
  #node = null;

  /**
   * isShort: only the counts and those in trouble, with a link to the page. ask(path, body): sends a request to the
   * gateway, path: below its folder; returns { status, value }. onLogin(): called when the login may not change
   * anything; returns false if there is no way to log in here. changed(): called when the query has changed
   */
  constructor({ t, id, root, isShort, ask, onLogin, changed }) {
    this.#t = t;
    this.#isShort = isShort;
    this.#changed = changed;
    this.#told = h('p', { class: 'alert', hidden: true });
    this.#counts = h('p');
    this.#note = h('p', { class: 'note', hidden: true });
    this.element = h('div', {}, this.#told, this.#counts);
    if (isShort) this.#addShort(root);
    else this.#addLong(id, ask, onLogin);
  }

  #addShort(root) {
    const t = this.#t;
    this.#table = new Table({
      label: t('section.tenants'),
      columns: ['tenant', 'state', 'reason'].map((name) => ({ label: t(`tenants.${name}`) }))
    });
    const link = { href: root, target: '_blank', rel: 'noopener' };
    this.element.append(this.#table.element, h('p', {}, h('a', link, t('tenants.openPage'))));
  }

  #addLong(id, ask, onLogin) {
    const t = this.#t;
    const texts = ['tenant', 'state'];
    const numbers = ['waiting', 'perS', 'memory', 'lastWake', 'refused'];
    this.#table = new Table({
      label: t('section.tenants'),
      none: t('tenants.none'),
      columns: [
        ...texts.map((name) => ({ label: t(`tenants.${name}`) })),
        ...numbers.map((name) => ({ label: t(`tenants.${name}`), numeric: true })),
        ...['backup', 'driver', 'reason'].map((name) => ({ label: t(`tenants.${name}`) }))
      ]
    });
    const choose = (name) => {
      this.#one.choose(name);
      this.#changed();
    };
    this.#choose = choose;
    this.#one = new OneTenant({ t, id, ask, onLogin, changed: () => this.#changed() });
    this.#templates = new Templates({ t, id, ask, onLogin });
    this.#pager = new Pager(t, (step) => this.#turn(this.#page + step));
    this.element.append(
      this.#note,
      this.#searchRow(id),
      this.#table.element,
      this.#pager.element,
      this.#one.element,
      this.#templates.element
    );
  }

  #choose = () => {};

  #searchRow(id) {
    const t = this.#t;
    this.#search = searchField(id('tenants-search'), 64, () => this.#turn(1));
    const options = SHOWS.map((value) => h('option', { value }, t(`tenants.show.${value}`)));
    this.#show = h('select', { id: id('tenants-show'), onchange: () => this.#turn(1) }, ...options);
    return h(
      'p',
      { class: 'controls', role: 'search' },
      h('label', { for: id('tenants-show') }, t('tenants.shown')),
      this.#show,
      h('label', { for: id('tenants-search') }, t('tenants.search')),
      this.#search
    );
  }

  /** The members of the stream's query. */
  get query() {
    if (this.#isShort) return { tenants: 'on', tenantsShow: 'trouble' };
    return {
      tenants: 'on',
      tenantsShow: this.#show.value,
      tenantsQ: this.#search.value,
      tenantsPage: String(this.#page),
      tenant: this.#one.name
    };
  }

  isPresent = ({ tenants = null }) => tenants !== null;

  #turn(page) {
    this.#page = Math.max(1, page);
    this.#changed();
  }

  update({ tenants: node, tenantPage: page, mayWrite, at }) {
    if (!this.#isShort && node !== this.#node) {
      this.#node = node;
      this.#one.use(node);
      this.#templates.use(node);
      this.#table.update([]);
      this.#page = 1;
      this.#changed();
    }
    // A page of before another choice may still arrive.
    if (!page || page.node !== node) return;
    const t = this.#t;
    const problem = page.keeperProblem || page.fileProblem;
    this.#told.hidden = problem === '';
    setText(
      this.#told,
      problem && `${t(page.keeperProblem ? 'tenants.away' : 'tenants.file')} ${visible(problem)}`
    );
    if (!page.isRead) return setText(this.#counts, t('tenants.reading'));
    setText(this.#counts, this.#countsText(page));
    if (this.#isShort) return this.#showFew(page);
    this.#note.hidden = page.strangers === 0;
    setText(this.#note, t('tenants.strangers', { number: count(page.strangers) }));
    this.#one.update(page.chosen, { mayWrite, at });
    this.#templates.update(page.templates, { mayWrite });
    if (page.show === this.#show.value) this.#showPage(page, at);
  }

  #countsText({ counts }) {
    return STATES.filter((state) => counts[state] > 0 || ALWAYS.includes(state))
      .map((state) => `${count(counts[state])} ${this.#t(`tenants.is.${state}`)}`)
      .join(' · ');
  }

  #showFew({ rows, show }) {
    const few = show === 'trouble' ? rows.slice(0, FEW) : [];
    this.#table.element.hidden = few.length === 0;
    this.#table.update(
      few.map((row) => [visible(row.name), stateOf(this.#t, row), visible(row.reason) || '–'])
    );
  }

  #showPage(page, at) {
    const t = this.#t;
    this.#page = page.page;
    const { page: number, pages, found, known, ageMs } = page;
    const age = ageMs >= 3000 ? t('devices.age', { time: duration(ageMs) }) : '';
    this.#pager.show(number, pages, t('tenants.page', { page: number, pages, found, known }), age);
    this.#table.update(page.rows.map((row) => this.#row(row, at)));
  }

  #row(row, at) {
    const t = this.#t;
    const { lastWake, backup, isolated } = row;
    return [
      {
        action: visible(row.name),
        label: t('tenants.open', { tenant: visible(row.name) }),
        disabled: false,
        key: row.name,
        onPress: this.#choose
      },
      stateOf(t, row),
      bytes(row.waitingBytes),
      count(row.perS),
      bytes(row.memoryBytes),
      lastWake ? t('tenants.ago', { time: duration(Math.max(0, at - lastWake.at)) }) : '–',
      { text: count(row.refused), state: row.refused > 0 ? 'warn' : null },
      backup
        ? { text: backupText(t, backup, at), state: backupMark(backup), title: visible(backup.reason) }
        : '–',
      isolated === false
        ? { text: t('tenants.notIsolated', { driver: visible(row.driver) }), state: 'warn' }
        : visible(row.driver) || '–',
      visible(row.reason) || '–'
    ];
  }
}

// The services of an overlay network: its nodes, page by page, invitations, the policy, and the audit log. A login that
// may change something gets a form that invites a node, and buttons that revoke one.

import { Confirm } from './confirm.mjs';
import { h, setText, Table } from './dom.mjs';
import { duration, visible } from './format.mjs';
import { Pager, searchField } from './paging.mjs';
import { OverlayLog } from './overlay-log.mjs';
import { OverlayPolicy } from './overlay-policy.mjs';

const PAUSE_MS = 5000;
/** The next reading waits for this many times as long as the last one took, at most MAX_PAUSE_MS. */
const REST = 20;
const MAX_PAUSE_MS = 30_000;
const HOURS = [1, 24, 168];

export class OverlayServices {
  #t;
  #ask;
  #onLogin;
  #told;
  #made;
  #command;
  #login;
  #confirm;
  #counts;
  #search;
  #nodes;
  #pager;
  #form;
  #name;
  #groups;
  #hours;
  #invitations;
  #policy;
  #log;
  #mayWrite = false;
  #page = 1;
  #overview = null;
  #readAt = -Infinity;
  #pauseMs = PAUSE_MS;
  /** Of the latest reading; an answer to an earlier one is not shown. */
  #reading = 0;
  #isReading = false;

  /** See Events. */
  constructor({ t, id, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    const table = (label, none, names) =>
      new Table({ label, none, columns: names.map((name) => ({ label: t(`overlayServices.${name}`) })) });
    const words = ['name', 'state', 'address', 'version', 'groups', 'devices', 'certificate', 'action'];
    this.#nodes = table(t('overlayServices.nodes'), t('overlayServices.none'), words);
    const open = ['name', 'groups', 'until', 'action'];
    this.#invitations = table(t('overlayServices.invitations'), t('overlayServices.noInvitation'), open);
    this.#told = h('p', { class: 'note', role: 'status' });
    this.#counts = h('p');
    // The line has a token: it is shown once, and not announced.
    this.#command = h('code');
    const copy = h('button', { type: 'button', onclick: () => void this.#copy() }, t('overlayServices.copy'));
    this.#made = h('p', { class: 'controls', hidden: true }, this.#command, copy);
    this.#login = h('button', { type: 'button', onclick: () => this.#onLogin() }, t('logins.login'));
    this.#confirm = new Confirm(t);
    const send = (path, body, told) => this.#change(path, body, told);
    this.#policy = new OverlayPolicy({ t, id, ask: (path, body) => this.#try(path, body), send });
    this.#log = new OverlayLog({ t, ask: (path) => this.#try(path) });
    const heading = (key) => h('h3', {}, t(`overlayServices.${key}`));
    this.#pager = new Pager(t, (step) => this.#turn(this.#page + step));
    this.element = h(
      'div',
      {},
      h('p', { class: 'controls' }, this.#told, this.#login),
      this.#made,
      this.#confirm.element,
      ...[this.#counts, this.#searchRow(id), this.#nodes.element, this.#pager.element],
      ...[heading('invitations'), this.#inviteForm(id), this.#invitations.element],
      ...[heading('policy'), this.#policy.element, this.#log.element]
    );
  }

  #searchRow(id) {
    const t = this.#t;
    this.#search = searchField(id('overlay-search'), 64, () => this.#turn(1));
    const label = h('label', { for: id('overlay-search') }, t('overlayServices.search'));
    return h('p', { class: 'controls', role: 'search' }, label, this.#search);
  }

  #inviteForm(id) {
    const t = this.#t;
    const text = (key) => h('input', { id: id(`overlay-${key}`), maxlength: '400', autocomplete: 'off' });
    [this.#name, this.#groups] = [text('name'), text('groups')];
    const option = (hours) => h('option', { value: hours }, t(`overlayServices.hours.${hours}`));
    this.#hours = h('select', { id: id('overlay-hours') }, ...HOURS.map(option));
    const invite = () => void this.#invite(this.#name.value, this.#groups.value);
    for (const input of [this.#name, this.#groups])
      input.addEventListener('keydown', ({ key }) => key === 'Enter' && invite());
    // A label stays beside its field where there is little room.
    const field = (key, element) =>
      h('span', { class: 'controls' }, h('label', { for: element.id }, t(`overlayServices.${key}`)), element);
    this.#form = h(
      'div',
      { class: 'controls', role: 'group', 'aria-label': t('overlayServices.invite'), hidden: true },
      ...[field('name', this.#name), field('groups', this.#groups), field('valid', this.#hours)],
      h('button', { type: 'button', onclick: invite }, t('overlayServices.invite'))
    );
    return this.#form;
  }

  /** Reads the page from time to time. Call it while the section is open. */
  update({ mayWrite }) {
    if (mayWrite !== this.#mayWrite) {
      this.#mayWrite = mayWrite;
      this.#show();
    }
    this.#login.hidden = mayWrite;
    this.#form.hidden = !mayWrite;
    this.#policy.update({ mayWrite });
    this.#log.update({ mayWrite });
    if (!this.#isReading && performance.now() - this.#readAt >= this.#pauseMs) void this.#read();
  }

  #turn(page) {
    this.#page = Math.max(1, page);
    void this.#read();
  }

  async #read() {
    const number = ++this.#reading;
    this.#isReading = true;
    this.#readAt = performance.now();
    const query = new URLSearchParams({ q: this.#search.value.trim(), page: this.#page });
    const { status, value } = await this.#try(`overlay-services?${query}`);
    if (number !== this.#reading) return;
    this.#isReading = false;
    const rest = REST * (performance.now() - this.#readAt);
    this.#pauseMs = Math.min(MAX_PAUSE_MS, Math.max(PAUSE_MS, rest));
    if (status !== 200) {
      this.#overview = null;
      setText(this.#counts, visible(value?.error ?? this.#t('events.failed')));
    } else {
      this.#overview = value;
      this.#page = value.page;
    }
    this.#show();
  }

  #try(path, body) {
    return this.#ask(path, body).catch(() => ({ status: 0, value: null }));
  }

  #show() {
    const t = this.#t;
    const { nodes = [], invitations = { open: [], more: 0 }, page = 1, pages = 1 } = this.#overview ?? {};
    if (this.#overview) {
      // Services of an earlier version suspend no node.
      const { network, version, online, offline, revoked, suspended = 0, found } = this.#overview;
      const names = { network: visible(network), version: visible(version) };
      const told = { ...names, online, offline, revoked, suspended };
      setText(this.#counts, t('overlayServices.counts', told));
      this.#pager.show(page, pages, t('overlayServices.page', { page, pages, found }));
    } else this.#pager.show(1, 1);
    this.#nodes.update(nodes.map((node) => this.#nodeRow(node)));
    const more =
      invitations.more > 0 ? [[t('overlayServices.more', { number: invitations.more }), '', '', '']] : [];
    this.#invitations.update([
      ...invitations.open.map(({ id, name, groups, expires }) => [
        visible(name),
        visible(groups?.join(', ')) || '–',
        this.#time(expires),
        this.#button('withdraw', name, id, this.#askWithdraw)
      ]),
      ...more
    ]);
  }

  /** Returns the cell of a button; only a login that may change something has it. */
  #button(action, name, key, onPress) {
    if (!this.#mayWrite) return '–';
    const text = this.#t(`overlayServices.${action}`);
    return { action: text, label: `${text}: ${visible(name)}`, disabled: false, key, onPress };
  }

  #nodeRow(node) {
    const { name, groups, devices, revoked, suspended, from, version, expires, seen } = node;
    const revoke = this.#button('revoke', name, name, this.#askRevoke);
    return [
      visible(name),
      this.#stateOf(node),
      visible(from) || '–',
      visible(version) || (seen ? this.#t('overlayServices.unknown') : '–'),
      visible(groups?.join(', ')) || '–',
      String(devices),
      revoked ? '–' : this.#time(expires),
      revoked
        ? this.#button('inviteAgain', name, name, this.#inviteAgain)
        : suspended && this.#mayWrite
          ? [this.#button('resume', name, name, this.#askResume), revoke]
          : revoke
    ];
  }

  #stateOf({ online, seen, revoked, reason, expires, suspended, twice, twiceFrom = [] }) {
    const t = this.#t;
    if (revoked) {
      const title = visible(`${this.#time(revoked)} ${reason ?? ''}`.trim());
      const why = reason ? `: ${visible(reason)}` : '';
      return { text: `${t('overlayServices.is.revoked')}${why}`, state: 'off', title };
    }
    if (suspended || twice) {
      const places = visible(twiceFrom.join(', '));
      const text = t(`overlayServices.is.${suspended ? 'suspended' : 'twice'}`, { places });
      return { text, state: 'bad', title: this.#time(suspended || twice) };
    }
    if (Date.parse(expires) < Date.now()) return { text: t('overlayServices.is.expired'), state: 'bad' };
    if (online) return { text: t('overlayServices.is.online'), state: 'ok', title: this.#time(seen) };
    if (!seen) return { text: t('overlayServices.is.never'), state: 'off' };
    const time = duration(Math.max(0, Date.now() - Date.parse(seen)));
    return { text: t('overlayServices.is.offline', { time }), state: 'warn', title: this.#time(seen) };
  }

  #time = (at) => new Date(at).toLocaleString(this.#t.language);

  async #invite(name, groups) {
    const t = this.#t;
    const body = { name: name.trim(), groups: groups.split(/[\s,]+/).filter(Boolean) };
    const value = await this.#change('invite', { ...body, hours: Number(this.#hours.value) });
    if (!value) return;
    this.#name.value = '';
    const told = { name: visible(value.name), time: this.#time(value.expires) };
    setText(this.#told, t('overlayServices.invited', told));
    setText(this.#command, value.command);
    this.#made.hidden = false;
  }

  /** Fills the form in for a node that was revoked. */
  #inviteAgain = (name) => {
    const node = this.#overview?.nodes.find((each) => each.name === name);
    if (!node) return;
    this.#name.value = name;
    this.#groups.value = node.groups?.join(' ') ?? '';
    setText(this.#told, this.#t('overlayServices.newKeys', { name: visible(name) }));
    this.#name.focus();
  };

  #askRevoke = (name) => {
    const t = this.#t;
    const text = t('overlayServices.sureRevoke', { name: visible(name) });
    this.#confirm.ask(text, t('overlayServices.revoke'), async () => {
      if (await this.#change('revoke', { name }))
        setText(this.#told, t('overlayServices.revoked', { name: visible(name) }));
    });
  };

  #askResume = (name) => {
    const t = this.#t;
    const text = t('overlayServices.sureResume', { name: visible(name) });
    this.#confirm.ask(text, t('overlayServices.resume'), async () => {
      if (await this.#change('resume', { name }))
        setText(this.#told, t('overlayServices.resumed', { name: visible(name) }));
    });
  };

  #askWithdraw = (id) => {
    const t = this.#t;
    const { name } = this.#overview?.invitations.open.find((each) => each.id === id) ?? {};
    const text = t('overlayServices.sureWithdraw', { name: visible(name) });
    this.#confirm.ask(text, t('overlayServices.withdraw'), async () => {
      if (await this.#change('withdraw', { id }))
        setText(this.#told, t('overlayServices.withdrawn', { name: visible(name) }));
    });
  };

  async #copy() {
    const t = this.#t;
    try {
      await navigator.clipboard.writeText(this.#command.textContent);
      setText(this.#told, t('overlayServices.copied'));
    } catch {
      // A page of plain HTTP has no clipboard.
      getSelection().selectAllChildren(this.#command);
      setText(this.#told, t('overlayServices.selected'));
    }
  }

  /** Sends a change. Returns the answer, null = it failed, and `told` says why. */
  async #change(path, body, told = this.#told) {
    this.#made.hidden = true;
    setText(this.#told, '');
    setText(this.#command, '');
    const { status, value } = await this.#try(`overlay-services/${path}`, body);
    if (status === 401 || status === 403) {
      this.#onLogin();
      setText(told, visible(value?.error ?? this.#t('events.failed')));
      return null;
    }
    void this.#read();
    if (status === 200) return value;
    setText(told, visible(value?.error ?? this.#t('events.failed')));
    return null;
  }
}

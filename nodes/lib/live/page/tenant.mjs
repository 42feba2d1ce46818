// One tenant: all that is known of it, and what an operator may do: wake it, let it sleep, make a backup, read its
// output, remove it, and add and revoke its logins.

import { Confirm } from './confirm.mjs';
import { h, setText } from './dom.mjs';
import { bytes, count, duration, visible } from './format.mjs';
import { Logins } from './logins.mjs';
import { facts, word } from './sections.mjs';

const FACTS = [
  ...['state', 'reason', 'lastWake', 'waiting', 'waitingClasses', 'perS', 'refused', 'memory', 'data'],
  ...['leases', 'failures', 'backup', 'driver', 'template']
];
const LINES = 200;
const MARKS = {
  awake: 'ok',
  waking: 'warn',
  waiting: 'warn',
  retrying: 'warn',
  unknown: 'warn',
  failed: 'bad'
};
/** Escape sequences of terminals, such as colors. */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** Returns the state of a tenant for a cell. */
export const stateOf = (t, { state, busy }) => ({
  text: busy ? t(`tenants.busy.${busy}`) : t(`tenants.is.${state}`),
  state: busy ? 'warn' : (MARKS[state] ?? 'off')
});

/** Returns when a backup was made, or failed. */
export function backupText(t, { at: made, ok }, at) {
  return t(ok ? 'tenants.backupOk' : 'tenants.backupFailed', { time: duration(Math.max(0, at - made)) });
}

/** Returns the mark of a backup: a check that failed counts, too. */
export const backupMark = (backup) =>
  backup ? (backup.ok && backup.checked?.ok !== false ? 'ok' : 'bad') : '';

export class OneTenant {
  #t;
  #ask;
  #onLogin;
  #changed;
  #node = null;
  #title;
  #facts;
  #buttons = new Map();
  #actions;
  #readOnly;
  #confirm;
  #told;
  #log;
  #logins;
  #output;
  #state = '';

  constructor({ t, id, ask, onLogin, changed }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#changed = changed;
    /** Of the chosen tenant, '' = none. */
    this.name = '';
    this.#title = h('h3', { tabindex: '-1' });
    this.#facts = facts(t, 'tenants', FACTS);
    this.#confirm = new Confirm(t);
    this.#told = h('p', { class: 'note', role: 'status' });
    const button = (key, onclick) => {
      const made = h('button', { type: 'button', onclick }, t(`tenants.do.${key}`));
      this.#buttons.set(key, made);
      return made;
    };
    this.#actions = h(
      'p',
      { class: 'controls', hidden: true },
      button('wake', () => void this.#send('wake', {})),
      button('sleep', () => this.#askSleep()),
      button('backup', () => void this.#send('backup', {})),
      button('logs', () => void this.#send('logs', { lines: LINES })),
      button('remove', () => this.#askRemove())
    );
    const logIn = h('button', { type: 'button', onclick: () => this.#logIn() }, t('tenants.do.login'));
    this.#readOnly = h('p', { class: 'controls', hidden: true }, h('span', {}, t('tenants.readOnly')), logIn);
    const close = h('button', { type: 'button', onclick: () => this.#close() }, t('tenants.do.close'));
    this.#output = h('pre', { tabindex: '0', role: 'region', 'aria-label': t('tenants.log') });
    this.#logins = new Logins({ t, id: (name) => id(`tenant-${name}`), ask, onLogin, ofTenant: true });
    this.#log = h('div', { hidden: true }, h('h4', {}, t('tenants.log')), this.#output);
    this.element = h(
      'div',
      { class: 'tenant', hidden: true },
      this.#title,
      this.#facts.element,
      this.#actions,
      this.#readOnly,
      this.#confirm.element,
      this.#told,
      this.#log,
      this.#logins.element,
      h('p', { class: 'controls' }, close)
    );
  }

  /** Another tenants node, or none: id in the addresses of the gateway. */
  use(node) {
    this.#node = node;
    this.choose('');
  }

  /** Shows this tenant as soon as the next page has it; '' = none. */
  choose(name) {
    this.name = name;
    this.#logins.choose(name);
    this.element.hidden = true;
    this.#confirm.cancel();
    this.#showLog(null);
    setText(this.#told, '');
  }

  #close() {
    this.choose('');
    this.#changed();
  }

  /** row: null = not known (yet) */
  update(row, { mayWrite, at }) {
    if (!row || row.name !== this.name) return void (this.element.hidden = true);
    setText(this.#title, visible(row.name));
    this.#showFacts(row, at);
    this.#actions.hidden = !mayWrite;
    this.#readOnly.hidden = mayWrite;
    this.#logins.element.hidden = !mayWrite;
    if (mayWrite) this.#logins.update({ mayWrite });
    const { state, busy } = row;
    this.#state = state;
    const isUp = ['awake', 'paused', 'waking'].includes(state);
    this.#buttons.get('wake').disabled = busy !== '' || state === 'awake' || state === 'unknown';
    this.#buttons.get('sleep').disabled = (busy !== '' && busy !== 'wake') || !isUp;
    this.#buttons.get('backup').disabled = busy !== '' || state === 'unknown';
    this.#buttons.get('remove').hidden = !row.isRemovable;
    this.#buttons.get('remove').disabled = busy !== '' || state === 'unknown';
    if (!this.element.hidden) return;
    this.element.hidden = false;
    this.#title.focus();
  }

  #showFacts(row, at) {
    const t = this.#t;
    const list = this.#facts;
    const { text, state } = stateOf(t, row);
    const since =
      row.since > 0 ? ` (${t('tenants.since', { time: duration(Math.max(0, at - row.since)) })})` : '';
    list.set('state', `${text}${since}`, state);
    list.set('reason', visible(row.reason) || '–');
    list.set('lastWake', this.#wakeText(row.lastWake));
    list.set('waiting', bytes(row.waitingBytes));
    const classes = Object.entries(row.waiting ?? {}).filter(([, number]) => number > 0);
    const className = (number) => t.optional(`class.${number}`) ?? number;
    list.set(
      'waitingClasses',
      row.waiting === null
        ? '–'
        : classes.map(([name, number]) => `${className(name)} ${count(number)}`).join(', ') || '0'
    );
    list.set('perS', count(row.perS));
    list.set('refused', count(row.refused), row.refused > 0 ? 'warn' : '');
    list.set('memory', limited(row.memoryBytes, row.memoryLimit));
    list.set('data', limited(row.dataBytes, row.dataLimit));
    list.set('leases', count(row.leases));
    list.set('failures', count(row.failures), row.failures > 0 ? 'warn' : '');
    const { backup } = row;
    list.set('backup', backup ? this.#backupText(backup, at) : t('tenants.noBackup'), backupMark(backup));
    const isOpen = row.isolated === false;
    list.set(
      'driver',
      isOpen ? t('tenants.notIsolated', { driver: visible(row.driver) }) : visible(row.driver) || '–',
      isOpen ? 'warn' : ''
    );
    list.set('template', visible(row.template) || '–');
  }

  #backupText(backup, at) {
    const t = this.#t;
    const made = backupText(t, backup, at);
    if (!backup.ok) return `${made}: ${visible(backup.reason)}`;
    const { checked } = backup;
    const time = checked ? duration(Math.max(0, at - checked.at)) : '';
    if (!checked) return `${made}, ${t('tenants.unchecked')}`;
    if (checked.ok) return `${made}, ${t('tenants.checked', { time })}`;
    return `${made}, ${t('tenants.checkFailed', { time, reason: visible(checked.reason) })}`;
  }

  #wakeText(wake) {
    const t = this.#t;
    if (!wake) return '–';
    const { at, by, how, readyMs, connectedMs } = wake;
    const values = {
      time: new Date(at).toLocaleString(t.language),
      by: word(t, 'tenants.by', by),
      how: word(t, 'tenants.how', how),
      ready: duration(readyMs)
    };
    const ready = t('tenants.woken', values);
    return connectedMs >= 0 ? `${ready} ${t('tenants.connected', { time: duration(connectedMs) })}` : ready;
  }

  #askSleep() {
    const t = this.#t;
    // Without force, the keeper would wait until it has started.
    const force = this.#state === 'waking';
    const text = t(force ? 'tenants.sureCancel' : 'tenants.sureSleep', { tenant: visible(this.name) });
    this.#confirm.ask(text, t('tenants.do.sleep'), () => void this.#send('sleep', { force }));
  }

  #askRemove() {
    const t = this.#t;
    const text = t('tenants.sureRemove', { tenant: visible(this.name) });
    this.#confirm.ask(text, t('tenants.do.remove'), () => void this.#send('remove', {}));
  }

  #askForce(action, reason) {
    const t = this.#t;
    const isSleep = action === 'sleep';
    const text = t(isSleep ? 'tenants.sureForce' : 'tenants.sureForceRemove', { reason: visible(reason) });
    const button = t(`tenants.do.${isSleep ? 'force' : 'forceRemove'}`);
    this.#confirm.ask(text, button, () => void this.#send(action, { force: true }));
  }

  #logIn() {
    if (!this.#onLogin()) setText(this.#told, this.#t('tenants.noLogin'));
  }

  async #send(action, body) {
    const t = this.#t;
    const tenant = this.name;
    const path = `tenants/${encodeURIComponent(this.#node)}/${action}`;
    setText(this.#told, t(`tenants.doing.${action}`));
    const { status, value } = await this.#ask(path, { tenant, ...body }).catch(() => ({
      status: 0,
      value: null
    }));
    // Another one is shown meanwhile.
    if (tenant !== this.name) return;
    if (status === 200) return this.#done(action, value);
    if (status === 401 || status === 403) {
      return setText(this.#told, t(this.#onLogin() ? 'ocf.login' : 'ocf.readOnly'));
    }
    if (['sleep', 'remove'].includes(action) && ['leased', 'waiting'].includes(value?.code)) {
      setText(this.#told, '');
      return this.#askForce(action, value.error);
    }
    setText(this.#told, visible(value?.error ?? t('deadLetters.failed')));
  }

  #done(action, value) {
    const t = this.#t;
    if (action === 'logs') {
      setText(this.#told, '');
      return this.#showLog(value.text);
    }
    const values = { time: duration(value.readyMs), how: word(t, 'tenants.how', value.how ?? '') };
    const text = value.isDone ? t(`tenants.done.${action}`, values) : t(`tenants.goesOn.${action}`);
    setText(this.#told, text);
  }

  /** text: null = hide it */
  #showLog(text) {
    this.#log.hidden = text === null;
    const lines = (text ?? '').replace(ESCAPES, '').split('\n');
    setText(this.#output, text === '' ? this.#t('tenants.noLog') : lines.map(visible).join('\n'));
    if (text === null) return;
    this.#output.scrollTop = this.#output.scrollHeight;
    this.#output.focus();
  }
}

/** Returns what is used of a limit. */
function limited(used, limit) {
  if (used === null) return limit === null ? '–' : `– / ${bytes(limit)}`;
  return limit === null ? bytes(used) : `${bytes(used)} / ${bytes(limit)}`;
}

// The logins of devices, or of one tenant: their names, a form that adds one, and buttons that revoke one.

import { Confirm } from './confirm.mjs';
import { h, setText, Table } from './dom.mjs';
import { visible } from './format.mjs';

/** Reading a large file takes a while. */
const PAUSE_MS = 30_000;

export class Logins {
  #t;
  #ask;
  #onLogin;
  #table;
  #file;
  #name;
  #password;
  #form;
  #told;
  #made;
  #login;
  #confirm;
  #files = [];
  #readAt = -Infinity;
  #isReading = false;
  /** What the names begin with, such as acme/ */
  #prefix = '';
  #ofTenant;
  #nameLabel;

  /** See Events. ofTenant: only those of the tenant of choose() */
  constructor({ t, id, ask, onLogin, ofTenant = false }) {
    this.#ofTenant = ofTenant;
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#table = new Table({
      label: t(ofTenant ? 'tenants.logins' : 'section.logins'),
      none: t(ofTenant ? 'tenants.noLogins' : 'logins.none'),
      columns: [
        { label: t('logins.name') },
        { label: t('logins.nodes') },
        { label: t('logins.file') },
        { label: t('logins.action') }
      ]
    });
    const field = (key, element) => [h('label', { for: element.id }, t(`logins.${key}`)), element];
    this.#file = h('select', { id: id('logins-file') });
    this.#name = h('input', { id: id('logins-name'), required: true, autocomplete: 'off' });
    this.#password = h('input', {
      id: id('logins-password'),
      type: 'password',
      autocomplete: 'new-password',
      placeholder: t('logins.generated')
    });
    this.#nameLabel = h('label', { for: this.#name.id }, t('logins.name'));
    const add = () => void this.#add();
    for (const input of [this.#name, this.#password])
      input.addEventListener('keydown', ({ key }) => key === 'Enter' && add());
    this.#form = h(
      'div',
      { class: 'controls', role: 'group', 'aria-label': t('logins.add') },
      ...field('file', this.#file),
      this.#nameLabel,
      this.#name,
      ...field('password', this.#password),
      h('button', { type: 'button', onclick: add }, t('logins.add'))
    );
    this.#told = h('p', { class: 'note', role: 'status' });
    // A password that the gateway made: it is shown once, and not announced.
    this.#made = h('code');
    this.#login = h('button', { type: 'button', onclick: () => this.#onLogin() }, t('logins.login'));
    this.#confirm = new Confirm(t);
    this.element = h(
      'div',
      {},
      ofTenant ? h('h4', {}, t('tenants.logins')) : '',
      h('p', { class: 'controls' }, this.#told, this.#made, this.#login),
      this.#confirm.element,
      this.#table.element
    );
    this.#show();
  }

  /** Shows the logins of another tenant. */
  choose(tenant) {
    this.#prefix = `${tenant}/`;
    setText(this.#nameLabel, `${this.#t('logins.name')}: ${visible(this.#prefix)}`);
    setText(this.#told, '');
    setText(this.#made, '');
    this.#confirm.cancel();
    this.#files = [];
    this.#readAt = -Infinity;
    this.#show();
  }

  /** Reads the logins from time to time. Call it while the section is open. */
  update({ mayWrite }) {
    this.#login.hidden = mayWrite;
    // It is in the page only where it can be used.
    const isUsable = mayWrite && this.#files.some(({ readOnly }) => readOnly === '');
    if (!isUsable) this.#form.remove();
    else if (!this.#form.isConnected) this.element.append(this.#form);
    if (!mayWrite) {
      this.#files = [];
      this.#readAt = -Infinity;
      this.#show();
      return setText(this.#told, this.#t('logins.needsLogin'));
    }
    if (this.#told.textContent === this.#t('logins.needsLogin')) setText(this.#told, '');
    if (!this.#isReading && performance.now() - this.#readAt >= PAUSE_MS) void this.#read();
  }

  async #read() {
    this.#isReading = true;
    this.#readAt = performance.now();
    const prefix = this.#prefix;
    const { status, value } = await this.#try(`logins${prefix && `?prefix=${encodeURIComponent(prefix)}`}`);
    this.#isReading = false;
    // Another tenant was chosen meanwhile.
    if (prefix !== this.#prefix) return;
    if (status !== 200) return setText(this.#told, visible(value?.error ?? this.#t('events.failed')));
    this.#files = value.files.filter(({ hasTenants }) => hasTenants || !this.#ofTenant);
    this.#show();
  }

  #try(path, body) {
    return this.#ask(path, body).catch(() => ({ status: 0, value: null }));
  }

  #show() {
    const t = this.#t;
    const open = this.#files.filter(({ readOnly }) => readOnly === '').map(({ file }) => file);
    const shown = [...this.#file.options].map(({ value }) => value);
    if (JSON.stringify(open) !== JSON.stringify(shown))
      this.#file.replaceChildren(...open.map((value) => h('option', { value }, visible(value))));
    const row = ({ file, nodes, readOnly }, name, key) => [
      visible(name),
      visible(nodes.join(', ')),
      { text: visible(file), title: visible(readOnly) },
      {
        action: t('logins.revoke'),
        label: `${t('logins.revoke')}: ${visible(name)}`,
        disabled: readOnly !== '',
        key,
        onPress: this.#askRevoke
      }
    ];
    this.#table.update(
      this.#files.flatMap((each, index) => each.users.map((name, at) => row(each, name, `${index} ${at}`)))
    );
    const reasons = this.#files
      .filter(({ readOnly }) => readOnly)
      .map(({ file, readOnly }) => `${file}: ${readOnly}`);
    const more = this.#files.reduce((sum, each) => sum + each.more, 0);
    this.element.title = visible(reasons.join(' '));
    if (more > 0) setText(this.#told, t('logins.more', { number: more }));
    else if (reasons.length > 0 && open.length === 0) setText(this.#told, visible(reasons[0]));
  }

  async #add() {
    const t = this.#t;
    const [file, password] = [this.#file.value, this.#password.value];
    const name = `${this.#prefix}${this.#name.value}`;
    this.#password.value = '';
    const value = await this.#change('logins/add', { file, name, password });
    if (!value) return;
    this.#name.value = '';
    const key = value.replaced ? 'logins.replaced' : 'logins.added';
    setText(
      this.#told,
      `${t(key, { name: visible(name) })} ${value.password ? t('logins.once') : ''}`.trim()
    );
    setText(this.#made, value.password ?? '');
  }

  #askRevoke = (key) => {
    const [index, at] = key.split(' ').map(Number);
    const { file, users } = this.#files[index] ?? { users: [] };
    const name = users[at];
    if (name === undefined) return;
    const text = this.#t('logins.sure', { name: visible(name) });
    this.#confirm.ask(text, this.#t('logins.revoke'), () => void this.#revoke(file, name));
  };

  async #revoke(file, name) {
    const value = await this.#change('logins/revoke', { file, name });
    if (value) setText(this.#told, this.#t('logins.revoked', { name: visible(name), number: value.ended }));
  }

  /** Sends a change. Returns the answer, null = it failed, and the page says why. */
  async #change(path, body) {
    setText(this.#made, '');
    const { status, value } = await this.#try(path, body);
    if (status === 401 || status === 403) {
      this.#onLogin();
      setText(this.#told, this.#t('logins.needsLogin'));
      return null;
    }
    this.#readAt = -Infinity;
    if (status === 200) return value;
    setText(this.#told, visible(value?.error ?? this.#t('events.failed')));
    return null;
  }
}

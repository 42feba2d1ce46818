// The templates that tenants are made of: a form that makes a tenant, and the rollouts of their flows.

import { Confirm } from './confirm.mjs';
import { h, setText, Table } from './dom.mjs';
import { count, visible } from './format.mjs';

const MARKS = { running: 'warn', done: 'ok', failed: 'bad' };

export class Templates {
  #t;
  #ask;
  #onLogin;
  #node = null;
  #table;
  #template;
  #name;
  #form;
  #told;
  #confirm;
  #known = [];

  /** See Tenants. */
  constructor({ t, id, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    const columns = ['template', 'driver', 'tenants', 'rollout', 'action'];
    this.#table = new Table({
      label: t('templates.title'),
      columns: columns.map((name) => ({ label: t(`templates.${name}`) }))
    });
    this.#template = h('select', { id: id('templates-template') });
    this.#name = h('input', { id: id('templates-name'), maxlength: '32', autocomplete: 'off' });
    this.#name.addEventListener('keydown', ({ key }) => key === 'Enter' && void this.#make());
    this.#form = h(
      'div',
      { class: 'controls', role: 'group', 'aria-label': t('templates.make') },
      h('label', { for: this.#template.id }, t('templates.template')),
      this.#template,
      h('label', { for: this.#name.id }, t('templates.name')),
      this.#name,
      h('button', { type: 'button', onclick: () => void this.#make() }, t('templates.make'))
    );
    this.#told = h('p', { class: 'note', role: 'status' });
    this.#confirm = new Confirm(t);
    this.element = h(
      'div',
      { class: 'templates', hidden: true },
      h('h3', {}, t('templates.title')),
      this.#table.element,
      this.#confirm.element,
      this.#form,
      this.#told
    );
  }

  /** Another tenants node, or none: id in the addresses of the gateway. */
  use(node) {
    this.#node = node;
    this.#confirm.cancel();
    setText(this.#told, '');
  }

  update(templates, { mayWrite }) {
    this.#known = templates;
    this.element.hidden = templates.length === 0;
    const open = templates.filter(({ most }) => most > 0).map(({ name }) => name);
    this.#form.hidden = !mayWrite || open.length === 0;
    const shown = [...this.#template.options].map(({ value }) => value);
    if (JSON.stringify(open) !== JSON.stringify(shown))
      this.#template.replaceChildren(...open.map((value) => h('option', { value }, visible(value))));
    const isBusy = templates.some(({ rollout }) => rollout?.state === 'running');
    this.#table.update(templates.map((each) => this.#row(each, { mayWrite, isBusy })));
  }

  #row({ name, driver, tenants, made, most, hasFlow, rollout }, { mayWrite, isBusy }) {
    const t = this.#t;
    const numbers = { tenants: count(tenants), made: count(made), most: count(most) };
    return [
      visible(name),
      visible(driver),
      t(most > 0 ? 'templates.count' : 'templates.countOnly', numbers),
      rollout ? { text: this.#progress(rollout), state: MARKS[rollout.state] } : '–',
      mayWrite && hasFlow
        ? {
            action: t('templates.rollOut'),
            label: `${t('templates.rollOut')}: ${visible(name)}`,
            disabled: isBusy || tenants === 0,
            key: name,
            onPress: this.#askRollout
          }
        : '–'
    ];
  }

  #progress({ state, done, total, tenant, reason }) {
    const values = {
      done: count(done),
      total: count(total),
      tenant: visible(tenant),
      reason: visible(reason)
    };
    return this.#t(`templates.progress.${state}`, values);
  }

  #askRollout = (template) => {
    const t = this.#t;
    const tenants = this.#known.find(({ name }) => name === template)?.tenants ?? 0;
    const text = t('templates.sure', { template: visible(template), tenants: count(tenants) });
    this.#confirm.ask(text, t('templates.rollOut'), () => void this.#send('rollout', { template }));
  };

  async #make() {
    const t = this.#t;
    const tenant = this.#name.value.trim();
    setText(this.#told, t('templates.making'));
    const value = await this.#send('add', { tenant, template: this.#template.value });
    if (!value) return;
    this.#name.value = '';
    setText(this.#told, t(value.isDone ? 'templates.made' : 'templates.goesOn', { tenant: visible(tenant) }));
  }

  /** Sends a change. Returns the answer, null = it failed, and the page says why. */
  async #send(action, body) {
    const t = this.#t;
    const path = `tenants/${encodeURIComponent(this.#node)}/${action}`;
    const { status, value } = await this.#ask(path, body).catch(() => ({ status: 0, value: null }));
    if (status === 200) {
      setText(this.#told, '');
      return value;
    }
    if (status === 401 || status === 403)
      setText(this.#told, t(this.#onLogin() ? 'ocf.login' : 'ocf.readOnly'));
    else setText(this.#told, visible(value?.error ?? t('deadLetters.failed')));
    return null;
  }
}

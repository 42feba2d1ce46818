// A question to a directory, as a form, and its answer.

import { h, setText, Table } from './dom.mjs';
import { duration, visible } from './format.mjs';

const FIELDS = ['property', 'room', 'device', 'text'];
const TO_MS = 1000;

export class Question {
  #t;
  #ask;
  #onLogin;
  #inputs;
  #asksDevice;
  #told;
  #login;
  #answer;
  #others;
  #problems;
  /** The last one that was asked; an answer to an older one is not shown. */
  #last = 0;
  #asked = null;

  /** ask(path): returns { status, value }. onLogin(): a login that may send commands is wanted */
  constructor({ t, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    const rows = FIELDS.map((name) => {
      const id = `seganet-question-${name}`;
      const attributes = { id, name, type: 'text', maxlength: 256, autocomplete: 'off' };
      const input = h('input', { ...attributes, required: name === 'property' });
      return { name, input, row: h('p', {}, h('label', { for: id }, t(`directory.${name}`)), input) };
    });
    this.#inputs = Object.fromEntries(rows.map(({ name, input }) => [name, input]));
    this.#asksDevice = h('input', { id: 'seganet-question-ask', type: 'checkbox', checked: true });
    const label = h('label', { for: 'seganet-question-ask' }, t('directory.asksDevice'));
    this.#told = h('p', { role: 'status', 'aria-live': 'polite' });
    this.#login = h('button', { type: 'button', onclick: () => this.#onLogin() }, t('directory.login'));
    this.#login.hidden = true;
    this.#answer = h('dl', { class: 'tiles', hidden: true });
    this.#problems = h('ul', { class: 'note', hidden: true });
    this.#others = new Table({
      label: t('directory.others'),
      columns: ['device', 'property', 'why'].map((name) => ({ label: t(`directory.${name}`) }))
    });
    this.#others.element.hidden = true;
    const form = h(
      'form',
      {
        class: 'question',
        onsubmit: (event) => {
          event.preventDefault();
          void this.#send(this.#fields());
        }
      },
      ...rows.map(({ row }) => row),
      h('p', { class: 'controls' }, this.#asksDevice, label),
      h('button', { type: 'submit' }, t('directory.ask'))
    );
    this.element = h(
      'div',
      {},
      ...[form, this.#told, h('p', { class: 'controls' }, this.#login)],
      ...[this.#answer, this.#problems, this.#others.element]
    );
  }

  #fields() {
    return Object.fromEntries(FIELDS.map((name) => [name, this.#inputs[name].value.trim()]));
  }

  /** Asks for a property of a device, and shows that in the form. */
  ask({ device, property }) {
    for (const name of FIELDS) this.#inputs[name].value = { device, property }[name] ?? '';
    this.#told.scrollIntoView({ block: 'center' });
    void this.#send(this.#fields());
  }

  /** Asks the last question again. */
  again() {
    if (this.#asked) void this.#send(this.#asked);
  }

  clear() {
    this.#last++;
    this.#asked = null;
    this.#show(null);
    setText(this.#told, '');
  }

  async #send(fields) {
    const t = this.#t;
    const number = ++this.#last;
    this.#asked = fields;
    this.#show(null);
    setText(this.#told, t('directory.asking'));
    const given = Object.entries(fields).filter(([, value]) => value !== '');
    const query = new URLSearchParams([...given, ...(this.#asksDevice.checked ? [] : [['ask', '0']])]);
    const { status, value } = await this.#ask(`q?${query}`);
    if (number !== this.#last) return;
    if (status === 200) return this.#show(value);
    setText(this.#told, visible(value?.detail ?? t(status === 401 ? 'connection.login' : 'directory.lost')));
    this.#login.hidden = status !== 403;
  }

  #show(answer) {
    const t = this.#t;
    for (const element of [this.#answer, this.#problems, this.#others.element]) element.hidden = true;
    this.#login.hidden = true;
    if (!answer) return;
    const {
      value,
      unit = '',
      device,
      title,
      room = '',
      age,
      fresh,
      from,
      why,
      others,
      problems = []
    } = answer;
    const time = t('tenants.ago', { time: duration(age * TO_MS) });
    const rows = [
      ['value', `${value} ${unit}`.trim()],
      ['time', fresh ? time : t('directory.old', { time })],
      ['device', title === device ? device : `${title} (${device})`],
      ['room', room || '–'],
      ['from', t.optional(`directory.sources.${from}`) ?? from],
      ['why', t.inWords(why)]
    ];
    setText(this.#told, t('directory.answered', { found: answer.found }));
    this.#answer.replaceChildren(
      ...rows.map(([name, text]) =>
        h('div', {}, h('dt', {}, t(`directory.${name}`)), h('dd', {}, visible(text)))
      )
    );
    this.#answer.hidden = false;
    this.#problems.replaceChildren(...problems.map((each) => h('li', {}, visible(each))));
    this.#problems.hidden = problems.length === 0;
    this.#others.update(
      others.map((each) => [
        visible(each.device || each.thing),
        visible(each.property),
        visible(t.inWords(each.why))
      ])
    );
    this.#others.element.hidden = others.length === 0;
  }
}

// The policy of an overlay network: its text, what is wrong with it, and which nodes its rules select.

import { Confirm } from './confirm.mjs';
import { h, setText, Table } from './dom.mjs';
import { visible } from './format.mjs';

const PAUSE_MS = 30_000;
const TYPING_MS = 500;

/** Returns a policy as text, one rule a line. */
function textOf({ allow }) {
  const rules = allow.map(({ from, to, ports }) => `    ${JSON.stringify({ from, to, ports })}`);
  return rules.length === 0 ? '{ "allow": [] }' : `{\n  "allow": [\n${rules.join(',\n')}\n  ]\n}`;
}

export class OverlayPolicy {
  #t;
  #ask;
  #send;
  #confirm;
  #text;
  #told;
  #problems;
  #reach;
  #save;
  #discard;
  #buttons;
  #mayWrite = false;
  #version = null;
  /** Text of the policy in force; null = not read yet. */
  #inForce = null;
  #readAt = -Infinity;
  #isReading = false;
  #typing;
  #reviews = 0;

  /**
   * ask(path, body): returns { status, value }. send(path, body, element): sends a change; returns the answer, null =
   * it failed, and the element says why
   */
  constructor({ t, id, ask, send }) {
    this.#t = t;
    this.#ask = ask;
    this.#send = send;
    this.#confirm = new Confirm(t);
    const attributes = {
      id: id('overlay-policy'),
      rows: '10',
      maxlength: '16384',
      spellcheck: 'false',
      autocomplete: 'off',
      readonly: true,
      'aria-describedby': id('overlay-policy-told')
    };
    this.#text = h('textarea', { ...attributes, oninput: () => this.#changed() });
    this.#told = h('p', { id: attributes['aria-describedby'], class: 'note', role: 'status' });
    this.#problems = h('ul', { hidden: true });
    const columns = ['rule', 'from', 'to', 'ports'].map((name) => ({ label: t(`overlayServices.${name}`) }));
    this.#reach = new Table({ label: t('overlayServices.reach'), columns });
    this.#reach.element.hidden = true;
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`overlayServices.${key}`));
    this.#save = button('save', () => this.#askSave());
    this.#discard = button('discard', () => this.#discardChanges());
    this.#buttons = h('p', { class: 'controls', hidden: true }, this.#save, this.#discard);
    this.element = h(
      'div',
      {},
      h('label', { for: attributes.id }, t('overlayServices.policyText')),
      ...[this.#text, this.#told, this.#problems, this.#buttons, this.#confirm.element, this.#reach.element]
    );
    this.#enable(false);
  }

  /** Reads the policy from time to time, while nothing was changed here. */
  update({ mayWrite }) {
    if (mayWrite !== this.#mayWrite) {
      this.#mayWrite = mayWrite;
      this.#text.readOnly = !mayWrite;
      this.#buttons.hidden = !mayWrite;
      if (!mayWrite) this.#setText(this.#inForce ?? '');
      else if (this.#inForce !== null) void this.#review();
    }
    const isChanged = this.#inForce !== null && this.#text.value !== this.#inForce;
    if (!isChanged && !this.#isReading && performance.now() - this.#readAt >= PAUSE_MS) void this.#read();
  }

  async #read() {
    this.#isReading = true;
    this.#readAt = performance.now();
    const { status, value } = await this.#ask('overlay-services/policy');
    this.#isReading = false;
    if (status !== 200) return setText(this.#told, visible(value?.error ?? this.#t('events.failed')));
    // The user may have begun to write meanwhile.
    if (this.#inForce !== null && this.#text.value !== this.#inForce) return;
    if (value.version === this.#version) return;
    const text = textOf(value);
    [this.#version, this.#inForce] = [value.version, text];
    this.#setText(text);
  }

  /** Another policy may be in force by now. */
  #discardChanges() {
    this.#setText(this.#inForce ?? '');
    this.#readAt = -Infinity;
  }

  #setText(text) {
    this.#text.value = text;
    this.#changed();
  }

  #changed() {
    clearTimeout(this.#typing);
    this.#enable(false);
    this.#discard.disabled = this.#text.value === this.#inForce;
    if (this.#inForce === null) return;
    if (this.#mayWrite) this.#typing = setTimeout(() => void this.#review(), TYPING_MS);
    else {
      setText(this.#told, this.#t('overlayServices.inForce', { version: this.#version }));
      this.#problems.hidden = this.#reach.element.hidden = true;
    }
  }

  #enable(canSave) {
    this.#save.disabled = !canSave;
    if (!canSave) this.#discard.disabled = true;
  }

  /** Shows the faults of the text, else whom its rules select. */
  async #review() {
    const t = this.#t;
    const number = ++this.#reviews;
    const text = this.#text.value;
    const { status, value } = await this.#ask('overlay-services/policy/review', { text });
    if (number !== this.#reviews || text !== this.#text.value) return;
    if (status !== 200) return setText(this.#told, visible(value?.error ?? t('events.failed')));
    const { problems, rules } = value;
    const isChanged = text !== this.#inForce;
    this.#save.disabled = problems.length > 0 || !isChanged;
    this.#discard.disabled = !isChanged;
    setText(
      this.#told,
      problems.length > 0
        ? t('overlayServices.wrong', { number: problems.length })
        : t(isChanged ? 'overlayServices.canSave' : 'overlayServices.inForce', { version: this.#version })
    );
    this.#problems.hidden = problems.length === 0;
    const item = ({ line, text: why }) => h('li', {}, t('overlayServices.line', { line, why: visible(why) }));
    this.#problems.replaceChildren(...problems.map(item));
    this.#reach.element.hidden = problems.length > 0;
    this.#reach.update(
      rules.map(({ number: rule, from, to, ports, sources, targets }) => [
        String(rule),
        this.#side(from, sources),
        this.#side(to, targets),
        visible(ports.join(', '))
      ])
    );
  }

  /** Returns a side of a rule with the nodes that it selects at present. */
  #side(selector, { count, names }) {
    const rest =
      count > names.length ? [this.#t('overlayServices.others', { number: count - names.length })] : [];
    const list = [...names.map(visible), ...rest].join(', ') || this.#t('overlayServices.nobody');
    return { text: `${visible(selector)} (${list})`, state: count === 0 ? 'warn' : null };
  }

  #askSave() {
    const t = this.#t;
    const text = this.#text.value;
    this.#confirm.ask(
      t('overlayServices.sureSave', { version: this.#version }),
      t('overlayServices.save'),
      async () => {
        const value = await this.#send('policy', { text, from: this.#version }, this.#told);
        if (!value) return;
        [this.#version, this.#inForce] = [value.version, text];
        setText(this.#told, t('overlayServices.saved', { version: value.version }));
        this.#changed();
      }
    );
  }
}

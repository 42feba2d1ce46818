// On a card of a value: how often its device sends on demand, and a question that makes it send more often for a while.

import { h, setText } from './dom.mjs';
import { count, duration, visible } from './format.mjs';

/** Intervals and durations to choose from, as far as the demand node allows them. */
const EVERY_MS = [100, 250, 1000, 5000, 10000, 60000];
const FOR_S = [10, 60, 600, 3600];
const FIRST_EVERY_MS = 1000;
const FIRST_FOR_S = 60;
/** What `ask` returns if the gateway cannot be reached. */
const NO_ANSWER = { status: 0, value: null };

export class Faster {
  #t;
  #ask;
  #onLogin;
  #device = '';
  #engine = '';
  #limits = '';
  #state = h('p', { class: 'about' });
  #every = h('select');
  #for = h('select');
  #question;
  #end;
  #told = h('p', { class: 'about', role: 'status' });

  /** ask(path, body): returns { status, value }; onLogin(): returns false if there is no way to log in here */
  constructor({ t, ask, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`values.faster.${key}`));
    const field = (key, select) => h('label', {}, t(`values.faster.${key}`), ' ', select);
    this.#end = h(
      'p',
      { class: 'controls' },
      button('end', () => void this.#send(0))
    );
    this.#question = h(
      'details',
      {},
      h('summary', {}, t('values.faster.title')),
      h(
        'p',
        { class: 'controls' },
        field('every', this.#every),
        field('for', this.#for),
        button('ask', () => void this.#send(Number(this.#for.value)))
      )
    );
    this.element = h(
      'div',
      { class: 'faster', hidden: true },
      this.#state,
      this.#end,
      this.#question,
      this.#told
    );
  }

  /** demand: of the row of a value; undefined = no node may ask the device */
  update(engine, device, demand) {
    this.#engine = engine;
    this.#device = device;
    this.element.hidden = !demand;
    if (!demand) return;
    this.#offer(demand);
    this.#show(demand);
  }

  /** Fills the choices. They stay as they are while the limits do, so that a choice is not undone. */
  #offer({ leastMs, mostS }) {
    const limits = JSON.stringify([leastMs, mostS]);
    if (limits === this.#limits) return;
    this.#limits = limits;
    const fill = (select, given, only, first, text) => {
      const all = given.length > 0 ? given : [only];
      select.replaceChildren(...all.map((each) => h('option', { value: String(each) }, text(each))));
      select.value = String(all.includes(first) ? first : all[0]);
    };
    const allowed = EVERY_MS.filter((each) => each >= leastMs);
    fill(this.#every, allowed, leastMs, FIRST_EVERY_MS, duration);
    const lengths = FOR_S.filter((each) => each <= mostS);
    fill(this.#for, lengths, mostS, FIRST_FOR_S, (each) => duration(each * 1000));
  }

  #show({ state, everyMs, endsAt, askers, reason }) {
    const t = this.#t;
    const parts = [];
    if (everyMs > 0) {
      const time = new Date(endsAt).toLocaleTimeString(t.language);
      parts.push(t('values.faster.rate', { every: duration(everyMs), time, n: count(askers) }));
    }
    if (state !== 'normal' && state !== 'on') parts.push(t(`values.faster.state.${state}`));
    if (reason) parts.push(visible(reason));
    setText(this.#state, parts.join(' · '));
    this.#state.hidden = parts.length === 0;
    this.#end.hidden = everyMs === 0;
  }

  /** forS: 0 ends the question of this login */
  async #send(forS) {
    const t = this.#t;
    const question = { engine: this.#engine, device: this.#device, forS };
    if (forS > 0) question.everyMs = Number(this.#every.value);
    setText(this.#told, t('values.faster.asking'));
    const { status, value } = await this.#ask('demand', question).catch(() => NO_ANSWER);
    if (status === 401 || status === 403)
      return setText(this.#told, t(this.#onLogin() ? 'values.faster.login' : 'values.faster.readOnly'));
    if (status !== 200) return setText(this.#told, visible(value?.error ?? t('values.faster.failed')));
    this.#question.open = false;
    setText(this.#told, '');
    this.#show({ ...value, askers: value.askers.length });
  }
}

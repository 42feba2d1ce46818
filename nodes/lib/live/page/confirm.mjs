// A question before something that cannot be undone, in the page itself: it works with the keyboard and with a screen
// reader, and a browser cannot suppress it.

import { h, setText } from './dom.mjs';

export class Confirm {
  #text;
  #yes;
  #no;
  #onYes = () => {};
  #before = null;

  constructor(t) {
    this.#text = h('p');
    this.#yes = h('button', { type: 'button', onclick: () => this.#close(true) }, t('confirm.title'));
    this.#no = h('button', { type: 'button', onclick: () => this.#close(false) }, t('confirm.no'));
    const attributes = {
      class: 'confirm',
      role: 'alertdialog',
      'aria-label': t('confirm.title'),
      hidden: true
    };
    const onkeydown = (event) => event.key === 'Escape' && this.#close(false);
    const buttons = h('p', { class: 'controls' }, this.#no, this.#yes);
    this.element = h('div', { ...attributes, onkeydown }, this.#text, buttons);
  }

  /** Asks; the answer that changes nothing has the focus. A later question replaces an earlier one. */
  ask(text, action, onYes) {
    if (this.element.hidden) this.#before = document.activeElement;
    this.#onYes = onYes;
    setText(this.#text, text);
    setText(this.#yes, action);
    this.element.hidden = false;
    this.#no.focus();
  }

  /** Takes the question back. */
  cancel() {
    this.element.hidden = true;
  }

  #close(isYes) {
    this.element.hidden = true;
    if (this.#before?.isConnected) this.#before.focus();
    if (isYes) this.#onYes();
  }
}

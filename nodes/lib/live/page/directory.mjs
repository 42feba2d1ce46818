// The page of the directories: questions to a find node, and its things.

import { h, setText } from './dom.mjs';
import { visible } from './format.mjs';
import { Question } from './question.mjs';
import { askLogin, languageLinks, token } from './session.mjs';
import { loadTexts } from './texts.mjs';
import { Things } from './things.mjs';

const ROOT = 'directory';

class Directories {
  #t;
  #login;
  #select;
  #head;
  #told;
  #body;
  #question;
  #things;

  constructor(t) {
    this.#t = t;
    this.#login = h('div');
    this.#select = h('select', { id: 'seganet-directory-node', onchange: () => this.#choose() });
    this.#told = h('p', { class: 'note', role: 'status' });
    const ask = (path) => this.#ask(`${encodeURIComponent(this.#select.value)}/${path}`);
    this.#question = new Question({ t, ask, onLogin: () => void this.#askLogin(true) });
    this.#things = new Things({
      t,
      ask,
      onAsk: (device, property) => this.#question.ask({ device, property })
    });
    const section = (name, element) =>
      h(
        'details',
        { open: true, 'data-section': name },
        h('summary', {}, h('h2', {}, t(`directory.${name}`))),
        element
      );
    this.#body = h(
      'div',
      { hidden: true },
      section('question', this.#question.element),
      section('things', this.#things.element)
    );
    const label = h('label', { for: 'seganet-directory-node' }, t('directory.node'));
    this.#head = h('p', { class: 'controls', hidden: true }, label, this.#select);
    this.element = h('div', { class: 'seganet-live' }, this.#login, this.#head, this.#told, this.#body);
  }

  /** Reads which directories there are. */
  async start() {
    const { status, value } = await this.#ask('');
    if (status !== 200) {
      const told = this.#t(status === 401 ? 'connection.login' : 'directory.lost');
      return setText(this.#told, value?.detail ? visible(value.detail) : told);
    }
    const nodes = value.nodes ?? [];
    const before = this.#select.value;
    this.#select.replaceChildren(
      ...nodes.map(({ id, name }) => h('option', { value: id }, visible(name || id)))
    );
    if (nodes.some(({ id }) => id === before)) this.#select.value = before;
    this.#body.hidden = this.#head.hidden = nodes.length === 0;
    const stopped = nodes.find(({ id, reason = '' }) => id === this.#select.value && reason)?.reason ?? '';
    setText(this.#told, nodes.length === 0 ? this.#t('directory.noNode') : visible(stopped));
    if (nodes.length > 0) this.#choose();
  }

  #choose() {
    this.#question.clear();
    void this.#things.show(0);
  }

  /** @returns {Promise<{ status: number, value: any }>} status 0: no answer */
  async #ask(path) {
    const own = token();
    const url = path ? `${ROOT}/${path}` : ROOT;
    try {
      const response = await fetch(url, {
        headers: own ? { authorization: `Bearer ${own}` } : {},
        cache: 'no-store'
      });
      if (response.status === 401) void this.#askLogin(false);
      return { status: response.status, value: await response.json().catch(() => null) };
    } catch {
      return { status: 0, value: null };
    }
  }

  #askLogin(mayWrite) {
    return askLogin(
      this.#login,
      this.#t,
      mayWrite,
      () => void (mayWrite ? this.#question.again() : this.start())
    );
  }
}

async function start() {
  const main = document.getElementById('seganet-directory');
  const t = await loadTexts('', new URL(location.href).searchParams.get('lang'));
  document.documentElement.lang = t.language;
  document.title = `${t('directory.title')} · ${t('title')}`;
  const directories = new Directories(t);
  const foot = h('footer', {}, h('a', { href: './' }, t('directory.back')), languageLinks(t));
  main.append(h('h1', {}, t('directory.title')), directories.element, foot);
  await directories.start();
}

void start();

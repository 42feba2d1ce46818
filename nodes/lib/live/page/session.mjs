// The login of a page, and links to its other languages. It uses the login of the editor in this browser, if there is
// one, or asks for a name and a password and gets a token that may only read. To change something, such as to send dead
// letters again, it asks once more, for a token that may also do that. The token ends with the tab.

import { h, setText } from './dom.mjs';
import { LANGUAGES } from './texts.mjs';

const OWN_TOKEN = 'seganet-token';

/** The token of the editor, which keeps it under a key with its folder. */
function editorToken() {
  const folder = new URL('..', location.href).pathname.slice(0, -1).replace(/\//g, '-');
  try {
    return JSON.parse(localStorage.getItem(`auth-tokens${folder}`))?.access_token ?? '';
  } catch {
    return '';
  }
}

export const token = () => sessionStorage.getItem(OWN_TOKEN) || editorToken();

/** Asks the admin API for a token. Returns whether it gave one. */
async function logIn(username, password, mayWrite) {
  const body = new URLSearchParams({
    client_id: 'node-red-admin',
    grant_type: 'password',
    scope: mayWrite ? 'seganet.read seganet.write' : 'seganet.read',
    username,
    password
  });
  const response = await fetch('../auth/token', { method: 'POST', body });
  if (!response.ok) return false;
  sessionStorage.setItem(OWN_TOKEN, (await response.json()).access_token);
  return true;
}

/** A form for the login; mayWrite: one that may also change something; done(): called when it has succeeded. */
function loginForm(t, mayWrite, done) {
  const field = (name, type, autocomplete) => {
    const id = `seganet-${name}`;
    const input = h('input', { id, name, type, autocomplete, required: true });
    return [input, h('p', {}, h('label', { for: id }, t(`login.${name}`)), input)];
  };
  const [user, userRow] = field('username', 'text', 'username');
  const [password, passwordRow] = field('password', 'password', 'current-password');
  const trouble = h('p', { role: 'alert' });
  const submit = async (event) => {
    event.preventDefault();
    setText(trouble, '');
    const isIn = await logIn(user.value, password.value, mayWrite).catch(() => false);
    password.value = '';
    if (isIn) done();
    else setText(trouble, t('login.wrong'));
  };
  const button = h('button', { type: 'submit' }, t('login.submit'));
  return h(
    'form',
    { onsubmit: submit },
    h('p', {}, t(mayWrite ? 'login.whyWrite' : 'login.why')),
    userRow,
    passwordRow,
    button,
    trouble
  );
}

/** Links to this page in the other languages. */
export function languageLinks(t) {
  const others = Object.entries(LANGUAGES).filter(([language]) => language !== t.language);
  const link = ([lang, name]) => h('a', { href: `?lang=${lang}`, lang, hreflang: lang }, name);
  return h('nav', { class: 'languages', 'aria-label': t('languages') }, ...others.map(link));
}

/** Shows what is needed for a login in this element; done(): called when there is one. */
export async function askLogin(element, t, mayWrite, done) {
  if (!mayWrite) sessionStorage.removeItem(OWN_TOKEN);
  const { type } = await fetch('../auth/login').then((response) => response.json());
  if (type === 'credentials') {
    const form = loginForm(t, mayWrite, () => {
      element.replaceChildren();
      done();
    });
    element.replaceChildren(form);
    form.querySelector('input').focus();
  } else {
    element.replaceChildren(h('p', {}, h('a', { href: '../' }, t('login.elsewhere'))));
  }
}

// The status page.

import { h } from './dom.mjs';
import { Panel } from './panel.mjs';
import { askLogin, languageLinks, token } from './session.mjs';
import { loadTexts } from './texts.mjs';

async function start() {
  const main = document.getElementById('seganet-status');
  const t = await loadTexts('', new URL(location.href).searchParams.get('lang'));
  document.documentElement.lang = t.language;
  document.title = t('title');
  const login = h('div');
  const panel = new Panel({
    t,
    root: '',
    token,
    onLogin(mayWrite) {
      void askLogin(login, t, mayWrite, () => {
        panel.reconnect();
        follow();
      });
      return true;
    }
  });
  const follow = () => panel.setVisible(document.visibilityState === 'visible');
  const directory = h('a', { href: 'directory.html' }, t('directory.open'));
  const foot = h('footer', {}, directory, languageLinks(t));
  main.append(h('h1', {}, t('title')), login, panel.element, foot);
  document.addEventListener('visibilitychange', follow);
  follow();
}

void start();

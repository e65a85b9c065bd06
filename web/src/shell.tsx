// The frame around every page: navigation, account, theme.
import { useEffect, useState } from 'preact/hooks';
import { GROUPS, PAGES, mayShow, pageAt } from './pages';
import { href, place } from './route';
import { logout, me, settings } from './session';
import { nextTheme, theme } from './theme';
import { Button, Empty, LinkButton, Page } from './ui/basic';
import { Icon } from './ui/icon';
import { number } from './format';
import { readWaiting, waiting } from './waiting';

const THEME_ICON = { system: 'system', light: 'light', dark: 'dark' } as const;

function Navigation() {
  const path = place.value.path;
  const here = path.startsWith('/events') ? '/gateways' : path.startsWith('/pages') ? '/shop' : path;
  const isHere = (to: string) => here === to || (to !== '/' && here.startsWith(`${to}/`));
  return (
    <nav class="nav" aria-label="Pages">
      {GROUPS.map((group) => (
        <div key={group}>
          <h2 id={`nav-${group}`}>{group}</h2>
          <ul aria-labelledby={`nav-${group}`}>
            {PAGES.filter((e) => e.nav?.group === group && mayShow(e)).map(
              (e) =>
                e.nav && (
                  <li key={e.path}>
                    <a href={href(e.path)} aria-current={isHere(e.path) ? 'page' : undefined}>
                      <Icon name={e.nav.icon} />
                      {e.nav.label}
                      {(waiting.value[e.path] ?? 0) > 0 && (
                        <span class="count" title="Waiting">
                          {number(waiting.value[e.path] ?? 0)}
                        </span>
                      )}
                    </a>
                  </li>
                ),
            )}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function NotFound() {
  return (
    <Page title="Not found">
      <div class="card">
        <Empty
          title="There is no such page"
          action={
            <LinkButton to="#/" kind="primary">
              To the dashboard
            </LinkButton>
          }
        >
          It may have been deleted, or your role does not show it.
        </Empty>
      </div>
    </Page>
  );
}

export function Shell() {
  const [open, setOpen] = useState(false);
  const { path } = place.value;
  const found = pageAt(path);
  const Current = found?.entry.page;
  useEffect(() => {
    setOpen(false);
    void readWaiting();
  }, [path]);
  useEffect(() => {
    if (!open) return undefined;
    const close = (e: KeyboardEvent) => {
      if (e.key === 'Escape') setOpen(false);
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [open]);
  const skip = (e: Event) => {
    e.preventDefault();
    document.querySelector('main')?.focus();
  };
  const name = settings.value?.store_name ?? 'souk';
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <div class="shell">
        <header class="bar">
          <span class="brand">
            <Icon name="store" />
            <span>{name}</span>
          </span>
          <button
            type="button"
            class="button quiet square"
            aria-label="Menu"
            aria-expanded={open}
            aria-controls="side"
            onClick={() => setOpen(!open)}
          >
            <Icon name={open ? 'close' : 'menu'} size={22} />
          </button>
        </header>
        <aside id="side" class={open ? 'side open' : 'side'} aria-label="Menu">
          <span class="brand">
            <Icon name="store" size={22} />
            <span>{name}</span>
          </span>
          <Navigation />
          <div class="side-foot">
            <a href={href('/account')} title="Your account">
              <span>
                <strong>{me.value?.name || me.value?.email}</strong>
              </span>
              <span class="muted">{me.value?.role === 'owner' ? 'Owner' : 'Staff'}</span>
            </a>
            <Button
              kind="quiet"
              icon={THEME_ICON[theme.value]}
              label={`Colours: ${theme.value}. Change`}
              onClick={nextTheme}
            />
            <Button kind="quiet" icon="logout" label="Log out" onClick={logout} />
          </div>
        </aside>
        <main id="content" tabIndex={-1}>
          {Current ? <Current key={path} id={found.id} /> : <NotFound key={path} />}
        </main>
      </div>
    </>
  );
}

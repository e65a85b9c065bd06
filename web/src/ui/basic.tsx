// Small pieces that every page is made of.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isPositive, type Amount } from '../amount';
import { localTime, money, utcTime, words } from '../format';
import { Icon, type IconName } from './icon';

type Children = { children?: ComponentChildren };

interface ButtonProps extends Children {
  onClick?: () => unknown;
  kind?: 'primary' | 'danger' | 'quiet';
  type?: 'button' | 'submit';
  icon?: IconName;
  disabled?: boolean;
  label?: string;
  small?: boolean;
}

/** A button that is busy, and cannot be pressed again, until what it started has ended. */
export function Button({ onClick, kind, type = 'button', icon, disabled, label, small, children }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  useEffect(
    () => () => {
      alive.current = false;
    },
    [],
  );
  const press = async () => {
    const result = onClick?.();
    if (!(result instanceof Promise)) return;
    setBusy(true);
    try {
      await result;
    } finally {
      if (alive.current) setBusy(false);
    }
  };
  return (
    <button
      type={type}
      class={`button ${kind ?? ''} ${small ? 'small' : ''} ${children ? '' : 'square'}`}
      onClick={onClick && press}
      disabled={disabled || busy}
      aria-label={label}
      aria-busy={busy}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function LinkButton({ to, kind, icon, children }: Children & { to: string; kind?: 'primary'; icon?: IconName }) {
  return (
    <a class={`button ${kind ?? ''}`} href={to}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

/** The viewer's zone; UTC when hovered. */
export function Time({ at, none = '–' }: { at: string | null; none?: string }) {
  return at ? (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at)}
    </time>
  ) : (
    <span class="muted">{none}</span>
  );
}

export function Money({ amount, sign }: { amount: Amount; sign?: boolean }) {
  return (
    <span class="number">
      {sign && isPositive(amount) ? '+' : ''}
      {money(amount)}
    </span>
  );
}

const TONES: Record<string, string> = {
  confirmed: 'good',
  approved: 'good',
  active: 'good',
  handled: 'good',
  delivered: 'good',
  answered: 'good',
  done: 'good',
  settled: 'good',
  succeeded: 'good',
  pending: 'wait',
  open: 'wait',
  requested: 'wait',
  waiting: 'wait',
  review: 'wait',
  unmatched: 'wait',
  failed: 'bad',
  on_hold: 'bad',
  draft: 'calm',
  cancelled: 'calm',
  closed: 'calm',
  off: 'calm',
  ignored: 'calm',
  expired: 'calm',
  rejected: 'bad',
  refunded: 'bad',
  revoked: 'bad',
  out_of_stock: 'bad',
  low: 'wait',
};
export function Badge({ status, children }: Children & { status: string }) {
  return <span class={`badge ${TONES[status] ?? 'calm'}`}>{children ?? words(status)}</span>;
}

interface PageProps extends Children {
  title: string;
  actions?: ComponentChildren;
  lead?: ComponentChildren;
  back?: [string, string];
}

/** A page's heading gets the focus when the page opens, so that keyboards and screen readers start there. */
export function Page({ title, actions, lead, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // With the page, not after it: who types at once keeps the focus, and the text.
  useLayoutEffect(() => {
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  useEffect(() => {
    document.title = `${title} – Administration`;
  }, [title]);
  return (
    <>
      {back && (
        <a class="back" href={back[0]}>
          ← {back[1]}
        </a>
      )}
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="muted">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Card({
  title,
  actions,
  children,
  flush,
}: Children & { title?: string; actions?: ComponentChildren; flush?: boolean }) {
  return (
    <section class={`card ${flush ? 'flush' : ''}`} aria-label={title}>
      {title && (
        <div class="card-head">
          <h2>{title}</h2>
          {actions && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** Facts about one thing: [label, value] pairs; pairs without a value are left out. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Says why nothing is here and what to do about it. */
export function Empty({ title, children, action }: Children & { title: string; action?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p class="muted">{children}</p>}
      {action}
    </div>
  );
}

export function Problem({ error, retry }: { error: Error; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <span>{error.message}</span>
      {retry && (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="spinner" />
      Loading…
    </div>
  );
}

/** The loaded content, the reason it failed, or a sign that it is loading. */
export function Load<T>({
  of,
  children,
}: {
  of: { data: T | undefined; error: Error | undefined; reload: () => void };
  children: (data: T) => ComponentChildren;
}) {
  if (of.data !== undefined)
    return (
      <>
        {of.error && <Problem error={of.error} retry={of.reload} />}
        {children(of.data)}
      </>
    );
  return of.error ? <Problem error={of.error} retry={of.reload} /> : <Loading />;
}

/** A text to copy: a key, a token. */
export function Secret({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
  };
  return (
    <div class="secret">
      <code aria-label={label}>{text}</code>
      {navigator.clipboard && (
        <Button small onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </div>
  );
}

// HTML that the server made of Markdown, as elements. The panel's policy lets no script parse HTML, so it is read here:
// only tags and attributes that the server writes become elements, everything else stays text.
import { h, type ComponentChildren, type VNode } from 'preact';

const TAGS = new Set([
  'a',
  'blockquote',
  'br',
  'code',
  'em',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'img',
  'li',
  'ol',
  'p',
  'pre',
  'strong',
  'ul',
]);
const VOID = new Set(['br', 'hr', 'img']);
const ATTRIBUTES: Record<string, string[]> = { a: ['href', 'title'], img: ['src', 'alt', 'title'], ol: ['start'] };
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const unescape = (text: string): string => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] ?? '');

function attributesOf(tag: string, text: string): Record<string, string> {
  const known = ATTRIBUTES[tag] ?? [];
  const found = [...text.matchAll(/([a-z]+)="([^"]*)"/g)].filter(([, name]) => known.includes(name ?? ''));
  const isSafe = ([, name, value]: RegExpMatchArray) =>
    (name !== 'href' && name !== 'src') || /^(https?:|mailto:|\/|#)/.test(value ?? '');
  return Object.fromEntries(found.filter(isSafe).map(([, name, value]) => [name, unescape(value ?? '')]));
}

/** The elements of a text, in order. */
export function elementsOf(html: string): ComponentChildren[] {
  const root: ComponentChildren[] = [];
  const open: { tag: string; attributes: Record<string, string>; children: ComponentChildren[] }[] = [];
  const here = () => open.at(-1)?.children ?? root;
  const close = () => {
    const last = open.pop();
    if (last) here().push(h(last.tag, last.attributes, last.children));
  };
  for (const [piece, slash, name = '', rest = ''] of html.matchAll(/<(\/?)([a-z0-9]+)([^>]*)>|[^<]+|</g)) {
    if (!TAGS.has(name)) here().push(unescape(piece));
    else if (slash) {
      if (open.some((o) => o.tag === name)) {
        while (open.at(-1)?.tag !== name) close();
        close();
      }
    } else if (VOID.has(name)) here().push(h(name, attributesOf(name, rest)));
    else open.push({ tag: name, attributes: attributesOf(name, rest), children: [] });
  }
  while (open.length > 0) close();
  return root;
}

export function Markup({ html }: { html: string }): VNode {
  return <div class="prose">{elementsOf(html)}</div>;
}

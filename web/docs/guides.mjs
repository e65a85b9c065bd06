// web/docs/guides.mjs - the Markdown of docs/ and of the root as pages. A link between the files, which is good on a forge, becomes a
// link between the pages; what is not served (sources, screenshots) becomes text.
import fs from 'node:fs';
import path from 'node:path';
import { Marked } from 'marked';
import { anchorOf } from './anchors.mjs';
import { drawSteps } from './states.mjs';

/** The files that are served, from the root. */
export function guideFiles(root) {
  const inside = (folder) =>
    fs
      .readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => path.join(folder, name));
  return [
    ...inside('docs'),
    ...inside('docs/decisions'),
    ...inside('.'),
    'web/shop/README.md',
    'clients/README.md',
  ].filter((file) => fs.existsSync(path.join(root, file)));
}

/** The last part of a page's address: docs/payments.md is `payments`, docs/decisions/README.md `decisions`. */
export function addressOf(file) {
  if (file === 'docs/README.md') return 'index';
  const bare = file.replace(/^docs\//, '').replace(/\.md$/, '');
  return bare
    .replace(/\/README$/, '')
    .replaceAll('/', '-')
    .toLowerCase();
}

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const plain = (tokens) => tokens.map((t) => (t.tokens ? plain(t.tokens) : (t.text ?? ''))).join('');

/** Where a link leads from the page of `file`: {href}, or {} when its target is not served. */
function target(root, file, href, assets) {
  if (/^[a-z]+:/.test(href)) return { href };
  if (href.startsWith('#')) return { href };
  if (href.startsWith('/')) return {};
  const [to, anchor] = href.split('#');
  let found = path.join(path.dirname(file), to);
  if (fs.existsSync(path.join(root, found, 'README.md'))) found = path.join(found, 'README.md');
  if (guideFiles(root).includes(found)) {
    const address = addressOf(found);
    return { href: `${address === 'index' ? './' : address}${anchor ? `#${anchor}` : ''}` };
  }
  const full = path.join(root, found);
  if (found.startsWith('clients/') && fs.existsSync(full) && fs.statSync(full).isFile()) {
    return { href: `../assets/${assets.addFile(`${path.basename(found)}.txt`, full)}` };
  }
  return {};
}

function render(root, file, assets) {
  const text = assets.read(path.join(root, file)).toString('utf8');
  let title = path.basename(file);
  let tables = 0;
  const marked = new Marked({ gfm: true });
  const renderer = {
    heading({ tokens, depth }) {
      const words = plain(tokens);
      if (depth === 1) title = words;
      return `<h${depth} id="${escape(anchorOf(words))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const to = target(root, file, href, assets);
      return to.href ? `<a href="${escape(to.href)}">${inner}</a>` : inner;
    },
    image({ text: alt }) {
      return `<em>${escape(alt)}</em>`;
    },
    table({ header, rows }) {
      const cells = (tag, row) => row.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('');
      const body = rows.map((row) => `<tr>${cells('td', row)}</tr>\n`).join('');
      return `<div class="scrolls" tabindex="0" role="region" aria-label="Table ${++tables}"><table><thead><tr>${cells('th', header)}</tr></thead>\n<tbody>${body}</tbody></table></div>\n`;
    },
    code({ text: inner, lang = '' }) {
      if (lang.startsWith('states ')) return drawSteps(lang.slice(7), inner, escape);
      return `<pre tabindex="0"><code>${escape(inner)}\n</code></pre>\n`;
    },
    html({ text: inner }) {
      return escape(inner);
    },
  };
  marked.use({ renderer });
  const content = marked.parse(text);
  return { title, content };
}

/** Map from address to page. */
export function readGuides(root, assets) {
  // A folder's time changes when a file is added to it.
  assets.inputs.push(...['docs', 'docs/decisions'].map((folder) => path.join(root, folder)));
  const frame = assets.read(path.join(root, 'web/docs/guide.html')).toString('utf8');
  return new Map(
    guideFiles(root).map((file) => {
      const { title, content } = render(root, file, assets);
      const page = assets
        .fill(frame)
        .replace('<!-- title -->', () => escape(title))
        .replace('<!-- content -->', () => content);
      return [addressOf(file), Buffer.from(page)];
    }),
  );
}

// tests/api/lib/browser.mjs - a browser without script: cookies, pages, forms.
//
//     const b = new Browser(souk.url);
//     await b.open('/p/some-product');
//     await b.submit('/cart/add', { quantity: 2 });      // the form of the page that leads there, with its hidden fields
import assert from 'node:assert/strict';
import { throughFaults } from './faults.mjs';

const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", nbsp: '\u00a0' };
export const unescape = (html) => html.replace(/&(lt|gt|amp|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);

/** The text of a page without its tags. */
export const textOf = (html) =>
  unescape(html.replace(/<script[\s\S]*?<\/script>/g, '').replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();

function attributes(tag) {
  const found = {};
  for (const [, name, , value] of tag.matchAll(/\s([a-z:-]+)(="([^"]*)")?/g))
    found[name] = value === undefined ? '' : unescape(value);
  return found;
}

/** The Set-Cookie lines of an answer; the fetch of Debian 12 joins them into one. */
const cookiesOf = (headers) =>
  headers.getSetCookie?.() ?? (headers.get('set-cookie') ?? '').split(/,\s*(?=[^;,=\s]+=)/).filter(Boolean);

/** Every form of a page: {action, method, fields: {name: value}}; of radio buttons the chosen one. */
export function formsOf(html) {
  return [...html.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)].map(([, head, inner]) => {
    const { action, method = 'get' } = attributes(head);
    const fields = {};
    for (const [, tag] of inner.matchAll(/<input([^>]*)>/g)) {
      const { name, value = '', type, checked } = attributes(tag);
      if (!name || ((type === 'radio' || type === 'checkbox') && checked === undefined)) continue;
      fields[name] = value;
    }
    for (const [, tag, text] of inner.matchAll(/<textarea([^>]*)>([\s\S]*?)<\/textarea>/g))
      fields[attributes(tag).name] = unescape(text);
    for (const [, tag, options] of inner.matchAll(/<select([^>]*)>([\s\S]*?)<\/select>/g)) {
      const chosen = /<option([^>]*)\sselected[^>]*>/.exec(options) ?? /<option([^>]*)>/.exec(options);
      fields[attributes(tag).name] = chosen ? attributes(chosen[0]).value : '';
    }
    return { action, method: method.toLowerCase(), fields };
  });
}

export class Browser {
  constructor(url, { language = 'en', headers = {} } = {}) {
    this.url = url;
    this.origin = new URL(url).origin;
    this.cookies = new Map();
    this.headers = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'Accept-Language': language, ...headers };
  }

  /** One request, redirects not followed: {status, headers, text, location, cookies}. */
  async request(method, path, options) {
    const answer = await throughFaults(this.origin, `${method} ${path} by a browser`, () =>
      this.#send(method, path, options),
    );
    for (const line of answer.set) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (/max-age=0\b/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  async #send(method, path, { body, headers = {} } = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(new URL(path, this.url), {
      method,
      redirect: 'manual',
      body,
      headers: {
        ...this.headers,
        ...(cookie ? { Cookie: cookie } : {}),
        ...(method === 'POST' ? { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin' } : {}),
        ...headers,
      },
    });
    return {
      status: answer.status,
      headers: answer.headers,
      text: await answer.text(),
      location: answer.headers.get('location'),
      set: cookiesOf(answer.headers),
    };
  }

  /** Opens a page, following redirects of ours; keeps it as the present one. */
  async open(path) {
    let answer = await this.request('GET', path);
    for (let i = 0; i < 5 && [302, 303, 307, 308].includes(answer.status); i++) {
      path = answer.location;
      answer = await this.request('GET', path);
    }
    this.path = path;
    this.page = answer.text;
    return answer;
  }

  /** The form of the present page that leads to this address (the n-th of them). */
  form(action, n = 0) {
    const found = formsOf(this.page).filter((f) => f.method === 'post' && (f.action ?? this.path) === action);
    assert.ok(found.length > n, `${this.path} has no form to ${action}:\n${textOf(this.page).slice(0, 500)}`);
    return found[n];
  }

  /** Sends raw fields. */
  post(path, fields, options = {}) {
    return this.request('POST', path, { body: new URLSearchParams(fields), ...options });
  }

  /** Fills in and sends a form; follows where it leads. Gives the answer of the form itself with `page` behind it. */
  async submit(action, fields = {}, { n = 0, expect } = {}) {
    const all = { ...this.form(action, n).fields, ...fields };
    for (const [name, value] of Object.entries(all)) if (value === null) delete all[name];
    const answer = await this.post(action, all);
    if (expect !== undefined) assert.equal(answer.status, expect, textOf(answer.text).slice(0, 600));
    if (answer.status === 303) await this.open(answer.location);
    else {
      this.page = answer.text;
      this.path = action;
    }
    return answer;
  }

  get text() {
    return textOf(this.page);
  }
}

// tests/web/lib/panel.mjs - a store, and the panel in a real browser that reports everything it should not say.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { dataOf } from '../../api/lib/http.mjs';
import { Shop } from '../../api/lib/shop.mjs';
import { startSouk } from '../../api/lib/souk.mjs';

/** Chromium without its windows, tabs and settings: the same engine for half the processor time. */
const CHROMIUM = '/usr/bin/chromium-headless-shell';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** A machine that is busy with other tests is slow. */
const PATIENCE_MS = 90000;

export const OWNER = { email: 'owner@example.com', password: 'correct horse battery', name: 'Olivia Owner' };

/** How long a browser waits for the next panel, which may be that of the next test file. */
const IDLE_MS = 2000;
let browser = null;
let panels = 0;
let idle = null;

/** One browser for all panels: to start it takes longer than most tests. */
async function browserContext() {
  clearTimeout(idle);
  panels += 1;
  browser ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS, headless: true, timeout: 120000 });
  return (await browser).newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
}

async function leaveBrowser(context) {
  await context?.close().catch(() => {});
  panels -= 1;
  if (panels > 0) return;
  idle = setTimeout(() => {
    void browser.then((b) => b.close());
    browser = null;
  }, IDLE_MS);
}

/** A fresh store without an owner, and a browser with nothing in it. Options as for startSouk. */
export async function openPanel(options = {}) {
  const souk = await startSouk({ engine: 'sqlite', ...options });
  try {
    return new Panel(souk, await browserContext());
  } catch (e) {
    browser = null;
    await souk.stop();
    throw e;
  }
}

export class Panel extends Shop {
  constructor(souk, context) {
    super(souk);
    this.context = context;
    /** Console errors, CSP violations, dialogs, failed requests: there must be none. */
    this.complaints = [];
    this.context.setDefaultTimeout(PATIENCE_MS);
  }

  async newPage(options = {}) {
    const page = this.context.pages().find((p) => p.url() === 'about:blank') ?? (await this.context.newPage());
    if (options.width) await page.setViewportSize({ width: options.width, height: options.height ?? 800 });
    page.on('console', (m) => {
      if (m.type() === 'error' && !this.isExpected(m))
        this.complaints.push(`console: ${m.text()} (${m.location().url})`);
    });
    page.on('pageerror', (e) => this.complaints.push(`error: ${e.stack ?? e}`));
    page.on('dialog', (d) => {
      this.complaints.push(`dialog: ${d.message()}`);
      void d.dismiss();
    });
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) =>
        console.error(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`),
      );
    });
    return page;
  }

  /** The browser itself writes a line about each answer of 4xx; refusals are part of the tests. */
  isExpected(message) {
    return /^Failed to load resource: the server responded with a status of (401|403|404|409|412|422) /.test(
      message.text(),
    );
  }

  get setupLink() {
    const token = /#setup=([A-Za-z0-9_-]+)/.exec(this.souk.stderr)?.[1];
    assert.ok(token, `the server printed no setup link:\n${this.souk.stderr}`);
    return `${this.souk.url}/admin/#setup=${token}`;
  }

  /** The first owner, made through the API; gives the token for calls of the test itself. */
  async makeOwner() {
    const token = this.setupLink.split('#setup=')[1];
    dataOf(await this.souk.post('/api/setup', { token, ...OWNER }), 201);
    this.ownerToken = dataOf(
      await this.souk.post('/api/auth/login', { email: OWNER.email, password: OWNER.password }),
    ).token;
    return this.ownerToken;
  }

  async admin(method, target, body, status = 200) {
    return dataOf(await this.souk.request(method, `/api/admin${target}`, { token: this.ownerToken, body }), status);
  }

  /** A payment that Stripe tells us of, signed with this secret. */
  async stripeTells(secret, { id, order, amount }) {
    const body = JSON.stringify({
      id,
      object: 'event',
      type: 'payment_intent.succeeded',
      created: Math.floor(Date.now() / 1000),
      livemode: false,
      data: {
        object: {
          id: `pi_${id}`,
          object: 'payment_intent',
          amount,
          amount_received: amount,
          currency: 'usd',
          metadata: { order_id: String(order) },
        },
      },
    });
    const at = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
    const answer = await this.souk.request('POST', '/webhook/card_gateway_a', {
      body,
      headers: { 'Stripe-Signature': `t=${at},v1=${mac}` },
    });
    assert.equal(answer.status, 200, answer.text);
  }

  async logIn(page, { email, password } = OWNER) {
    await page.goto(`${this.souk.url}/admin/`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
    // What the dashboard still reads must not meet what a test does to the session next.
    await this.settled(page);
  }

  /** Goes to a page of the panel by its address and waits until it is there. */
  async visit(page, hash, heading) {
    await page.goto(`${this.souk.url}/admin/#${hash}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await this.settled(page);
  }

  async settled(page) {
    await page.waitForFunction(() => !document.querySelector('.loading, [aria-busy="true"]'));
  }

  checkComplaints() {
    const found = this.complaints.splice(0);
    assert.deepEqual(found, [], `the browser complained:\n${found.join('\n')}`);
  }

  async stop() {
    await leaveBrowser(this.context);
    await this.souk.stop();
  }
}

/** What depends on the colour scheme; all else is the same in light and dark. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
/** What axe leaves off unless it is asked for. */
const MORE_RULES = [
  'color-contrast-enhanced',
  'css-orientation-lock',
  'focus-order-semantics',
  'hidden-content',
  'identical-links-same-purpose',
  'label-content-name-mismatch',
  'meta-refresh-no-exceptions',
  'p-as-heading',
  'table-fake-caption',
  'target-size',
  'td-has-header',
];

/** The same page in light, by all rules, and in dark, by those that are about colours. */
export async function checkAccessibleInBoth(page, where, { every = false } = {}) {
  await page.emulateMedia({ colorScheme: 'light' });
  await checkAccessible(page, `${where}, light`, { every });
  await page.emulateMedia({ colorScheme: 'dark' });
  const rules = every ? [...COLOUR_RULES, 'color-contrast-enhanced'] : COLOUR_RULES;
  await checkAccessible(page, `${where}, dark`, { rules });
}

/** No violation that axe knows of, in the page as it is; `rules`: only of these; `every`: also of MORE_RULES. */
export async function checkAccessible(page, where, { rules, every = false } = {}) {
  const more = every ? MORE_RULES.map((id) => [id, { enabled: true }]) : [];
  // Halfway from one colour to another there may be less contrast.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((a) => a instanceof CSSTransition)
        .map((a) => a.finished.catch(() => {})),
    ),
  );
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], rules: Object.fromEntries(more) }; // what is right is not described
  if (rules) options.runOnly = rules;
  const violations = await page.evaluate(async (how) => (await window.axe.run(document, how)).violations, options);
  const text = violations.map(
    (v) =>
      `${v.id} (${v.impact}): ${v.help}\n${v.nodes
        .slice(0, 4)
        .map((n) => `    ${n.html.slice(0, 200)}\n    ${n.failureSummary}`)
        .join('\n')}`,
  );
  assert.equal(violations.length, 0, `${where}:\n${text.join('\n')}`);
}

/** A message about what was done, which no earlier call has seen. */
export async function expectToast(page, text) {
  const words = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')); // a text would be found in small letters, too
  const toast = page.locator('.toast:not([data-seen])').filter({ hasText: words }).first();
  await toast.evaluate((element) => element.setAttribute('data-seen', ''));
}

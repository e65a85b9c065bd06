// tests/web/lib/shopper.mjs - a person who shops with a real browser, with script or without: what they do, step by
// step.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMail } from '../../api/lib/smtp.mjs';

const PATIENCE_MS = 90000;

/** Waits for a mail to this address whose text matches, and gives the match. */
export async function mailWith(sink, email, pattern) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const texts = sink.mails.filter((m) => m.to === email).map((m) => readMail(m.data).text);
    const found = texts.map((text) => pattern.exec(text)).find(Boolean);
    if (found) return found;
    assert.ok(Date.now() < deadline, `no mail to ${email} with ${pattern}:\n${texts.join('\n\n')}`);
    await sleep(50);
  }
}

export class Shopper {
  /** A page in a context of its own. Whatever the browser says of it is a complaint; requests elsewhere are, too. */
  static async come(panel, { width = 1280, scheme = 'light', script = true } = {}) {
    const context = await panel.context
      .browser()
      .newContext({
        viewport: { width, height: 800 },
        colorScheme: scheme,
        javaScriptEnabled: script,
        locale: 'en-GB',
      });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const { complaints } = panel;
    page.on('console', (m) => {
      if (!panel.isExpected(m)) complaints.push(`console: ${m.text()} (${page.url()})`);
    });
    page.on('pageerror', (e) => complaints.push(`error: ${e}`));
    page.on('dialog', (d) => {
      complaints.push(`dialog: ${d.message()}`);
      void d.dismiss();
    });
    page.on('request', (r) => {
      if (!r.url().startsWith(`${panel.souk.url}/`) && !r.url().startsWith('data:'))
        complaints.push(`asked: ${r.url()}`);
    });
    return new Shopper(panel, page);
  }

  constructor(panel, page) {
    this.panel = panel;
    this.page = page;
  }

  leave() {
    return this.page.context().close();
  }

  open(path) {
    return this.page.goto(this.panel.souk.url + path);
  }

  /** A button of the page itself, by its whole name. */
  button(name) {
    return this.page.getByRole('main').getByRole('button', { name, exact: true });
  }

  async fits(what = this.page.url()) {
    const [inner, scroll] = await this.page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    assert.ok(scroll <= inner, `${what}: ${scroll} pixels wide on ${inner}`);
  }

  /** Opens a page again and again until it shows this: what a gateway tells us takes a moment. */
  async openUntil(path, text) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      await this.open(path);
      if ((await this.page.getByText(text).count()) > 0) return;
      assert.ok(Date.now() < deadline, `${path} does not show ${text}`);
      await sleep(100);
    }
  }

  async find(words, name) {
    await this.page.getByRole('searchbox').fill(words);
    await this.page.getByRole('button', { name: 'Search' }).click();
    await this.page.getByRole('heading', { name }).click();
    await this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  async useCoupon(code) {
    await this.page.getByLabel('Coupon code').fill(code);
    await this.button('Apply').click();
  }

  /** From the checkout to the order's page, through the sandbox. */
  async payAtSandbox() {
    await this.page.waitForURL(/\/sandbox\/pay\//);
    await this.page.getByRole('button', { name: 'Pay', exact: true }).click();
    await this.page.getByRole('link', { name: 'Back to the shop' }).click();
  }

  async orderAndPay() {
    await this.button(/^Order and pay/).click();
  }

  /** The keys that the order's page shows once it is paid; until then it renews itself. */
  async keys() {
    await this.page.getByText('Thank you!').waitFor();
    const keys = await this.page.locator('.deliveries code').allTextContents();
    for (const key of keys) assert.match(key, /^[A-Z0-9-]{20,}$/);
    return keys;
  }

  /** What the page's download gives. */
  async download() {
    const [file] = await Promise.all([
      this.page.waitForEvent('download'),
      this.page.getByRole('link', { name: 'Download' }).click(),
    ]);
    const chunks = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  async choosePassword(link, password) {
    await this.page.goto(link);
    await this.page.getByLabel('New password').fill(password);
    await this.button('Save').click();
    await this.page.getByText('Your password was changed. You can log in now.').waitFor();
  }

  async logIn(email, password) {
    await this.open('/login');
    await this.page.getByLabel('E-mail address').fill(email);
    await this.page.getByLabel('Password').fill(password);
    await this.button('Log in').click();
    await this.page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
  }

  async ask(subject, message) {
    await this.open('/account/tickets');
    await this.page.getByLabel('Subject').fill(subject);
    await this.page.getByLabel('Message').fill(message);
    await this.button('Send').click();
    await this.page.getByRole('heading', { level: 1, name: subject }).waitFor();
    return Number(/\/(\d+)$/.exec(this.page.url())[1]);
  }
}

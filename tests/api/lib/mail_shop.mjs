// A shop with a mail server beside it: STARTTLS with a certificate of our own, a login, and everything that was sent kept.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { issue } from './certificates.mjs';
import { openPaidShop } from './gateways.mjs';
import { openSink, readMail } from './smtp.mjs';

/** The mail server alone: {sink, dir, args, env}, the last two for a store that sends through it. */
export async function openMailServer() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-mail-'));
  const made = issue('127.0.0.1');
  fs.writeFileSync(path.join(dir, 'ca.pem'), made.authority);
  const sink = await openSink({ ...made, login: { user: 'shop', password: 'p4ss' } });
  const args = [
    '--smtp-url',
    `smtp://127.0.0.1:${sink.port}`,
    '--smtp-user',
    'shop',
    '--mail-from',
    'shop@shop.example',
    '--ca-file',
    path.join(dir, 'ca.pem'),
  ];
  const stop = async () => {
    await sink.stop();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  return { sink, dir, args, env: { SOUK_SMTP_PASSWORD: 'p4ss' }, stop };
}

export async function openMailShop({ args = [] } = {}) {
  const server = await openMailServer();
  const { sink, dir, env } = server;
  const shop = await openPaidShop({ args: [...server.args, '--base-url', 'https://shop.example', ...args], env });

  /** Waits for mail number `count` to this address, of those with this subject; those that ask to confirm it are counted by themselves (`proof`). */
  async function mailTo(email, count = 1, { proof = false, subject } = {}) {
    const all = await shop.until(() => {
      const found = sink.mails
        .filter((m) => m.to === email)
        .map((m) => readMail(m.data))
        .filter((m) => (subject ? m.headers.subject === subject : proof === m.text.includes('/verify-email?token=')));
      return found.length >= count && found;
    }, `mail number ${count} to ${email}`);
    return all[count - 1];
  }

  async function stop() {
    await shop.stop();
    await server.stop();
  }

  return { shop, sink, dir, mailTo, stop };
}

// tests/api/lib/certificates.mjs - keys and certificates made with the openssl program, for tests that play a provider.
import { execFileSync } from 'node:child_process';
import { createSign } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';

const openssl = (args, cwd) => execFileSync('openssl', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });

/** Keys on a curve are made in no time, those of RSA in up to a second: three primes are found in half of the time of two. */
const CURVE = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
const RSA = ['rsa:2048', '-pkeyopt', 'rsa_keygen_primes:3'];

/** What was issued already, in this process, and in others that copy the same prepared stores: it is kept beside these. */
const issued = new Map();
const KEPT = process.env.SOUK_PREPARED ? JSON.parse(process.env.SOUK_PREPARED).dir : null;

/**
 * An authority and a certificate by it for `name`: {authority, certificate, key}, all PEM. `rsa`: the certificate's key is one of RSA.
 * `days`: 0 is for one that has lapsed; OpenSSL 3.5 makes none that ends before it begins. The same question has the same answer;
 * `another`: a new one that is equal in nothing but the name.
 */
export function issue(name, { days = 30, rsa = false, another = false } = {}) {
  if (another) return make(name, days, rsa);
  const question = `certificate-${name}-${days}${rsa ? '-rsa' : ''}`;
  if (!issued.has(question)) {
    const answer = KEPT ? keep(path.join(KEPT, question), () => make(name, days, rsa)) : make(name, days, rsa);
    issued.set(question, Object.freeze(answer));
  }
  return issued.get(question);
}

/** What is in the file, which is made first where it is missing: in one piece, and where two make it at once either is good. */
function keep(file, make) {
  if (!fs.existsSync(file)) {
    const own = `${file}.${process.pid}`;
    fs.writeFileSync(own, JSON.stringify(make()), { mode: 0o600 });
    fs.renameSync(own, file);
  }
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function make(name, days, rsa) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-cert-'));
  try {
    openssl(
      [
        'req',
        '-x509',
        '-newkey',
        ...CURVE,
        '-nodes',
        '-keyout',
        'ca.key',
        '-out',
        'ca.pem',
        '-days',
        '30',
        '-subj',
        '/CN=Test authority',
        '-addext',
        'basicConstraints=critical,CA:TRUE',
        '-addext',
        'keyUsage=critical,keyCertSign',
      ],
      dir,
    );
    openssl(
      [
        'req',
        '-newkey',
        ...(rsa ? RSA : CURVE),
        '-nodes',
        '-keyout',
        'leaf.key',
        '-out',
        'leaf.csr',
        '-subj',
        `/CN=${name}`,
      ],
      dir,
    );
    const isAddress = /^[\d.]+$/.test(name);
    fs.writeFileSync(
      path.join(dir, 'ext'),
      `basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n` +
        `extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${isAddress ? 'IP' : 'DNS'}:${name}\n` +
        'authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n',
    );
    openssl(
      [
        'x509',
        '-req',
        '-in',
        'leaf.csr',
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-out',
        'leaf.pem',
        '-days',
        String(days),
        '-extfile',
        'ext',
      ],
      dir,
    );
    const read = (file) => fs.readFileSync(path.join(dir, file), 'utf8');
    return { authority: read('ca.pem'), certificate: read('leaf.pem'), key: read('leaf.key') };
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** node:zlib has crc32 only in newer versions. */
export function checksum(bytes) {
  if (zlib.crc32) return zlib.crc32(bytes);
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** PayPal's headers over a body. */
export function paypalHeaders(
  raw,
  key,
  {
    webhookId = '5WH',
    id = `tr-${Math.random().toString(36).slice(2)}`,
    host = 'api.sandbox.paypal.com',
    path: certPath = 'CERT-1',
  } = {},
) {
  const time = new Date().toISOString();
  const sign = createSign('RSA-SHA256').update(`${id}|${time}|${webhookId}|${checksum(Buffer.from(raw))}`);
  return {
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': sign.sign(key, 'base64'),
    'paypal-cert-url': `https://${host}/v1/notifications/certs/${certPath}`,
    'paypal-auth-algo': 'SHA256withRSA',
  };
}

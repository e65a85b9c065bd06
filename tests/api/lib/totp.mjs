// tests/api/lib/totp.mjs - RFC 6238 with node's crypto: an independent second opinion.
import { createHmac } from 'node:crypto';

export function totp(secret, at = Date.now()) {
  let bits = '';
  for (const c of secret) bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0');
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const code = (mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000;
  return String(code).padStart(6, '0');
}

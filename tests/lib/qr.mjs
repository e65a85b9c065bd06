// tests/lib/qr.mjs - reads a QR code that is drawn as one SVG path, as a phone would.
import assert from 'node:assert/strict';
import jsqr from 'jsqr';

const SCALE = 4;

/** The text of a code of {size, path}. */
export function readQr({ size, path }) {
  const width = size * SCALE;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (const [, x, y, w, back] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-(\d+)z/g)) {
    assert.equal(w, back);
    for (let row = y * SCALE; row < (Number(y) + 1) * SCALE; row++)
      for (let column = x * SCALE; column < (Number(x) + Number(w)) * SCALE; column++)
        pixels.fill(0, (row * width + column) * 4, (row * width + column) * 4 + 3);
  }
  return jsqr(pixels, width, width)?.data;
}

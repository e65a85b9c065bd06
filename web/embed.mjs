// web/embed.mjs - writes files as a C table of `struct web_file` (src/api/open/web_file.h).
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpeg': 'image/jpeg',
  '.txt': 'text/plain; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
};

export function hash(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/** C string literals, a line each; octal escapes end after three digits, so a digit may follow. */
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 100) {
    let line = '';
    for (const b of bytes.subarray(at, at + 100)) {
      const plain = b >= 0x20 && b < 0x7f && b !== 0x22 && b !== 0x5c && b !== 0x3f;
      line += plain ? String.fromCharCode(b) : `\\${b.toString(8).padStart(3, '0')}`;
    }
    lines.push(`"${line}"`);
  }
  return lines.join('\n') || '""';
}

function row(name, plain, isPacked) {
  const gzip = gzipSync(plain, { level: 9 });
  const etag = hash(plain).slice(0, 32);
  const head = `"${name}", "${TYPES[path.extname(name)] ?? TYPES['.html']}", "\\"${etag}\\"", "\\"${etag}-gz\\""`;
  const bytes = isPacked ? 'NULL' : literal(plain);
  return `    {${head},\n${bytes},\n${literal(gzip)},\n     ${plain.length}, ${gzip.length}},\n`;
}

/**
 * Writes tables ({name: Map of file name → Buffer}), and what they were made from for the build.
 *   header  declares the tables
 *   packed  true: as gzip only
 */
export function embed({ output, depfile, header, tables, inputs, packed = false }) {
  const source = Object.entries(tables).map(([table, files]) => {
    const rows = [...files].map(([name, bytes]) => row(name, bytes, packed)).join('');
    return `const struct web_file ${table}[] = {\n${rows}    {0},\n};\n`;
  });
  fs.writeFileSync(output, `/* Made by a program in web/. */\n#include "${header}"\n\n${source.join('\n')}`);
  fs.writeFileSync(depfile, `${output}: ${inputs.map((f) => f.replaceAll(' ', '\\ ')).join(' ')}\n`);
}

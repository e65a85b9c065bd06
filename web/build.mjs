// web/build.mjs - bundles the admin panel and writes it as a C table (src/api/open/panel.h).
//
//     node web/build.mjs OUTPUT.c DEPFILE
//
// Names carry a hash of the content. Everything is kept twice, plain and as gzip: a client that takes no gzip is served
// without a compressor in the server.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);
const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.html': 'text/html; charset=utf-8',
};

/** Icons become plain data, [[tag, attributes], …]: no markup is parsed in the browser. */
const icons = {
  name: 'icons',
  setup(build) {
    build.onLoad({ filter: /lucide-static.*\.svg$/ }, ({ path: file }) => {
      const inner = fs.readFileSync(file, 'utf8').replace(/^[\s\S]*?<svg[^>]*>/, '');
      const nodes = [...inner.matchAll(/<([a-z]+)\s([^>]*?)\/?>/g)].map(([, tag, attributes]) => [
        tag,
        Object.fromEntries([...attributes.matchAll(/([a-z0-9-]+)="([^"]*)"/g)].map(([, k, v]) => [k, v])),
      ]);
      if (nodes.length === 0) throw new Error(`${file}: no shapes found`);
      return { contents: `export default ${JSON.stringify(nodes)}`, loader: 'js' };
    });
  },
};

/** Gives {files: Map name → Buffer, inputs: [path]}. */
export async function bundle() {
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { app: 'web/src/main.tsx', style: 'web/src/style/main.css' },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    outdir: 'out',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    write: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [icons],
  });
  const files = new Map(result.outputFiles.map((f) => [path.basename(f.path), Buffer.from(f.contents)]));
  const icon = fs.readFileSync(path.join(here, 'icon.svg'));
  files.set(`icon-${hash(icon).slice(0, 8)}.svg`, icon);

  const named = (start) => [...files.keys()].find((name) => name.startsWith(start));
  const page = fs.readFileSync(path.join(here, 'index.html'), 'utf8').replace(/\{\{(\w+)\}\}/g, (_, word) => {
    const name = named(`${word}-`);
    if (!name) throw new Error(`index.html names ${word}, which was not built`);
    return `assets/${name}`;
  });
  files.set('index.html', Buffer.from(page));
  const inputs = Object.keys(result.metafile.inputs).map((f) => path.join(root, f));
  const others = [path.join(here, 'index.html'), path.join(here, 'icon.svg'), fileURLToPath(import.meta.url)];
  return { files, inputs: [...inputs, ...others] };
}

function hash(bytes) {
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

function row(name, plain) {
  const gzip = gzipSync(plain, { level: 9 });
  const etag = hash(plain).slice(0, 32);
  const head = `"${name}", "${TYPES[path.extname(name)]}", "\\"${etag}\\"", "\\"${etag}-gz\\""`;
  return `    {${head},\n${literal(plain)},\n${literal(gzip)},\n     ${plain.length}, ${gzip.length}},\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [output, depfile] = process.argv.slice(2);
  const { files, inputs } = await bundle();
  const rows = [...files].map(([name, bytes]) => row(name, bytes)).join('');
  const head = '/* Made by web/build.mjs. */\n#include "api/open/panel.h"\n\n';
  fs.writeFileSync(output, `${head}const struct panel_file panel_files[] = {\n${rows}    {0},\n};\n`);
  fs.writeFileSync(depfile, `${output}: ${inputs.map((f) => f.replaceAll(' ', '\\ ')).join(' ')}\n`);
}

// web/build.mjs - bundles the admin panel and writes it as a C table (src/api/open/panel.h).
//
//     node web/build.mjs OUTPUT.c DEPFILE
//
// Names carry a hash of the content. Everything is kept twice, plain and as gzip: a client that takes no gzip is served
// without a compressor in the server.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { embed, hash } from './embed.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);

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
  const others = [path.join(here, 'index.html'), path.join(here, 'icon.svg'), path.join(here, 'embed.mjs')];
  return { files, inputs: [...inputs, ...others, fileURLToPath(import.meta.url)] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [output, depfile] = process.argv.slice(2);
  const { files, inputs } = await bundle();
  embed({ output, depfile, header: 'api/open/panel.h', tables: { panel_files: files }, inputs });
}

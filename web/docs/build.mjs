// web/docs/build.mjs - the reference and the guides as C tables (src/api/open/docs.h).
//
//     node web/docs/build.mjs OUTPUT.c DEPFILE
//
// Kept as gzip only: Swagger UI is 1.9 MB otherwise.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { embed, hash } from '../embed.mjs';
import { readGuides } from './guides.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const swagger = path.join(root, 'node_modules/swagger-ui-dist');

/** Assets by their given names; each is served under a name that carries its hash. */
class Assets {
  files = new Map();
  names = new Map();
  inputs = [];

  add(given, bytes) {
    const { name, ext } = path.parse(given);
    const full = `${name}-${hash(bytes).slice(0, 8)}${ext}`;
    this.names.set(given, full);
    this.files.set(full, Buffer.from(bytes));
    return full;
  }

  addFile(given, file) {
    return this.add(given, this.read(file));
  }

  read(file) {
    this.inputs.push(file);
    return fs.readFileSync(file);
  }

  /** A page with its {{asset}}s named. */
  fill(text) {
    return text.replace(/\{\{([^}]+)\}\}/g, (_, given) => {
      const full = this.names.get(given);
      if (!full) throw new Error(`${given} is not among the assets`);
      return full;
    });
  }
}

/** Pictures inside a style sheet become files: the policy of the page has no `data:`. */
function takeOutPictures(assets, css) {
  let n = 0;
  return css.replace(/url\((?:"((?:[^"\\]|\\.)*)"|([^")]*))\)/g, (whole, quoted, bare) => {
    const found = /^data:image\/([a-z]+)(?:\+xml)?(;base64)?[^,]*,([\s\S]*)$/.exec(
      quoted?.replace(/\\(.)/g, '$1') ?? bare,
    );
    if (!found) throw new Error(`${whole.slice(0, 80)}: neither a picture nor in here`);
    const [, kind, base64, data] = found;
    const bytes = base64
      ? Buffer.from(data, 'base64')
      : Buffer.from(data.includes('<') ? data : decodeURIComponent(data));
    n += 1;
    return `url(${assets.add(`swagger-${n}.${kind}`, bytes)})`;
  });
}

function withoutSourceMap(bytes) {
  return bytes.toString('utf8').replace(/\n?\/[/*]# sourceMappingURL=\S+( \*\/)?\s*$/, '\n');
}

export function bundle() {
  const assets = new Assets();
  assets.addFile('icon.svg', path.join(root, 'web/icon.svg'));
  assets.addFile('reference.css', path.join(here, 'reference.css'));
  assets.addFile('reference.js', path.join(here, 'reference.js'));
  assets.addFile('guide.css', path.join(here, 'guide.css'));
  assets.addFile('shop.css', path.join(root, 'web/shop/assets/shop.css'));
  assets.add('swagger-ui-bundle.js', withoutSourceMap(assets.read(path.join(swagger, 'swagger-ui-bundle.js'))));
  assets.add(
    'swagger-ui.css',
    takeOutPictures(assets, withoutSourceMap(assets.read(path.join(swagger, 'swagger-ui.css')))),
  );
  const licences = ['NOTICE', 'LICENSE', 'swagger-ui-bundle.js.LICENSE.txt'];
  assets.add('swagger-ui-license.txt', Buffer.concat(licences.map((f) => assets.read(path.join(swagger, f)))));
  const guides = readGuides(root, assets);
  const reference = assets.read(path.join(here, 'reference.html')).toString('utf8');
  assets.files.set('index.html', Buffer.from(assets.fill(reference)));
  const programs = ['build.mjs', 'guides.mjs', 'anchors.mjs', 'states.mjs', '../embed.mjs'].map((f) =>
    path.join(here, f),
  );
  return { assets: assets.files, guides, inputs: [...assets.inputs, ...programs] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [output, depfile] = process.argv.slice(2);
  const { assets, guides, inputs } = bundle();
  const tables = { docs_assets: assets, docs_guides: guides };
  embed({ output, depfile, header: 'api/open/docs.h', tables, inputs, packed: true });
}

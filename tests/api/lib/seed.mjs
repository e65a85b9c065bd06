// tests/api/lib/seed.mjs - puts rows straight into a server's database, for what a test needs and the API does not make.
//
//     const seed = seeder(souk);
//     const product = seed.product({ name: 'Editor', price: 1999 });      // money in minor units, times in milliseconds
//
// Rows are written through the engine's own shell, beside the running server. On SQLite only the server's writer may
// checkpoint, so the shell never does. What customers see of the catalogue changes its revision, as the program would.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { sql as postgres } from '../../lib/pg.mjs';
import { sqlite as shell } from '../../lib/sqlite.mjs';
import { BUILD } from '../../lib/build.mjs';

const BUSY_MS = 20000;
const SEPARATOR = '\x1f';

function sqlite(file, text) {
  const calm = `.timeout ${BUSY_MS}\n.once /dev/null\nPRAGMA wal_autocheckpoint=0;\nPRAGMA foreign_keys=ON;\n`;
  return shell(['-noheader', '-separator', SEPARATOR], file, `${calm}${text}`).trimEnd();
}

/** A value as a literal that both engines read alike. */
export function literal(value) {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return `'${String(value).replaceAll("'", "''")}'`;
}

export function seeder(server) {
  return new Seeder(server.engine, server.dbArg, server.env);
}

class Seeder {
  constructor(engine, dbArg, env) {
    this.engine = engine;
    this.dbArg = dbArg;
    this.env = env;
  }

  /** Statements, ended by semicolons, in one transaction; gives the rows of all of them as arrays of text. */
  sql(text) {
    const whole = `BEGIN${this.engine === 'sqlite' ? ' IMMEDIATE' : ''};\n${text}\nCOMMIT;\n`;
    const out = this.engine === 'sqlite' ? sqlite(this.dbArg, whole) : postgres(this.dbArg, whole, SEPARATOR);
    return out === '' ? [] : out.split('\n').map((line) => line.split(SEPARATOR));
  }

  /** The first column of the first row as a number. */
  number(text) {
    const rows = this.sql(`${text};`);
    return rows.length > 0 && rows[0][0] !== '' ? Number(rows[0][0]) : null;
  }

  #insert(table, row, more = '') {
    const names = Object.keys(row);
    const values = names.map((n) => literal(row[n]));
    const rows = this.sql(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values.join(', ')}) RETURNING id;\n${more}`,
    );
    return { id: Number(rows[0][0]), ...row };
  }

  /** Changes one row; `key` names it: an id, or an object of columns. */
  update(table, key, row) {
    const set = Object.entries(row)
      .map(([n, v]) => `${n} = ${literal(v)}`)
      .join(', ');
    const where = Object.entries(typeof key === 'object' ? key : { id: key })
      .map(([n, v]) => `${n} = ${literal(v)}`)
      .join(' AND ');
    this.sql(`UPDATE ${table} SET ${set} WHERE ${where};\n${TOUCH}`);
  }

  product(row = {}) {
    const name = row.name ?? `Product ${randomBytes(4).toString('hex')}`;
    const now = Date.now();
    return this.#insert(
      'product',
      {
        slug: slugOf(name),
        price: 1000,
        delivery_type: 'license_key',
        is_active: true,
        created_at: now,
        updated_at: now,
        ...row,
        name,
      },
      TOUCH,
    );
  }

  variant(product, row = {}) {
    return this.#insert(
      'variant',
      { product_id: product.id ?? product, name: `Variant ${randomBytes(4).toString('hex')}`, price: 1000, ...row },
      TOUCH,
    );
  }

  /** products: the ones it is for, ids or rows. */
  coupon({ products = [], ...row } = {}) {
    const coupon = this.#insert('coupon', {
      code: `C${randomBytes(6).toString('hex').toUpperCase()}`,
      kind: 'percent',
      value: 1000,
      created_at: Date.now(),
      ...row,
    });
    for (const p of products) {
      this.sql(`INSERT INTO coupon_product (coupon_id, product_id) VALUES (${coupon.id}, ${p.id ?? p});`);
    }
    return coupon;
  }

  /** Codes for a product's pool, or with `variant` for that of one variant. */
  serials(product, codes, variant = 0) {
    const rows = this.sealed(codes).map(
      ([hash, sealed]) => `(${product.id ?? product}, ${variant.id ?? variant}, ${hash}, ${sealed})`,
    );
    this.sql(
      `INSERT INTO serial (product_id, variant_id, code_hash, sealed_code) VALUES ${rows.join(', ')};\n${TOUCH}`,
    );
  }

  /** Codes as they are stored: [hash, sealed] as literals. Sealed by a program of the build, with the store's master key. */
  sealed(codes) {
    const out = execFileSync(path.join(BUILD, 'tests/unit/seal_codes'), [path.join(`${this.dbArg}.d`, 'master.key')], {
      encoding: 'utf8',
      input: `${codes.join('\n')}\n`,
      env: { ...process.env, ...this.env },
      maxBuffer: 1 << 28,
    });
    const bytes = (hex) => (this.engine === 'sqlite' ? `X'${hex}'` : `'\\x${hex}'::bytea`);
    return out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ').map(bytes));
  }

  /** The hash that a code is found by, as a literal. */
  codeHash(code) {
    return this.sealed([code])[0][0];
  }

  department(row = {}) {
    return this.#insert('department', { name: `Department ${randomBytes(4).toString('hex')}`, ...row });
  }
}

const TOUCH = "UPDATE revision SET number = number + 1 WHERE name = 'catalog';";

function slugOf(name) {
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'product';
  return `${base}-${randomBytes(4).toString('hex')}`;
}

// tests/lib/store.mjs - a store that already has customers, money and departments when its server starts. All of it is made
// by the program's own commands, except what only staff can make: that is written into the database.
import assert from 'node:assert/strict';
import { Souk, freshStore, runSouk } from '../api/lib/souk.mjs';
import { execute } from './sql.mjs';

const quote = (text) => `'${text.replaceAll("'", "''")}'`;

/** Runs a command on a database that no server needs to hold; gives its output without the line end. Options as for runSouk. */
export async function command(database, args, expectedCode = 0, options = {}) {
  const where = { cwd: database.dir, env: database.env };
  const run = await runSouk([...args, '--db', database.dbArg], { ...where, ...options });
  assert.equal(run.code, expectedCode, `souk ${args.join(' ')}: ${run.code}\n${run.stdout}${run.stderr}`);
  return run.stdout.trimEnd();
}

/**
 *   customers    {name: balance | null} or {name: {balance, credit_limit (minor units), credits: [[amount, description]], role}}
 *   departments  names; an inactive one is {name, is_active: 0}
 *   currency     default USD
 *   sql          more statements, run last
 *   engine, args as for startSouk
 * Gives {souk, database, stop(), [name]: {id, email, token}}; departments are numbered from 1.
 */
export async function startStore({ customers = {}, departments = [], currency, sql, engine, args } = {}) {
  const database = freshStore(engine);
  const store = { database };
  const make = (args) => command(database, args, 0, { helps: true });
  try {
    if (currency) await make(['init', '--currency', currency]);
    for (const [name, wish] of Object.entries(customers)) {
      const {
        balance = null,
        credit_limit = 0,
        credits = [],
        role = 'customer',
      } = typeof wish === 'object' && wish !== null ? wish : { balance: wish };
      const email = `${name}@example.com`;
      const id = Number(await make(['account', 'create', '--email', email, '--name', name, '--role', role]));
      if (balance !== null) credits.push([balance, 'Opening balance']);
      for (const [amount, description] of credits) {
        await make(['wallet', 'credit', '--email', email, '--amount', amount, '--description', description]);
      }
      if (credit_limit) {
        execute(
          database.dbArg,
          `INSERT INTO ledger_account (kind, owner_id, credit_limit) VALUES ('wallet', ${id}, ${credit_limit})
          ON CONFLICT (owner_id) DO UPDATE SET credit_limit = excluded.credit_limit`,
        );
      }
      const token = await make(['token', 'create', '--email', email]);
      store[name] = { id, email, token };
    }
    for (const d of departments) {
      const { name, is_active = 1 } = typeof d === 'string' ? { name: d } : d;
      execute(database.dbArg, `INSERT INTO department (name, is_active) VALUES (${quote(name)}, ${is_active})`);
    }
    if (sql) execute(database.dbArg, sql);
    store.souk = new Souk({ database, args });
    await store.souk.start();
  } catch (e) {
    database.remove();
    throw e;
  }
  store.stop = async () => {
    try {
      await store.souk.stop();
    } finally {
      database.remove();
    }
  };
  return store;
}

// tests/api/lib/admin.mjs - a server with an owner, a member of staff, and calls made as them.
import assert from 'node:assert/strict';
import { dataOf } from './http.mjs';
import { Souk, freshStore } from './souk.mjs';

/** {souk, owner, staff, customer(), stop()}; owner and staff call as themselves: owner.get(path), owner.post(path, body) … */
export async function openOffice({ args, limited, dear } = {}) {
  const database = freshStore(undefined, 'office');
  const office = { database, souk: new Souk({ database, args, limited, dear }) };
  await office.souk.start();
  for (const [role, account] of Object.entries(database.accounts))
    office[role] = { ...account, ...callsAs(office.souk, account.token) };

  let number = 0;
  /** A customer made by staff, with a token and money: {id, email, token, get, post …}. */
  office.customer = async ({ balance = 0, credit_limit } = {}) => {
    const made = dataOf(
      await office.owner.post('/api/admin/customers', {
        email: `c${++number}@example.com`,
        name: `Customer ${number}`,
      }),
      201,
    );
    const { token } = dataOf(await office.owner.post(`/api/admin/customers/${made.id}/tokens`, { name: 'test' }), 201);
    if (balance)
      dataOf(
        await office.owner.post(`/api/admin/customers/${made.id}/wallet`, { amount: balance, description: 'Gift' }),
      );
    if (credit_limit !== undefined)
      dataOf(await office.owner.patch(`/api/admin/customers/${made.id}`, { credit_limit }));
    return { id: made.id, email: made.email, token, ...callsAs(office.souk, token) };
  };
  /** A product on sale. */
  office.product = async (members = {}) =>
    dataOf(
      await office.owner.post('/api/admin/products', {
        name: `Product ${++number}`,
        price: 10,
        delivery_type: 'license_key',
        is_active: true,
        ...members,
      }),
      201,
    );
  /** The newest audit entry, which must be this action. */
  office.audited = async (action) => {
    const [newest] = dataOf(await office.owner.get('/api/admin/audit?limit=1'));
    assert.equal(newest.action, action);
    return newest;
  };
  office.stop = async () => {
    try {
      await office.souk.stop();
    } finally {
      database.remove();
    }
  };
  return office;
}

export function callsAs(souk, token) {
  return {
    get: (target, options = {}) => souk.get(target, { token, ...options }),
    post: (target, body, options = {}) => souk.post(target, body, { token, ...options }),
    put: (target, body, options = {}) => souk.put(target, body, { token, ...options }),
    patch: (target, body, options = {}) => souk.patch(target, body, { token, ...options }),
    delete: (target, options = {}) => souk.delete(target, { token, ...options }),
  };
}

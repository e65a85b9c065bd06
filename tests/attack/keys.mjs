// Long answers, each kept under an Idempotency-Key of its own.
import fs from 'node:fs';

const bytesOf = (file) =>
  [file, `${file}-wal`].reduce((sum, f) => sum + (fs.existsSync(f) ? fs.statSync(f).size : 0), 0);

export default {
  name: 'keys',
  what: 'replies of 60 kB, each with an Idempotency-Key of its own',
  async prepare({ souk, owner }) {
    const { token } = await souk.customer();
    const made = await owner.post('/api/admin/departments', { name: 'Help' });
    const ticket = await souk.post(
      '/api/customer/tickets',
      { department_id: made.json.data.id, subject: 'Long', message: 'x' },
      { token },
    );
    return { token, id: ticket.json.data.id };
  },
  async run({ souk, token, id }, size) {
    const count = size === 'full' ? 1000 : 200;
    const body = { message: '€'.repeat(20000) };
    let first;
    for (let i = 0; i < count; i++) {
      const answer = await souk.post(`/api/customer/tickets/${id}/replies`, body, {
        token,
        headers: { 'Idempotency-Key': `k${i}` },
      });
      first ??= answer.status;
    }
    const replay = await souk.post(`/api/customer/tickets/${id}/replies`, body, {
      token,
      headers: { 'Idempotency-Key': 'k0' },
      unchecked: true,
    });
    const written = souk.engine === 'sqlite' ? bytesOf(souk.dbArg) / 2 ** 20 : 0;
    return {
      answers: count,
      'MiB in the database': written,
      'MiB of messages': (count * 60000) / 2 ** 20,
      'first key again': replay.status,
    };
  },
};

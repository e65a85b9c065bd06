// One account with twenty tokens, each used as quickly as its own limit allows.
export default {
  name: 'tokens',
  what: 'an account with 20 tokens, each with a limit of 10 calls a minute',
  limited: true,
  args: ['--rate-v1', '10', '--rate-customer', '0'],
  async prepare({ souk }) {
    const { token } = await souk.customer();
    const tokens = [];
    for (let i = 0; i < 20; i++) {
      tokens.push(
        (await souk.post('/api/customer/tokens', { name: `t${i}`, scopes: ['verify'] }, { token })).json.data.token,
      );
    }
    return { tokens };
  },
  async run({ souk, tokens }) {
    let passed = 0;
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all(
        tokens.map((token) =>
          souk.post('/api/v1/license/verify', { license_key: 'AAAAA-AAAAA-AAAAA-AAAAA-AAAAA' }, { token }),
        ),
      );
      passed += answers.filter((a) => a.status !== 429).length;
    }
    return { 'calls passed': passed };
  },
};

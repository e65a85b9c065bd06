// tests/arrows/planted.mjs - wrongs that are planted in a copy of some sources, to see that a rule finds them.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/**
 * Gives planted(t, file, extra): the folder of a copy of `sources` with `extra` appended to or created as `file`, until the test
 * ends. A test file has one copy: to make one takes far longer than to look at it.
 */
export function plantingIn(sources) {
  let copy = null;
  after(() => copy && fs.rmSync(copy, { recursive: true, force: true }));

  return function planted(t, file, extra) {
    if (!copy) {
      copy = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-planted-'));
      fs.cpSync(sources, copy, { recursive: true });
    }
    const target = path.join(copy, file);
    const earlier = fs.existsSync(target) ? fs.readFileSync(target) : null;
    const folder = fs.mkdirSync(path.dirname(target), { recursive: true }); // the first that had to be made
    fs.appendFileSync(target, extra);
    t.after(() => {
      if (earlier) fs.writeFileSync(target, earlier);
      else fs.rmSync(folder ?? target, { recursive: true });
    });
    return copy;
  };
}

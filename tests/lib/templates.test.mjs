// tests/lib/templates.test.mjs - the compiler of the shop's templates: every mistake stops the build and names its file and line.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RECORDS = 'record line\n  name text\n  price money\n  link url\nrecord box\n  lines list line\n';
const PARAMS =
  '{% param name text %}\n{% param body markup %}\n{% param link url %}\n{% param price money %}\n{% param when time %}\n' +
  '{% param n int %}\n{% param ok bool %}\n{% param lines list line %}\n{% param state word %}\n';
const FIRST = PARAMS.split('\n').length;
const EN =
  'hello = Hello\nhi = Hi {name}\nitems.one = {count} item\nitems.other = {count} items\nuntil = until {when:date}\n';

const KINDS = 'every\n  store text Shop\n\nmail order customer\n  number text 12\n  items list * a\n  link url /x\n';
const MAILS = '# Mails\n\n== order\nOrder {{number}}\n\n{{ items }}\n\n[x]({{link}}) {{store}}\n';

/** One process for all tests: an interpreter takes longer to start than to compile (pages.py). */
const compiler = spawn('python3', ['-B', path.join(ROOT, 'tests/lib/pages.py')], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = readline.createInterface({ input: compiler.stdout })[Symbol.asyncIterator]();
after(() => compiler.stdin.end());

/** Compiles a folder made of `files`; gives { status, said, c }. */
async function compile(t, files) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-templates-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({
    'words/en': EN,
    records: RECORDS,
    'mail/kinds': KINDS,
    'mail/en': MAILS,
    'assets/a.css': 'a { b: c }',
    ...files,
  })) {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    fs.writeFileSync(path.join(dir, name), text);
  }
  const at = (name) => path.join(dir, name);
  compiler.stdin.write(`${[at('said'), dir, at('o.c'), at('o.h'), at('o.d')].join('\t')}\n`);
  const status = Number((await answers.next()).value);
  const c = status === 0 ? fs.readFileSync(at('o.c'), 'utf8') : '';
  return { status, said: fs.readFileSync(at('said'), 'utf8').replaceAll(`${dir}/`, '').trim(), c };
}

/** Each stands alone on the line behind the parameters. */
const WRONG = {
  'an unknown parameter': ['<p>{{ nmae }}</p>', /no parameter is called nmae/],
  'an unknown field': ['{% for l in lines %}<p>{{ l.size }}</p>{% end %}', /a line has no size/],
  'a missing word': ['<p>{{ @hullo }}</p>', /no word is called hullo/],
  'a word without its argument': ['<p>{{ @hi }}</p>', /wants name/],
  'a word with an argument too many': ['<p>{{ @hello name=name }}</p>', /has no \{name\}/],
  'a word with an argument of another type': ['<p>{{ @items count=name }}</p>', /is int, not text/],
  'a value as a tag': ['<{{ name }}>', /opens no tag/],
  'a value as an attribute': ['<p {{ name }}></p>', /needs quotes around it/],
  'a tag that goes on behind a condition': ['<p{% if ok %}re{% end %}></p>', /not an attribute/],
  'an attribute without quotes': ['<p class={{ name }}></p>', /needs quotes/],
  'an attribute in single quotes': ["<p class='x'></p>", /needs quotes/],
  'text at the start of an address': ['<a href="{{ name }}">x</a>', /no url, but text/],
  'an address of an unknown scheme': ['<a href="x:{{ name }}">x</a>', /no known scheme/],
  'an address that runs': ['<a href="javascript:x">x</a>', /not an address/],
  'a condition at the start of an address': [
    '<a href="{% if ok %}{{ link }}{% end %}">x</a>',
    /begins with a condition/,
  ],
  'markup in an attribute': ['<p title="{{ body }}"></p>', /only text can stand/],
  'markup in a title': ['<title>{{ body }}</title>', /only text can stand/],
  'markup in script data': ['<script type="application/ld+json">{"a": {{ body }}}</script>', /only text can stand/],
  'a value in a string of script data': [
    '<script type="application/ld+json">{"a": "{{ name }}"}</script>',
    /own quotes/,
  ],
  'script in a page': ['<script>alert(1)</script>', /a script is a file of ours/],
  'a script from elsewhere': ['<script src="https://x.example/a.js"></script>', /a script is a file of ours/],
  'a style': ['<style>a { }</style>', /<style> has no place/],
  'a style attribute': ['<p style="color: red"></p>', /style has no place/],
  'an event attribute': ['<p onclick="x()"></p>', /onclick has no place/],
  'a value in an attribute that takes none': ['<input type="{{ name }}">', /takes no values/],
  'a value in a comment': ['<!-- {{ name }} -->', /comment/],
  'an unclosed tag': ['<p><b>{{ name }}</b>', /<p> is not closed/],
  'tags that overlap': ['<p><b></p></b>', /<\/p> closes <b>/],
  'a branch that leaves a tag open': ['{% if ok %}<p>{% end %}</p>', /ends somewhere else/],
  'a branch that leaves a quote open': ['<p {% if ok %}class="{% end %}"></p>', /ends somewhere else/],
  'a loop over no list': ['{% for l in name %}{% end %}', /is no list/],
  'an `if` without its end': ['{% if ok %}', /without its `end`/],
  'an end of nothing': ['{% end %}', /`end` of nothing/],
  'a time without its manner': ['<p>{{ when }}</p>', /not shown as it is: one of date/],
  'an unknown manner': ['<p>{{ price | big }}</p>', /not shown as big/],
  'a list as a value': ['<p>{{ lines }}</p>', /is a list line/],
  'a bool as a value': ['<p>{{ ok }}</p>', /not shown/],
  'and with or': ['{% if ok and n or name %}{% end %}', /which first/],
  'texts compared with numbers': ['{% if name == 3 %}{% end %}', /are not compared/],
  'an unknown part': ['{% include nothing %}', /no part is called nothing/],
  'a part without its parameter': ['{% include part %}', /part wants title/],
  'a part with another type': ['{% include part title=n %}', /is text, not int/],
  'an unknown statement': ['{% while ok %}', /not a statement/],
  'an unknown file': ['<p>{{ asset b.css }}</p>', /no file of assets/],
  'a brace that opens nothing': ['<p>{{ name }</p>', /a brace/],
  'a bare <': ['<p>1 < 2</p>', /opens no tag/],
  'the same attribute twice': ['<p class="a" class="b"></p>', /twice/],
};
for (const [what, [line, said]] of Object.entries(WRONG)) {
  test(`${what} is refused`, async (t) => {
    const out = await compile(t, {
      'x.html': `${PARAMS}${line}\n`,
      'part.html': '{% param title text %}\n<p>{{ title }}</p>\n',
    });
    assert.equal(out.status, 1, out.said);
    assert.match(out.said, said);
    assert.match(out.said, new RegExp(`^x\\.html:${FIRST}: `));
  });
}

test('a mistake is named by its own line, also behind texts of several lines', async (t) => {
  const out = await compile(t, {
    'x.html': `${PARAMS}<p>\n\n{{ name }}\n</p>\n<p\n class="a"\n id="{{ nmae }}"></p>\n`,
  });
  assert.match(out.said, new RegExp(`^x\\.html:${FIRST + 6}: no parameter`));
});

const WORDS = {
  'a word that a language misses': [{ 'words/de': 'hello = Hallo\n' }, /^words\/de:1: the word hi is missing/],
  'a word that only one language has': [
    { 'words/de': `${EN}more = Mehr\n` },
    /^words\/de:6: the word more is not in en/,
  ],
  'other placeholders': [{ 'words/de': EN.replace('Hi {name}', 'Hi {nmae}') }, /^words\/de:2: .* other placeholders/],
  'another type of a placeholder': [
    { 'words/de': EN.replace('{when:date}', '{when}') },
    /^words\/de:5: .* other placeholders/,
  ],
  'one form alone': [{ 'words/en': 'x.one = {count} x\n' }, /^words\/en:1: .* needs both/],
  'forms without a count': [{ 'words/en': 'x.one = x\nx.other = xs\n' }, /^words\/en:1: .* no \{count\}/],
  'a word twice': [{ 'words/en': 'x = a\nx = b\n' }, /^words\/en:2: the word x is there twice/],
  'an empty word': [{ 'words/en': 'x =\n' }, /^words\/en:1: the word x is empty/],
  'an unknown language': [{ 'words/xx': EN }, /^words\/xx:1: /],
  'an unknown record': [{ records: 'record a\n  b c\n' }, /^records:2: no record is called c/],
};
for (const [what, [files, said]] of Object.entries(WORDS)) {
  test(`${what} is refused`, async (t) => {
    const out = await compile(t, files);
    assert.equal(out.status, 1);
    assert.match(out.said, said);
  });
}

const TEXTS = {
  'a mail that names what it has not': [
    { 'mail/en': MAILS.replace('{{number}}', '{{nubmer}}') },
    /^mail\/en:3: the subject of order names \{\{nubmer\}\}/,
  ],
  'a brace of a mail that is not closed': [
    { 'mail/en': MAILS.replace('{{store}}', '{{store') },
    /^mail\/en:3: a brace/,
  ],
  'a list of a mail among words': [
    { 'mail/en': MAILS.replace('{{ items }}', 'See {{items}}') },
    /^mail\/en:3: the list \{\{items\}\} of order does not stand alone/,
  ],
  'a mail without a subject': [{ 'mail/en': '== order\n\nText\n' }, /^mail\/en:1: order needs a subject/],
  'an unknown mail': [
    { 'mail/en': `${MAILS}\n== pigeon\na\n\nb\n` },
    /^mail\/en:10: pigeon is there twice, or no mail is called so/,
  ],
  'a mail that has no text': [
    { 'mail/kinds': `${KINDS}\nmail more staff\n` },
    /^mail\/en:1: the text of the mail more is missing/,
  ],
  'a language without mails': [{ 'words/de': EN }, /^mail\/de:1: there is no such file/],
  'a parameter with two types': [
    { 'mail/kinds': `${KINDS}\nmail more staff\n  number url x\n` },
    /^mail\/kinds:10: number is there twice, or has another type/,
  ],
};
for (const [what, [files, said]] of Object.entries(TEXTS)) {
  test(`${what} is refused`, async (t) => {
    const out = await compile(t, files);
    assert.equal(out.status, 1);
    assert.match(out.said, said);
  });
}

test('every place gets its own escaping', async (t) => {
  const { c, said } = await compile(t, {
    'x.html':
      `${PARAMS}<title>{{ name }}</title><p title="{{ name }}">{{ name }}{{ body }}</p>\n` +
      '<a href="{{ link }}">x</a><a href="/p/{{ name }}?q={{ n }}">y</a><textarea>{{ name }}</textarea>\n' +
      '<script type="application/ld+json">{"a": {{ name }}, "b": {{ ok }}, "c": {{ price }}}</script>\n',
  });
  assert.equal(said, '');
  const calls = [...c.slice(c.indexOf('page_write_x')).matchAll(/ (page_(?!raw|write)\w+)\(p, ([^;]*)\);/g)].map(
    (m) => `${m[1]} ${m[2]}`,
  );
  assert.deepEqual(calls, [
    'page_text in->name',
    'page_text in->name',
    'page_text in->name',
    'page_markup in->body',
    'page_url in->link',
    'page_component in->name',
    'page_component page_int(p, in->n)',
    'page_text in->name',
    'page_json in->name',
    'page_json_bool in->ok',
    'page_json page_money_plain(p, in->price)',
  ]);
});

test('a layout is filled, a slot that nobody fills is empty, one that is not there is a mistake', async (t) => {
  const files = {
    'frame.html': '{% param title text %}\n<body><h1>{{ title }}</h1>{% slot main %}{% slot more %}</body>\n',
  };
  const page = '{% layout frame %}\n{% param name text %}\n{% fill main %}<p>{{ name }}</p>{% end %}\n';
  const { c, said } = await compile(t, { ...files, 'x.html': page });
  assert.equal(said, '');
  assert.match(c.slice(c.indexOf('page_write_x')), /<h1>[\s\S]*in->title[\s\S]*<p>[\s\S]*in->name[\s\S]*<\/p><\/body>/);
  assert.match(
    (await compile(t, { ...files, 'x.html': page.replace('fill main', 'fill mian') })).said,
    /^x\.html:3: the layout has no slot mian/,
  );
  assert.match((await compile(t, { ...files, 'x.html': page.replace('<p>', '') })).said, /^x\.html:3: .*closes/);
});

test('in plain text nothing is escaped, and lines of statements vanish', async (t) => {
  const { c, said } = await compile(t, {
    'm.txt':
      '{% param name text %}\n{% param n int %}\nDear {{ name }},\n{% if n %}\n<{{ @items count=n }}>\n{% end %}\n',
  });
  assert.equal(said, '');
  assert.match(c, /"Dear "[\s\S]*page_plain\(p, in->name\)[\s\S]*",\\n"[\s\S]*words_fill\(p, WORD_items, in->n/);
});

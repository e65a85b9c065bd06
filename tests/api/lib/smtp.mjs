// tests/api/lib/smtp.mjs - a mail server that keeps what it gets. Speaks STARTTLS when it has a certificate.
import net from 'node:net';
import tls from 'node:tls';

export async function openSink({ certificate, key, login } = {}) {
  const sink = new Sink({ certificate, key, login });
  await new Promise((resolve) => sink.server.listen(0, '127.0.0.1', resolve));
  sink.port = sink.server.address().port;
  return sink;
}

class Sink {
  /** What came: {from, to, data, secure, user}. */
  mails = [];
  /** Answers to give to RCPT instead of 250, one each, to the next mails to an address: e.g. '450 later', '550 no'. */
  refusals = new Map();
  /** A reply code to give to every RCPT; 0: none. */
  refuse = 0;
  connections = 0;

  constructor(options) {
    this.options = options;
    this.server = net.createServer((socket) => {
      this.connections += 1;
      this.#talk(socket, false);
    });
  }

  stop() {
    return new Promise((resolve) => this.server.close(resolve));
  }

  #talk(socket, secure) {
    let buffer = '';
    let data = null;
    let mail = { secure };
    let awaiting = null;
    const say = (line) => socket.write(`${line}\r\n`);
    const command = (line) => {
      const verb = line.slice(0, 4).toUpperCase();
      if (awaiting) {
        mail.user = Buffer.from(line, 'base64').toString().split('\0')[1];
        const right =
          Buffer.from(line, 'base64').toString() === `\0${this.options.login.user}\0${this.options.login.password}`;
        awaiting = null;
        say(right ? '235 ok' : '535 no');
      } else if (verb === 'EHLO') {
        const words = ['sink'];
        if (this.options.certificate && !secure) words.push('STARTTLS');
        if (this.options.login && secure) words.push('AUTH PLAIN');
        words.forEach((word, i) => say(`250${i === words.length - 1 ? ' ' : '-'}${word}`));
      } else if (verb === 'STAR' && this.options.certificate && !secure) {
        say('220 go');
        socket.removeAllListeners('data');
        const upgraded = new tls.TLSSocket(socket, {
          isServer: true,
          cert: this.options.certificate,
          key: this.options.key,
        });
        upgraded.on('error', () => {});
        this.#listen(upgraded, true);
      } else if (verb === 'AUTH') {
        if (line.split(' ')[2]) {
          awaiting = true;
          command(line.split(' ')[2]);
        } else {
          awaiting = true;
          say('334 ');
        }
      } else if (verb === 'NOOP') {
        say('250 ok');
      } else if (verb === 'MAIL') {
        mail = { ...mail, from: /<(.*?)>/.exec(line)[1] };
        say('250 ok');
      } else if (verb === 'RCPT') {
        const to = /<(.*?)>/.exec(line)[1];
        const refusal = this.refuse ? `${this.refuse} refused` : this.refusals.get(to)?.shift();
        if (refusal) say(refusal);
        else {
          mail.to = to;
          say('250 ok');
        }
      } else if (verb === 'DATA') {
        data = '';
        say('354 go');
      } else if (verb === 'QUIT') {
        say('221 bye');
        socket.end();
      } else {
        say('500 what');
      }
    };
    const onData = (bytes) => {
      buffer += bytes.toString('latin1');
      for (;;) {
        if (data !== null) {
          const end = buffer.startsWith('.\r\n') ? 0 : buffer.indexOf('\r\n.\r\n');
          if (end < 0) return;
          mail.data = buffer.slice(0, end === 0 ? 0 : end + 2);
          buffer = buffer.slice(end === 0 ? 3 : end + 5);
          this.mails.push(mail);
          mail = { secure };
          data = null;
          say('250 kept');
        }
        const line = buffer.indexOf('\r\n');
        if (line < 0) return;
        const text = buffer.slice(0, line);
        buffer = buffer.slice(line + 2);
        command(text);
      }
    };
    socket.on('data', onData);
    socket.on('error', () => {});
    if (!secure) say('220 sink');
  }

  #listen(socket, secure) {
    this.#talk(socket, secure);
  }
}

/** The body of a part, decoded from quoted-printable. */
function decoded(body) {
  const bytes = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, h) => String.fromCharCode(parseInt(h, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replace(/\r\n/g, '\n');
}

/** [headers, body] of a message or a part: unfolded headers by their small name. */
function split(raw) {
  const end = raw.indexOf('\r\n\r\n');
  const headers = Object.fromEntries(
    raw
      .slice(0, end)
      .replace(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
  );
  return [headers, raw.slice(end + 4)];
}

/** {headers, text, html} of a message: decoded headers and parts. */
export function readMail(raw) {
  const [headers, body] = split(raw);
  const words = (s) =>
    s
      .replace(/\?=\s+=\?/g, '?==?')
      .replace(/=\?UTF-8\?B\?(.*?)\?=/g, (_, b) => Buffer.from(b, 'base64').toString('latin1'));
  for (const [name, value] of Object.entries(headers))
    headers[name] = Buffer.from(words(value), 'latin1').toString('utf8');
  const boundary = /^multipart\/alternative; boundary="(.*)"$/.exec(headers['content-type'])?.[1];
  if (!boundary) return { headers, text: decoded(body), html: '' };
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => split(part.replace(/^\r\n/, '').replace(/\r\n$/, '')));
  const of = (type) => decoded(parts.find(([h]) => h['content-type'].startsWith(type))[1]);
  return { headers, text: of('text/plain'), html: of('text/html') };
}

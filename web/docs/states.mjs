// web/docs/states.mjs - the diagrams of life cycles. A block of lines `from -> to: why` is text on a forge and a picture in a page.

/** [{from, to, why}] */
export function readSteps(text) {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const match = /^([a-z]+) -> ([a-z]+): (.+)$/.exec(line);
      if (!match) throw new Error(`not a step: ${line}`);
      return { from: match[1], to: match[2], why: match[3] };
    });
}

const BOX = { width: 100, height: 36, gap: 56 };
const START_WIDTH = 16;
const NEAR = 26; // between arcs

/** The states in the order of the steps. */
function columns(steps) {
  const states = [...new Set(steps.flatMap((s) => [s.from, s.to]))];
  return new Map(states.map((name, i) => [name, i]));
}

/**
 * The steps as an SVG, which has an arrowhead of its own, and a list: the states are in a row; a step to the next one is straight, all
 * others are arcs, above on the way on and below on the way back.
 */
export function drawSteps(noun, text, escape) {
  const steps = readSteps(text);
  const at = columns(steps);
  const wide = (name) => (name === 'start' ? START_WIDTH : BOX.width);
  const x = (name) => (name === 'start' ? 20 : 20 + START_WIDTH + BOX.gap + (at.get(name) - 1) * (BOX.width + BOX.gap));
  const tipName = `tip-${noun}`;
  const far = Math.max(...steps.map((s) => Math.abs(at.get(s.to) - at.get(s.from))));
  const middle = far * NEAR + 30;
  const parts = steps.map((s, i) => {
    const distance = at.get(s.to) - at.get(s.from);
    const number = `<tspan>${i + 1}</tspan>`;
    if (distance === 1) {
      const [from, to] = [x(s.from) + wide(s.from), x(s.to)];
      return `<path d="M${from} ${middle}H${to - 8}" marker-end="url(#${tipName})"/><text x="${(from + to) / 2}" y="${middle - 6}">${number}</text>`;
    }
    const up = distance > 0 ? -1 : 1;
    const shift = (i % 5) * 9 - 18;
    const [from, to] = [
      x(s.from) + wide(s.from) / 2 + (s.from === 'start' ? 0 : shift),
      x(s.to) + BOX.width / 2 + shift,
    ];
    const edge = middle + (up * BOX.height) / 2;
    const top = edge + up * NEAR * Math.abs(distance);
    return `<path d="M${from} ${edge}C${from} ${top} ${to} ${top} ${to} ${edge + up * 8}" marker-end="url(#${tipName})"/><text x="${(from + to) / 2}" y="${edge + up * NEAR * Math.abs(distance) * 0.75 + 4}">${number}</text>`;
  });
  const boxes = [...at.keys()].map((name) => {
    const isStart = name === 'start';
    const shape = isStart
      ? `<circle class="start" cx="${x(name) + START_WIDTH / 2}" cy="${middle}" r="8"/>`
      : `<rect x="${x(name)}" y="${middle - BOX.height / 2}" width="${BOX.width}" height="${BOX.height}" rx="8"/><text class="state" x="${x(name) + BOX.width / 2}" y="${middle + 5}">${escape(name)}</text>`;
    return shape;
  });
  const width = 40 + START_WIDTH + (at.size - 1) * (BOX.width + BOX.gap);
  const label = `The steps below as a picture: ${[...at.keys()].filter((n) => n !== 'start').join(', ')}`;
  const tip = `<marker id="${tipName}" viewBox="0 0 8 8" refX="0" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker>`;
  const list = steps.map((s) => {
    const from = s.from === 'start' ? '' : `${escape(s.from)} → `;
    return `<li>${from}<strong>${escape(s.to)}</strong>: ${escape(s.why)}</li>\n`;
  });
  return (
    `<div class="scrolls" tabindex="0" role="group" aria-label="Diagram"><svg class="states" role="img" aria-label="${escape(label)}" viewBox="0 0 ${width} ${2 * middle}" width="${width}" height="${2 * middle}">` +
    `<defs>${tip}</defs>${parts.join('')}${boxes.join('')}</svg></div>\n<ol>\n${list.join('')}</ol>\n`
  );
}

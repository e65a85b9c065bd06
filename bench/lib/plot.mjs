// bench/lib/plot.mjs - plots as SVG: bars, and lines over a logarithmic axis. They are read on light and on dark pages alike.
const WIDTH = 720;
const COLORS = ['#2f6fde', '#c2571a', '#2c8a4b', '#8a4bb8', '#777777', '#b8860b'];
const escape = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const text = (x, y, what, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escape(what)}</text>`;
const short = (n) => (n >= 1e6 ? `${n / 1e6} M` : n >= 1e3 ? `${n / 1e3} k` : String(n));

function frame(height, title, inside) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<g fill="#222222">${text(16, 24, title, 'font-size="15" font-weight="600"')}
${inside.join('\n')}
</g>
</svg>
`;
}

/** rows: [[label, [parts]]]; the parts of a bar are stacked, and named by `parts`. */
export function bars(title, rows, parts, unit = 'µs') {
  const left = 250;
  const right = 90;
  const most = Math.max(...rows.map(([, values]) => values.reduce((a, b) => a + b, 0)));
  const scale = (WIDTH - left - right) / most;
  const inside = parts.length > 1 ? legend(parts) : [];
  const top = parts.length > 1 ? 60 : 40;
  rows.forEach(([label, values], i) => {
    const y = top + i * 26;
    let x = left;
    inside.push(text(left - 8, y + 14, label, 'text-anchor="end"'));
    values.forEach((v, k) => {
      inside.push(
        `<rect x="${x.toFixed(1)}" y="${y}" width="${(v * scale).toFixed(1)}" height="18" fill="${COLORS[k]}"/>`,
      );
      x += v * scale;
    });
    const sum = values.reduce((a, b) => a + b, 0);
    inside.push(text(x + 6, y + 14, `${sum >= 1000 ? Math.round(sum).toLocaleString('en') : sum.toFixed(1)} ${unit}`));
  });
  return frame(top + rows.length * 26 + 14, title, inside);
}

function legend(names) {
  let x = 16;
  return names.map((name, i) => {
    const at = x;
    x += 26 + name.length * 7.6;
    return `<rect x="${at}" y="36" width="12" height="12" fill="${COLORS[i]}"/>${text(at + 17, 47, name)}`;
  });
}

/** series: [[name, [[x, y]]]] over x in powers of ten; y begins at 0. */
export function curves(title, series, unit = 'µs') {
  const [left, right, top, bottom, height] = [60, 24, 70, 40, 330];
  const points = series.flatMap(([, p]) => p);
  const xs = points.map(([x]) => Math.log10(x));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const most = Math.max(...points.map(([, y]) => y)) * 1.1;
  const px = (x) => left + ((Math.log10(x) - low) / (high - low || 1)) * (WIDTH - left - right);
  const py = (y) => height - bottom - (y / most) * (height - top - bottom);
  const inside = legend(series.map(([name]) => name));
  for (let i = 0; i <= 4; i++) {
    const y = (most / 4) * i;
    inside.push(
      `<line x1="${left}" x2="${WIDTH - right}" y1="${py(y).toFixed(1)}" y2="${py(y).toFixed(1)}" stroke="#dddddd"/>`,
      text(left - 6, py(y) + 4, y.toFixed(most < 20 ? 1 : 0), 'text-anchor="end"'),
    );
  }
  for (const x of new Set(points.map(([p]) => p)))
    inside.push(text(px(x), height - bottom + 20, short(x), 'text-anchor="middle"'));
  inside.push(text(left, top - 8, unit));
  series.forEach(([, list], i) => {
    const path = list.map(([x, y], k) => `${k ? 'L' : 'M'}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join('');
    inside.push(`<path d="${path}" fill="none" stroke="${COLORS[i]}" stroke-width="2"/>`);
    for (const [x, y] of list)
      inside.push(`<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3.5" fill="${COLORS[i]}"/>`);
  });
  return frame(height, title, inside);
}

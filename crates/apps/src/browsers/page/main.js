// The page: two lanes, the sliders, and the words.
import { Lane, WAITS_FROM, fastest } from './lane.js';
import { histogram, scene, strip } from './draw.js';

const byId = id => document.getElementById(id);
const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};
const NUMBERS = [['median', 'half come within'], ['p99', '99 of 100 within', 'tail'], ['worst', 'latest one', 'tail'],
  ['stood', 'of the time it stood still', 'tail'], ['packets', 'packets a message'], ['bytes', 'bytes a message']];
const lanes = [new Lane('rfc', 'Standard recovery'), new Lane('latency', 'thinstream')];

// ---- the lanes ----

for (const lane of lanes) {
  lane.arena = element('canvas', { className: 'arena' });
  lane.strips = element('canvas', { className: 'strip' });
  lane.state = element('span', { className: 'state', id: `${lane.policy}-state` });
  lane.numbers = {};
  const rows = NUMBERS.map(([key, words, kind = '']) => {
    lane.numbers[key] = element('dd', { textContent: '–' });
    return element('div', { className: kind }, element('dt', { textContent: words }), lane.numbers[key]);
  });
  lane.box = element('section', { className: `lane ${lane.policy}` },
    element('h2', {}, element('span', { textContent: lane.name }), lane.state), lane.arena, lane.strips,
    element('dl', { className: 'numbers' }, ...rows));
  byId('lanes').append(lane.box);
  const point = event => {
    const box = lane.arena.getBoundingClientRect();
    const part = (value, from, size) => Math.min(1, Math.max(0, (value - from) / size));
    for (const one of lanes) one.point(part(event.clientX, box.left, box.width), part(event.clientY, box.top, box.height));
  };
  lane.arena.addEventListener('pointermove', point);
  lane.arena.addEventListener('pointerdown', point);
  lane.connect().catch(error => { lane.failure = error.message; });
}

// ---- the sliders ----

const UNITS = { delay_ms: 'ms', loss_percent: '%', interval_ms: 'ms' };
const sliders = Object.keys(UNITS).map(byId);
let setting = { delay_ms: 50, loss_percent: 5, interval_ms: 30 };

function show() {
  for (const slider of sliders) {
    const value = slider.value;
    slider.parentElement.querySelector('output').value = `${value} ${UNITS[slider.id]}`;
  }
}

function adopt(next) {
  const changed = sliders.some(slider => next[slider.id] !== setting[slider.id]);
  setting = next;
  for (const slider of sliders) slider.value = next[slider.id];
  show();
  if (changed) anew();
}

function anew() {
  fastest.clear();
  for (const lane of lanes) lane.clear();
}

// What is under way while the link changes belongs to neither.
let settling = 0;
async function change(next) {
  const answer = await fetch('setting', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(next) });
  if (!answer.ok) { byId('verdict').textContent = await answer.text(); return; }
  adopt(next);
  clearTimeout(settling);
  settling = setTimeout(anew, 1000 + 4 * next.delay_ms);
}

for (const slider of sliders) {
  slider.addEventListener('input', show);
  slider.addEventListener('change', () => change(Object.fromEntries(sliders.map(one => [one.id, Number(one.value)]))));
}
for (const button of document.querySelectorAll('[data-set]')) {
  const [delay_ms, loss_percent, interval_ms] = button.dataset.set.split(' ').map(Number);
  button.addEventListener('click', () => change({ delay_ms, loss_percent, interval_ms }));
}
byId('again').addEventListener('click', anew);

// Another visitor may move the sliders, too.
async function follow() {
  const dragged = sliders.some(slider => slider.matches(':active'));
  const answer = await fetch('setting');
  if (answer.ok && !dragged) adopt(await answer.json());
}
const asked = new URLSearchParams(location.search);
const wanted = Object.fromEntries(Object.keys(UNITS).filter(key => asked.has(key)).map(key => [key, Number(asked.get(key))]));
follow().then(() => Object.keys(wanted).length && change({ ...setting, ...wanted })).catch(() => {});
setInterval(() => follow().catch(() => {}), 2000);

// ---- pictures and words ----

const ms = value => value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
const percent = part => part < .0005 ? '0 %' : `${(100 * part).toFixed(1)} %`;

function draw() {
  const now = performance.now();
  const known = lanes.map(lane => lane.latest).filter(Boolean);
  const newest = known.reduce((one, other) => other.time > one.time ? other : one, known[0]);
  for (const lane of lanes) {
    const waits = lane.waits(now, setting.interval_ms);
    lane.box.classList.toggle('waits', waits > WAITS_FROM);
    lane.state.textContent = lane.failure ?? (waits > WAITS_FROM ? 'waits' : `${lane.count} messages`);
    scene(lane.arena, lane, newest, waits);
    strip(lane.strips, lane, lanes, now, waits);
  }
  requestAnimationFrame(draw);
}

function count() {
  for (const lane of lanes) {
    const some = lane.count > 0, many = lane.count >= 100;
    lane.numbers.median.textContent = some ? ms(lane.quantile(.5)) : '–';
    lane.numbers.p99.textContent = many ? ms(lane.quantile(.99)) : '–';
    lane.numbers.worst.textContent = some ? ms(lane.worst) : '–';
    lane.numbers.stood.textContent = some ? percent(lane.stood) : '–';
    const { packets, bytes } = lane.price;
    lane.numbers.packets.textContent = Number.isFinite(packets) ? packets.toFixed(2) : '–';
    lane.numbers.bytes.textContent = Number.isFinite(bytes) ? Math.round(bytes) : '–';
  }
  histogram(byId('histogram'), lanes);
  verdict();
}

function verdict() {
  const [standard, ours] = lanes, box = byId('verdict');
  const failed = lanes.find(lane => lane.failure);
  if (failed) { box.textContent = failed.failure === 'connecting' ? 'Connecting…' : `${failed.name}: ${failed.failure}`; return; }
  if (standard.count < 100 || ours.count < 100) { box.textContent = 'Counting the first hundred messages…'; return; }
  const [base, least] = [standard, ours].map(lane => lane.quantile(.99));
  const bold = (lane, text) => element('b', { className: lane.policy, textContent: text });
  const times = base / Math.max(1, least);
  box.replaceChildren('With standard recovery, one message in a hundred comes ', bold(standard, `${ms(base)} late`),
    ' or later; with thinstream, ', bold(ours, `${ms(least)}`), times >= 1.15 ? `: ${times.toFixed(1)} times sooner. ` : '. ',
    'The picture stood still for ', bold(standard, percent(standard.stood)), ' of the time, and for ', bold(ours, percent(ours.stood)),
    `. The price: ${ours.price.packets.toFixed(2)} packets and ${Math.round(ours.price.bytes)} bytes a message instead of `,
    `${standard.price.packets.toFixed(2)} and ${Math.round(standard.price.bytes)}.`);
}

requestAnimationFrame(draw);
setInterval(count, 250);

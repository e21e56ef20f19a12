// What canvases show: the scene, the strip of the last seconds, the histogram.
import { STRIP, WAITS_FROM } from './lane.js';

const HUES = [4, 45, 100, 165, 275, 325];
const COLOURS = { rfc: '#ff9d45', latency: '#4cc2ff' };

// A context in CSS pixels, whatever the screen has.
function context(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas, scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '12px system-ui, sans-serif';
  return [pen, width, height];
}

function disc(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
}

// The things of a lane where its last message says, their way there, and rings where the newest message of any lane says.
export function scene(canvas, lane, newest, waits) {
  const [pen, width, height] = context(canvas);
  pen.strokeStyle = '#121a26';
  pen.lineWidth = 1;
  for (let part = 1; part < 12; part++) {
    pen.strokeRect(width * part / 12, -1, 0, height + 2);
    pen.strokeRect(-1, height * part / 7, width + 2, 0);
  }
  if (!lane.latest) return;
  const stale = waits > WAITS_FROM, scale = Math.max(.6, Math.min(1.2, width / 560));
  const at = ([x, y]) => [x * width, y * height];
  const points = place => place[0] < 1 || place[1] < 1;
  for (let thing = 1; thing < lane.latest.places.length; thing++) {
    const colour = stale ? '#6b7480' : `hsl(${HUES[thing - 1]} 85% 62%)`;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineCap = 'butt';
    for (let step = 1; step < lane.trail.length; step++) {
      pen.globalAlpha = .55 * step / lane.trail.length;
      pen.lineWidth = (1 + 5 * step / lane.trail.length) * scale;
      pen.beginPath();
      pen.moveTo(...at(lane.trail[step - 1].places[thing]));
      pen.lineTo(...at(lane.trail[step].places[thing]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
    disc(pen, ...at(lane.latest.places[thing]), 8 * scale);
    pen.fill();
    if (newest !== lane.latest && stale) {
      pen.strokeStyle = `hsl(${HUES[thing - 1]} 85% 62%)`;
      pen.lineWidth = 1.5;
      disc(pen, ...at(newest.places[thing]), 8 * scale);
      pen.stroke();
    }
  }
  const own = lane.latest.places[0];
  if (points(own)) {
    const [x, y] = at(own);
    pen.strokeStyle = pen.fillStyle = '#fff';
    pen.lineWidth = 2;
    disc(pen, x, y, 11 * scale);
    pen.stroke();
    disc(pen, x, y, 3 * scale);
    pen.fill();
    pen.fillText('you', x + 15 * scale, y + 4);
  }
  if (stale) {
    pen.fillStyle = '#ff6b6b';
    pen.textAlign = 'center';
    pen.font = `700 ${Math.round(30 * scale)}px system-ui, sans-serif`;
    pen.fillText(`waits ${(waits / 1000).toFixed(2)} s`, width / 2, height / 2 + 10 * scale);
    pen.textAlign = 'left';
  }
}

// One bar for each message of the last seconds, as high as the message was late; the last one grows while it is waited for.
export function strip(canvas, lane, lanes, now, waits) {
  const [pen, width, height] = context(canvas);
  const all = lanes.flatMap(one => one.strip.map(([, late]) => late));
  const top = Math.max(200, waits, ...all) * 1.1;
  const base = height - 1, usable = height - 14;
  pen.fillStyle = '#2b323c';
  pen.fillRect(0, base, width, 1);
  const x = time => width * (1 - (now - time) / STRIP);
  const bar = Math.max(1.5, width / STRIP * 20);
  for (const [time, late] of lane.strip) {
    pen.fillStyle = COLOURS[lane.policy];
    pen.globalAlpha = late > WAITS_FROM ? 1 : .55;
    const high = Math.max(1, usable * late / top);
    pen.fillRect(x(time), base - high, bar, high);
  }
  pen.globalAlpha = 1;
  if (waits > WAITS_FROM) {
    pen.fillStyle = '#ff6b6b';
    const high = usable * waits / top;
    pen.fillRect(width - 3, base - high, 3, high);
  }
  pen.fillStyle = '#96a1ae';
  pen.fillText(`late, last ${STRIP / 1000} s; highest ${Math.round(top / 1.1)} ms`, 2, 11);
}

// Shares by lateness: the first lane's bars up, the second's down.
export function histogram(canvas, [first, second]) {
  const [pen, width, height] = context(canvas);
  const ups = first.shares(), downs = second.shares();
  const edges = ups.map(([edge]) => edge), last = edges.findIndex(edge => edge >= 8000);
  const left = 4, slot = (width - 2 * left) / last, middle = height / 2, room = middle - 24;
  const x = edge => left + slot * 4 * Math.log2(edge / edges[0]);
  const bars = (shares, colour, sign) => {
    pen.fillStyle = colour;
    shares.slice(0, last).forEach(([, share], bin) => {
      if (share > 0) {
        const high = Math.max(2, room * Math.sqrt(share));
        pen.fillRect(left + slot * bin + 1, sign > 0 ? middle - 9 - high : middle + 9, Math.max(1, slot - 2), high);
      }
    });
  };
  bars(ups, COLOURS.rfc, 1);
  bars(downs, COLOURS.latency, -1);
  pen.fillStyle = '#96a1ae';
  pen.textAlign = 'center';
  const marks = width < 520 ? [5, 20, 100, 500, 2000] : [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
  for (const mark of marks) pen.fillText(mark < 1000 ? `${mark} ms` : `${mark / 1000} s`, x(mark), middle + 4);
  // The lines below have names where there is no room for these.
  if (width >= 520) {
    pen.textAlign = 'right';
    pen.fillStyle = COLOURS.rfc;
    pen.fillText(first.name, width - 4, 12);
    pen.fillStyle = COLOURS.latency;
    pen.fillText(second.name, width - 4, height - 4);
  }
  // Where 99 of 100 messages have come.
  for (const [lane, colour, sign] of [[first, COLOURS.rfc, 1], [second, COLOURS.latency, -1]]) {
    if (lane.count < 100) continue;
    const late = Math.max(edges[0], lane.quantile(.99)), from = sign > 0 ? 14 : middle + 9;
    pen.fillStyle = pen.strokeStyle = colour;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(x(late), from);
    pen.lineTo(x(late), from + room);
    pen.stroke();
    pen.setLineDash([]);
    // Beside the line; where there is no room, beyond its end.
    const narrow = width < 520, words = `${narrow ? `${lane.name}: ` : ''}99 of 100 within ${Math.round(late)} ms`;
    const wide = pen.measureText(words).width, beside = x(late) > width * .6 ? x(late) - wide - 4 : x(late) + 4;
    const [above, below] = narrow ? [11, height - 3] : [24, height - 14];
    pen.textAlign = 'left';
    pen.fillText(words, Math.max(2, Math.min(beside, width - wide - 2)), sign > 0 ? above : below);
  }
  pen.textAlign = 'left';
}

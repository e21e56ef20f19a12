// A connection with one recovery policy: what arrives on it, and how late.

const BINS_OF_OCTAVE = 8, LEAST = 1, BINS = 14 * BINS_OF_OCTAVE;
// A message counts as waited for once it is this late, in milliseconds.
export const WAITS_FROM = 100;
// Time that the strip shows, in milliseconds.
export const STRIP = 15000;
// Time that the way of a thing shows, in milliseconds.
const TRAIL = 800;

// The fastest message of the last minute, on any lane: clocks drift, so an older one says nothing.
export const fastest = {
  parts: [],
  note(now, took) {
    const part = Math.floor(now / 10000);
    const last = this.parts.at(-1);
    if (last && last.part === part) last.took = Math.min(last.took, took);
    else this.parts.push({ part, took });
    while (this.parts[0].part < part - 6) this.parts.shift();
  },
  get took() { return Math.min(Infinity, ...this.parts.map(one => one.took)); },
  clear() { this.parts = []; },
};

export class Lane {
  constructor(policy, name) {
    Object.assign(this, { policy, name, latest: null, trail: [], strip: [], total: 0, failure: 'connecting' });
    this.clear();
  }

  // Counts from here.
  clear() {
    this.bins = new Uint32Array(BINS);
    this.count = 0;
    this.worst = 0;
    this.waited = 0;
    this.since = performance.now();
    this.base = this.latest;
  }

  async connect() {
    const connection = this.connection = new RTCPeerConnection();
    const moves = connection.createDataChannel('moves');
    this.pointer = connection.createDataChannel('pointer', { ordered: false, maxRetransmits: 0 });
    moves.binaryType = 'arraybuffer';
    moves.onopen = () => { this.failure = null; };
    moves.onclose = () => { this.failure = 'closed: reload the page'; };
    moves.onmessage = message => this.take(performance.now(), new DataView(message.data));
    await connection.setLocalDescription(await connection.createOffer());
    const answer = await fetch(`offer?policy=${this.policy}`,
      { method: 'POST', headers: { 'content-type': 'application/sdp' }, body: connection.localDescription.sdp });
    const sdp = await answer.text();
    if (!answer.ok) throw new Error(sdp);
    await connection.setRemoteDescription({ type: 'answer', sdp });
  }

  // Tells the server where the visitor points, as parts of width and height.
  point(x, y) {
    if (this.pointer?.readyState !== 'open' || this.pointer.bufferedAmount > 0) return;
    const at = new DataView(new ArrayBuffer(4));
    at.setUint16(0, x * 65534);
    at.setUint16(2, y * 65534);
    this.pointer.send(at.buffer);
  }

  // A message; scene.rs has its layout.
  take(now, data) {
    const places = [];
    for (let at = 24; at + 4 <= data.byteLength; at += 4) places.push([data.getUint16(at) / 65535, data.getUint16(at + 2) / 65535]);
    const took = now - data.getFloat64(4), gap = this.latest ? now - this.latest.now : 0;
    fastest.note(now, took);
    this.latest = { now, number: data.getUint32(0), time: data.getFloat64(4), packets: data.getUint32(12), bytes: data.getFloat64(16), places };
    this.base ??= this.latest;
    this.trail.push(this.latest);
    while (this.trail[0].time < this.latest.time - TRAIL) this.trail.shift();
    const late = took - fastest.took;
    this.count += 1;
    this.worst = Math.max(this.worst, late);
    this.bins[Math.min(BINS - 1, Math.max(0, Math.floor(Math.log2(late / LEAST) * BINS_OF_OCTAVE)))] += 1;
    if (late > WAITS_FROM) this.waited += Math.min(late - WAITS_FROM, gap);
    this.strip.push([now - late, late]);
    while (this.strip[0][0] < now - STRIP - 1000) this.strip.shift();
    this.total += 1;
    // For tests, and for those who look.
    if (Number.isInteger(Math.log10(this.total))) console.info(`${this.policy}: ${this.total} messages`);
  }

  // How long the picture has not moved beyond the time between two messages, in milliseconds.
  waits(now, interval) {
    return this.latest ? Math.max(0, now - this.latest.time - fastest.took - interval) : 0;
  }

  // What this part of the messages was later than at most, as the upper edge of a bin.
  quantile(part) {
    let left = Math.ceil(this.count * part);
    for (let bin = 0; bin < BINS; bin++) {
      left -= this.bins[bin];
      if (left <= 0) return Math.min(this.worst, LEAST * 2 ** ((bin + 1) / BINS_OF_OCTAVE));
    }
    return this.worst;
  }

  // Shares of the messages in coarser bins from 4 ms up, as [lower edge, share].
  shares() {
    const step = BINS_OF_OCTAVE / 4, first = 2 * BINS_OF_OCTAVE, all = [];
    for (let bin = 0; bin < BINS; bin += step) {
      const inside = this.bins.subarray(bin, bin + step).reduce((sum, one) => sum + one, 0) / Math.max(1, this.count);
      // What is quicker than the first bin belongs to it.
      if (bin <= first && all.length) all[0][1] += inside;
      else all.push([LEAST * 2 ** (Math.max(bin, first) / BINS_OF_OCTAVE), inside]);
    }
    return all;
  }

  // Packets and bytes for each message since counting began, those that acknowledge the pointer's messages included.
  get price() {
    const messages = this.latest && this.base ? this.latest.number - this.base.number : 0;
    const each = key => messages > 0 ? (this.latest[key] - this.base[key]) / messages : NaN;
    return { packets: each('packets'), bytes: each('bytes') };
  }

  get stood() { return this.waited / Math.max(1, performance.now() - this.since); }
}

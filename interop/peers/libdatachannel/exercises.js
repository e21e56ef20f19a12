// Exercises of a client of data channels on libdatachannel: four kinds to a server that sends back what it gets, opens a channel
// of its own, and closes a channel that says so. `exercises.js offer ADDRESS` brings an offer to the server, `answer ADDRESS` takes the
// server's; the result is printed as JSON behind RESULT.
import net from 'node:net';
import { PeerConnection, cleanup, getLibraryVersion } from 'node-datachannel';

const PATIENCE = 60000;
const KINDS = {
  ordered: {}, unordered: { unordered: true }, once: { maxRetransmits: 0 }, brief: { unordered: true, maxPacketLifeTime: 200 },
};
const pause = ms => new Promise(done => setTimeout(done, ms));
const within = (promise, ms, what) => Promise.race([promise, pause(ms).then(() => { throw new Error(`${what}: not within ${ms} ms`); })]);

/** A channel whose events wait to be taken. */
class Watched {
  constructor(channel) {
    this.channel = channel;
    this.opened = new Promise(done => channel.onOpen(done));
    this.closed = new Promise(done => channel.onClosed(done));
    this.messages = [];
    this.wake = () => {};
    channel.onMessage(message => { this.messages.push(message); this.wake(); });
  }

  async answer(ms = PATIENCE) {
    if (this.messages.length === 0) await within(new Promise(done => { this.wake = done; }), ms, 'an answer');
    return this.messages.shift();
  }
}

function answered(offer, address) {
  const [host, port] = address.split(':');
  return new Promise((done, fail) => {
    let answer = '';
    const stream = net.connect({ host, port: Number(port), allowHalfOpen: true }, () => stream.end(offer));
    stream.on('data', part => { answer += part; });
    stream.on('end', () => done(answer));
    stream.on('error', fail);
  });
}

// The offer of the server, and how to leave the answer.
function offered(address) {
  const [host, port] = address.split(':');
  return new Promise((done, fail) => {
    let offer = '';
    const stream = net.connect({ host, port: Number(port), allowHalfOpen: true });
    stream.on('data', part => { offer += part; });
    stream.on('end', () => done([offer, answer => stream.end(answer)]));
    stream.on('error', fail);
  });
}

async function volley(watched, ms) {
  for (let number = 0; number < 30; number++) {
    watched.channel.sendMessageBinary(Buffer.alloc(100, number));
    await pause(15);
  }
  const seen = new Set();
  try {
    while (seen.size < 30) seen.add((await watched.answer(ms))[0]);
  } catch { /* What is lost on these channels stays lost. */ }
  return seen.size;
}

async function main(what, address) {
  if (address === undefined) return console.log(getLibraryVersion());
  const connection = new PeerConnection('client', { iceServers: [], bindAddress: '127.0.0.1' });
  const fromServer = new Promise(done => connection.onDataChannel(done));
  const gathered = new Promise(done => connection.onGatheringStateChange(state => { if (state === 'complete') done(); }));
  let leave;
  if (what === 'answer') {
    let offer;
    [offer, leave] = await offered(address);
    connection.setRemoteDescription(offer, 'offer');
  }
  const channels = {};
  for (const [name, kind] of Object.entries(KINDS)) channels[name] = new Watched(connection.createDataChannel(name, kind));
  await within(gathered, PATIENCE, 'candidates');
  if (leave) leave(connection.localDescription().sdp);
  else connection.setRemoteDescription(await answered(connection.localDescription().sdp, address), 'answer');
  for (const watched of Object.values(channels)) await within(watched.opened, PATIENCE, 'opening');
  const sizes = {}, volleys = {};
  for (const size of [1, 100, 1200, 16000, 65535]) {
    const sent = Buffer.from(Uint8Array.from({ length: size }, (_, at) => at % 251));
    channels.ordered.channel.sendMessageBinary(sent);
    sizes[size] = sent.equals(await channels.ordered.answer());
  }
  for (const [name, watched] of Object.entries(channels)) {
    volleys[name] = await volley(watched, ['ordered', 'unordered'].includes(name) ? PATIENCE : 5000);
  }
  const theirs = await within(fromServer, PATIENCE, 'a channel of the server');
  const from_server = theirs.getLabel();
  channels.unordered.channel.sendMessage('close');
  await within(channels.unordered.closed, PATIENCE, 'closing');
  console.log('RESULT', JSON.stringify({ sizes, volleys, from_server, closed: true }));
  connection.close();
  cleanup();
}

main(process.argv[2], process.argv[3]).then(() => process.exit(0), error => { console.error(error); process.exit(1); });

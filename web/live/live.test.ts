// @vitest-environment node
/** The live page in real browsers: what a newcomer does with it. Needs Debian's Chromium and Firefox. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { type Browser, type BrowserContextOptions, type Page, chromium, firefox } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

interface Kind {
  readonly name: string;
  readonly path: string;
  /** The browser with a colour scheme that all its pages have; a context cannot set Firefox'. */
  readonly launch: (path: string, scheme: Scheme) => Promise<Browser>;
  readonly phone: BrowserContextOptions;
}
type Scheme = "light" | "dark";

const KINDS: readonly Kind[] = [
  {
    name: "Chromium",
    path: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    launch: (executablePath) =>
      chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] }),
    phone: { isMobile: true, hasTouch: true },
  },
  {
    name: "Firefox",
    path: process.env["FIREFOX"] ?? "/usr/bin/firefox-esr",
    // An unmodified Firefox, by WebDriver BiDi.
    launch: (executablePath, scheme) =>
      firefox.launch({
        channel: "moz-firefox",
        executablePath,
        firefoxUserPrefs: { "layout.css.prefers-color-scheme.content-override": scheme === "dark" ? 0 : 1 },
      }),
    phone: {},
  },
];
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const built = file("../dist/live/live.html");
const axe = readFileSync(file("../node_modules/axe-core/axe.min.js"), "utf8");

/** Nothing is lost by chance, one flow, two seconds in. */
const LOSSLESS = "app=game&net=continent&a=sctp:rfc&b=sctp:latency&flows=1&seed=1&do=0:loss=0&at=2000";
const MINUTE = 60_000;

/** A capture at a client that sends 40 messages of 80 bytes over TCP, 100 ms apart, over a round trip of 60 ms. */
function capture(): Buffer {
  const [client, server] = [[10, 0, 0, 1, 0x0f, 0xa0], [10, 0, 0, 2, 0, 80]] as const;
  const words = (...list: number[]): Buffer => {
    const bytes = Buffer.alloc(4 * list.length);
    list.forEach((word, place) => bytes.writeUInt32LE(word, 4 * place));
    return bytes;
  };
  const segment = (millis: number, isClient: boolean, seq: number, ack: number, flags: number, data: number): Buffer => {
    const bytes = Buffer.alloc(40 + data, 0x74);
    const [from, to] = isClient ? [client, server] : [server, client];
    bytes.fill(0, 0, 40);
    bytes.set([0x45, 0, 0, 40 + data, 0, 0, 0, 0, 64, 6, 0, 0, ...from.slice(0, 4), ...to.slice(0, 4), ...from.slice(4), ...to.slice(4)]);
    bytes.writeUInt32BE(seq, 24);
    bytes.writeUInt32BE(ack, 28);
    bytes.set([0x50, flags, 0xff, 0xff], 32);
    return Buffer.concat([words(Math.floor(millis / 1_000), (millis % 1_000) * 1_000, bytes.length, bytes.length), bytes]);
  };
  const messages = Array.from({ length: 40 }, (_, message) => {
    const [at, seq] = [100 + 100 * message, 101 + 80 * message];
    return [segment(at, true, seq, 501, 0x18, 80), segment(at + 60, false, 501, seq + 80, 0x10, 0)];
  });
  const head = words(0xa1b2c3d4, 0x00040002, 0, 0, 65_535, 101);
  const opened = [segment(0, true, 100, 0, 0x02, 0), segment(60, false, 500, 101, 0x12, 0), segment(60, true, 101, 501, 0x10, 0)];
  return Buffer.concat([head, ...opened, ...messages.flat()]);
}

describe.for(KINDS.filter(({ path }) => existsSync(path)))("the live page in $name", ({ path, launch, phone }) => {
  let browser: Browser;
  let problems: string[] = [];

  beforeAll(async () => {
    browser = await launch(path, "light");
  }, 2 * MINUTE);
  afterAll(() => browser?.close());
  beforeEach(() => {
    problems = [];
  });

  async function open(state = "", options: BrowserContextOptions = {}, within = browser): Promise<Page> {
    const page = await (await within.newContext({ viewport: { width: 1200, height: 1000 }, ...options })).newPage();
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) problems.push(`asked the network for ${request.url()}`);
    });
    await page.goto(`file://${built}${state === "" ? "" : `#${state}`}`);
    await page.getByRole("button", { name: /^(Play|Pause)$/ }).waitFor({ timeout: 2 * MINUTE });
    return page;
  }

  const clock = async (page: Page): Promise<number> => Number.parseFloat((await page.locator(".clock").textContent()) ?? "");
  const cell = (page: Page, row: string, side: 0 | 1): Promise<string> =>
    page.getByRole("row", { name: row }).getByRole("cell").nth(side).textContent().then((text) => text ?? "");

  /** Brings the run on by pressing "Step", until a text is on the page. */
  async function stepUntil(page: Page, place: string, text: RegExp): Promise<void> {
    for (let step = 0; step < 80; step += 1) {
      if (text.test((await page.locator(place).textContent()) ?? "")) return;
      await page.getByRole("button", { name: "Step" }).click();
    }
    expect(await page.locator(place).textContent()).toMatch(text);
  }

  it("runs by itself, without errors and without the network", async () => {
    const page = await open();
    await expect.poll(() => clock(page), { timeout: MINUTE }).toBeGreaterThan(0.5);
    await page.getByRole("button", { name: "Pause" }).click();
    expect(await cell(page, "Mean latency", 1)).toMatch(/ms$/);
    expect(problems).toEqual([]);
  }, 3 * MINUTE);

  it("lets a newcomer drop a packet, read why it was sent again, and share what came of it", async () => {
    const page = await open(LOSSLESS);
    expect(await clock(page)).toBe(2);
    // A packet by the keyboard: the last one above, and the one before it.
    await page.locator(".stage.lanes").focus();
    await page.keyboard.press("ArrowRight");
    const why = page.locator(".why");
    while (!/Packet with message 15/.test((await why.textContent()) ?? "")) await page.keyboard.press("ArrowLeft");
    expect(await why.textContent()).toContain("New data");
    await why.getByRole("button", { name: "Drop this packet on both sides" }).click();
    await page.locator(".changes").getByText("message 15 dropped").waitFor();
    await stepUntil(page, ".changes", /message 15 dropped: SCTP rfc \d+ ms, SCTP latency \d+ ms/);
    const took = /rfc (\d+) ms, SCTP latency (\d+) ms/.exec((await page.locator(".changes").textContent()) ?? "") ?? [];
    expect(Number(took[1])).toBeGreaterThan(2 * Number(took[2]));
    // The packet that brought it again, and the field that decided.
    await page.getByText("The last packets as a list").click();
    await page.getByRole("button", { name: /Why: Packet with message 15, second sending.*SCTP rfc/ }).first().click();
    expect(await why.textContent()).toMatch(/dup-threshold = 3.*RFC 9260, section 7.2.4/s);
    // The link shows a colleague the same thing.
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.locator(".toast").waitFor();
    const [link, changes, mean] = [page.url(), await page.locator(".changes").textContent(), await cell(page, "Mean latency", 0)];
    const other = await open(link.slice(link.indexOf("#") + 1));
    expect(await other.locator(".changes").textContent()).toBe(changes);
    expect(await cell(other, "Mean latency", 0)).toBe(mean);
    expect(await clock(other)).toBe(await clock(page));
    // Taken back, nothing was lost.
    await page.getByRole("button", { name: /^Undo: message 15/ }).click();
    await expect.poll(() => page.locator(".changes").textContent()).not.toContain("message 15");
    expect(await cell(page, "Longest", 0)).toBe("50 ms");
    expect(problems).toEqual([]);
  }, 5 * MINUTE);

  it("describes the packet under the pointer", async () => {
    const page = await open(LOSSLESS);
    const canvas = page.locator(".lanes canvas");
    const box = await canvas.boundingBox();
    if (box === null) throw new Error("no picture");
    // Along the middle of the upper lane there is a packet each few pixels.
    for (let x = 0; x < 60; x += 6) {
      await canvas.click({ position: { x: box.width - 200 - x, y: 97 } });
      if (await page.locator(".why .which").count()) break;
    }
    expect(await page.locator(".why .which").textContent()).toMatch(/SCTP rfc (Packet|Acknowledgement)/);
  }, 2 * MINUTE);

  it("changes loss and round trip, and cuts the path while it runs", async () => {
    const page = await open(LOSSLESS);
    await page.locator("input[name=rtt]").focus();
    await page.keyboard.press("PageUp");
    await expect.poll(() => page.locator(".changes").textContent()).toMatch(/round trip \d+ ms from 2\.\d+ s/);
    await page.getByRole("button", { name: "Cut the path" }).click();
    await page.getByRole("button", { name: "Mend the path" }).waitFor();
    for (let step = 0; step < 30; step += 1) await page.getByRole("button", { name: "Step" }).click();
    await page.getByRole("button", { name: "Mend the path" }).click();
    await stepUntil(page, ".clock", /^[4-9]\.\d\d s$/);
    expect(Number.parseFloat(await cell(page, "Longest", 1))).toBeGreaterThan(1);
    expect(page.url()).toMatch(/:cut,\d+:mend/);
    expect(problems).toEqual([]);
  }, 5 * MINUTE);

  it("leads through the first step: a second above, a fraction of it below", async () => {
    const page = await open(LOSSLESS);
    await page.getByRole("button", { name: /Why a lost packet costs a second/ }).click();
    const words = page.locator(".words");
    await expect.poll(() => words.textContent()).toContain("Four times a second");
    await expect.poll(() => words.textContent(), { timeout: 2 * MINUTE }).toMatch(/Message 12 took (9\d\d|8\d\d) ms above.*it took 1\d\d(\.\d)? ms/);
    await page.getByRole("button", { name: "Next" }).click();
    await expect.poll(() => words.textContent()).toContain("200 ms while the stream is thin");
    expect(problems).toEqual([]);
  }, 5 * MINUTE);

  it("takes another application, network and policies, and says what cannot be", async () => {
    const page = await open(LOSSLESS);
    await page.locator("select[name=application]").selectOption("trading");
    await page.locator("select[name=network]").selectOption("two-paths");
    await page.locator("select[name=policy-0]").selectOption("tcp:sack");
    await page.locator("select[name=policy-1]").selectOption("sctp:thin");
    await expect.poll(() => clock(page), { timeout: MINUTE }).toBeGreaterThan(0.2);
    expect(page.url()).toContain("app=trading&net=two-paths&a=tcp:sack&b=sctp:thin");
    await page.getByRole("button", { name: "Cut the first path" }).waitFor();
    const wrong = await open("a=sctp:best");
    expect(await wrong.getByRole("alert").textContent()).toMatch(/best.*latency/);
  }, 3 * MINUTE);

  it("runs the traffic of a capture, and refuses what is none", async () => {
    const page = await open(LOSSLESS);
    const choose = page.locator("input[type=file]");
    await choose.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no capture at all") });
    await expect.poll(() => page.getByRole("alert").textContent()).toMatch(/notes\.txt: .*capture/);
    await choose.setInputFiles({ name: "game.pcap", mimeType: "application/vnd.tcpdump.pcap", buffer: capture() });
    await expect.poll(() => page.getByLabel("Application").inputValue(), { timeout: MINUTE }).toBe("capture");
    await expect.poll(() => clock(page), { timeout: MINUTE }).toBeGreaterThan(1);
    await page.getByRole("button", { name: "Pause" }).click();
    expect(await page.locator(".about").textContent()).toMatch(/messages of .* as they were captured/);
    expect(Number.parseFloat(await cell(page, "Delivered", 1))).toBeGreaterThan(3);
    expect(page.url()).not.toContain("app=capture");
    expect(problems).toEqual([]);
  }, 3 * MINUTE);

  it("runs 20 flows while it draws", async () => {
    const page = await open("flows=20&at=20000&do=0:loss=5&speed=2");
    const before = Number((await cell(page, "Delivered", 1)).replaceAll(",", ""));
    await page.getByRole("button", { name: "Play" }).click();
    await expect.poll(() => clock(page), { timeout: MINUTE }).toBeGreaterThan(21);
    // Told, and no more: how long a frame takes depends on what else the machine does.
    const frames = await page.evaluate(
      () =>
        new Promise<number[]>((done) => {
          const at: number[] = [];
          const tick = (now: number): void => {
            if (at.push(now) > 120) done(at);
            else requestAnimationFrame(tick);
          };
          requestAnimationFrame(tick);
        }),
    );
    const spans = frames.slice(1).map((at, index) => at - (frames[index] ?? 0)).sort((one, other) => one - other);
    console.log(`live: with 20 flows a frame comes each ${(spans[60] ?? 0).toFixed(1)} ms in the median, each ${(spans[114] ?? 0).toFixed(1)} ms at most in 95 of 100`);
    await page.getByRole("button", { name: "Pause" }).click();
    const after = Number((await cell(page, "Delivered", 1)).replaceAll(",", ""));
    expect(after - before).toBeGreaterThan(180);
    expect(problems).toEqual([]);
  }, 3 * MINUTE);

  it("fits a phone", async () => {
    const page = await open(LOSSLESS, { viewport: { width: 375, height: 740 }, ...phone });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  }, 2 * MINUTE);

  it.each(["light", "dark"] as const)("has no fault that axe knows, when %s", async (colorScheme) => {
    const ofScheme = await launch(path, colorScheme);
    const page = await open(LOSSLESS, { colorScheme }, ofScheme);
    expect(await page.evaluate((scheme) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches, colorScheme)).toBe(true);
    await page.locator(".stage.lanes").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText("The last packets as a list").click();
    // The page's own policy lets no other script run by an element; the tool's own channel can.
    await page.evaluate(axe);
    const faults = await page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    });
    expect(faults).toEqual([]);
    await ofScheme.close();
  }, 3 * MINUTE);
});

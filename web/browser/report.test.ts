// @vitest-environment node
/** The built page in a real browser: what a reader does with it. Needs Debian's Chromium. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Browser, type BrowserContextOptions, type Locator, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { fill, sample } from "../tests/sample.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const built = fileURLToPath(new URL("../dist/index.html", import.meta.url));
/** A page of real results with each kind of figure, as ci/web makes it with the command. */
const results = fileURLToPath(new URL("../dist/results.html", import.meta.url));
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

describe.skipIf(!existsSync(CHROMIUM))("the report page in Chromium", () => {
  let browser: Browser;
  let folder: string;
  const problems: string[] = [];

  beforeAll(async () => {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    browser = await chromium.launch({ executablePath: CHROMIUM, args });
    folder = mkdtempSync(join(tmpdir(), "report-"));
    writeFileSync(join(folder, "report.html"), fill(readFileSync(built, "utf8"), sample));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(options: BrowserContextOptions = {}, file = join(folder, "report.html"), ready = "#latency .canvas svg"): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage();
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) problems.push(`asked the network for ${request.url()}`);
    });
    await page.goto(`file://${file}`);
    await page.waitForSelector(ready);
    return page;
  }

  async function faults(page: Page): Promise<string[]> {
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await page.evaluate(axe);
    return page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    });
  }

  it("shows the report without errors and without the network", async () => {
    const page = await open();
    expect(await page.title()).toBe(sample.title);
    expect(await page.locator("h1").textContent()).toBe(sample.title);
    expect(await page.locator("figure").count()).toBe(6);
    expect(await page.locator("section").count()).toBe(2);
    expect(problems).toEqual([]);
  }, 120_000);

  it("toggles series with the keyboard", async () => {
    const page = await open();
    const paths = page.locator("#latency figure").first().locator("svg path");
    const before = await paths.count();
    const thin = page.locator("#latency .legend").first().getByRole("button", { name: "thin", exact: true });
    await thin.focus();
    await page.keyboard.press("Enter");
    expect(await thin.getAttribute("aria-pressed")).toBe("false");
    await expect.poll(() => paths.count()).toBeLessThan(before);
    await page.locator("#latency .controls").first().getByRole("button", { name: "Reset" }).click();
    expect(await thin.getAttribute("aria-pressed")).toBe("true");
    await expect.poll(() => paths.count()).toBe(before);
  }, 120_000);

  it("tells the values under the pointer", async () => {
    const page = await open();
    const canvas = page.locator("#pairs .with-heat-map .canvas");
    await canvas.scrollIntoViewIfNeeded();
    await canvas.locator("svg").waitFor();
    const box = await canvas.boundingBox();
    if (box === null) throw new Error("no heat map");
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(() => canvas.innerText()).toContain("Distance: 53 s");
  }, 120_000);

  /** The figure with this title in the sample: what takes the keys, and the texts in its drawing. */
  async function figure(page: Page, title: string): Promise<{ frame: Locator; place: Locator; texts: () => Promise<string[]> }> {
    const frame = page.locator("figure").filter({ has: page.getByRole("heading", { name: title }) });
    await frame.scrollIntoViewIfNeeded();
    await frame.locator("svg, img").first().waitFor();
    const place = frame.getByRole("group", { name: `${title}: figure` });
    return { frame, place, texts: () => place.locator("svg text").allTextContents() };
  }

  it("says under each figure how it is zoomed", async () => {
    const page = await open();
    for (const frame of await page.locator("figure").all()) {
      const help = frame.getByText("To zoom, press the buttons");
      expect(await help.isVisible()).toBe(false);
      await frame.getByText("?", { exact: true }).click();
      expect(await help.isVisible()).toBe(true);
      for (const name of ["Zoom in", "Zoom out", "Reset"]) expect(await frame.getByRole("button", { name }).count()).toBe(1);
    }
  }, 120_000);

  it.each(["Mean latency by round-trip time", "Distribution of latency", "Retransmissions by cause"])("zooms and moves a plot with the keyboard: %s", async (title) => {
    const { place, texts } = await figure(await open(), title);
    const whole = await texts();
    await place.focus();
    await place.press("+");
    await expect.poll(texts).not.toEqual(whole);
    const near = await texts();
    await place.press("ArrowUp");
    await expect.poll(texts).not.toEqual(near);
    await place.press("ArrowDown");
    await expect.poll(texts).toEqual(near);
    await place.press("-");
    await expect.poll(texts).toEqual(whole);
    await place.press("+");
    await expect.poll(texts).toEqual(near);
    await place.press("0");
    await expect.poll(texts).toEqual(whole);
  }, 120_000);

  it("zooms with the buttons, and with Ctrl and the wheel", async () => {
    const page = await open();
    const { frame, place, texts } = await figure(page, "Mean latency by round-trip time");
    const whole = await texts();
    await frame.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(texts).not.toEqual(whole);
    await frame.getByRole("button", { name: "Zoom out" }).click();
    await expect.poll(texts).toEqual(whole);
    await place.hover();
    const scrolled = await page.evaluate(() => scrollY);
    await page.mouse.wheel(0, 50);
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(scrolled + 50);
    expect(await texts()).toEqual(whole);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await expect.poll(texts).not.toEqual(whole);
    await frame.getByRole("button", { name: "Reset" }).click();
    await expect.poll(texts).toEqual(whole);
  }, 120_000);

  it("zooms a heat map to a cell, and moves to the next", async () => {
    const { place, texts } = await figure(await open(), "Distance by alpha and beta");
    const names = async (): Promise<string[]> => (await texts()).filter((text) => /^0(\.\d)?$/.test(text)).sort();
    await place.focus();
    await place.press("+");
    await expect.poll(names).toEqual(["0.1", "0.1"]);
    await place.press("ArrowRight");
    await place.press("ArrowDown");
    await expect.poll(names).toEqual(["0", "0.2"]);
    await place.press("0");
    await expect.poll(names).toEqual(["0", "0", "0.1", "0.1", "0.2", "0.2"]);
  }, 120_000);

  it("zooms a ladder with the keyboard, and scrolls what does not fit", async () => {
    const { place } = await figure(await open(), "A loss at the end");
    const [height, top] = [
      (): Promise<number> => place.locator("svg").evaluate((drawn) => drawn.getBoundingClientRect().height),
      (): Promise<number> => place.evaluate(({ scrollTop }) => scrollTop),
    ];
    const before = await height();
    await place.focus();
    for (let count = 0; count < 3; count += 1) await place.press("+");
    expect(await height()).toBeGreaterThan(5 * before);
    const middle = await top();
    expect(middle).toBeGreaterThan(before);
    await place.press("ArrowDown");
    await expect.poll(top).toBeGreaterThan(middle);
    await place.press("0");
    expect(await height()).toBeCloseTo(before, 0);
    expect(await top()).toBe(0);
  }, 120_000);

  it("has each name of a packet within its ladder", async () => {
    const { place } = await figure(await open(), "A loss at the end");
    const outside = await place.locator("svg").evaluate((drawn: SVGSVGElement) => {
      const { width } = drawn.viewBox.baseVal;
      const texts = [...drawn.querySelectorAll("text")].map((text) => ({ said: text.textContent, box: text.getBBox() }));
      return texts.filter(({ box }) => box.x < 0 || box.x + box.width > width).map(({ said }) => said);
    });
    expect(outside).toEqual([]);
  }, 120_000);

  it("scrolls with a finger over a figure that is shown wholly, and moves what two fingers have zoomed", async () => {
    const page = await open({ viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true });
    const { place, texts } = await figure(page, "Mean latency by round-trip time");
    const fingers = await page.context().newCDPSession(page);
    /** Position of the page once it has rested for ten frames: a gesture scrolls on after its last touch, then to a whole pixel. */
    const scrolled = (): Promise<number> =>
      page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            let [at, frames] = [scrollY, 0];
            const look = (): void => {
              [at, frames] = [scrollY, scrollY === at ? frames + 1 : 0];
              if (frames === 10) resolve(at);
              else requestAnimationFrame(look);
            };
            look();
          }),
      );
    /** The places of this number of fingers after this number of steps, upwards or apart. */
    async function touch(count: 1 | 2): Promise<void> {
      await place.scrollIntoViewIfNeeded();
      const box = await place.boundingBox();
      if (box === null) throw new Error("no figure");
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const at = (step: number): { x: number; y: number; id: number }[] =>
        count === 1 ? [{ x, y: y - 10 * step, id: 0 }] : [-1, 1].map((side, id) => ({ x: x + side * (20 + 10 * step), y, id }));
      await fingers.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
      for (let step = 1; step <= 10; step += 1) await fingers.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(step) });
      await fingers.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    }
    const [whole, before] = [await texts(), await scrolled()];
    await touch(1);
    await expect.poll(scrolled).toBeGreaterThan(before + 50);
    expect(await texts()).toEqual(whole);
    await touch(2);
    await expect.poll(texts).not.toEqual(whole);
    const [near, there] = [await texts(), await scrolled()];
    await touch(1);
    await expect.poll(texts).not.toEqual(near);
    expect(await scrolled()).toBe(there);
  }, 120_000);

  it("shows pictures larger", async () => {
    const { frame, place } = await figure(await open(), "Pictures after a while");
    const width = (): Promise<number> => place.locator("table").evaluate((table) => table.getBoundingClientRect().width);
    const before = await width();
    await frame.getByRole("button", { name: "Zoom in" }).click();
    expect(await width()).toBeCloseTo(2 * before, 0);
    expect(await place.locator("img").first().evaluate((one: HTMLImageElement) => one.width)).toBeGreaterThan(before / 4);
    await frame.getByRole("button", { name: "Zoom out" }).click();
    expect(await width()).toBeCloseTo(before, 0);
  }, 120_000);

  it("keeps what is near and what is hidden when the colours change", async () => {
    const page = await open();
    const { frame, place, texts } = await figure(page, "Mean latency by round-trip time");
    await frame.getByRole("button", { name: "thin", exact: true }).click();
    await frame.getByRole("button", { name: "Zoom in" }).click();
    const paths = place.locator("svg path");
    const [near, drawn] = [await texts(), await paths.count()];
    await page.getByRole("button", { name: "Light / dark" }).click();
    await expect.poll(texts).toEqual(near);
    expect(await paths.count()).toBe(drawn);
  }, 120_000);

  it("gives the data as a table and as files", async () => {
    const page = await open();
    const figure = page.locator("#latency figure").first();
    await figure.getByText("Data (18 rows)").click();
    // The table is made when it is opened, a moment later.
    const rows = figure.locator("tbody tr");
    await rows.last().waitFor();
    expect(await rows.count()).toBe(18);
    const [csv] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "CSV" }).click()]);
    expect(csv.suggestedFilename()).toBe("latency.csv");
    expect(readFileSync(await csv.path(), "utf8").split("\n")).toHaveLength(20);
    const [svg] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "SVG" }).click()]);
    expect(readFileSync(await svg.path(), "utf8")).toContain("<svg");
  }, 120_000);

  it("follows the reader's choice of light or dark", async () => {
    const page = await open({ colorScheme: "dark" });
    const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(await background()).toBe("rgb(20, 26, 33)");
    await page.getByRole("button", { name: "Light / dark" }).click();
    expect(await background()).toBe("rgb(255, 255, 255)");
  }, 120_000);

  it("fits a phone", async () => {
    const page = await open({ viewport: { width: 375, height: 740 }, isMobile: true });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(375);
  }, 120_000);

  it.each(["light", "dark"] as const)("has no fault that axe knows, when %s", async (colorScheme) => {
    expect(await faults(await open({ colorScheme }))).toEqual([]);
  }, 120_000);

  describe("made by the command from real results", () => {
    const FLOWS = "section[id^=every-kind]";
    const show = (options: BrowserContextOptions = {}): Promise<Page> => open(options, results, `${FLOWS} .canvas svg`);

    it("shows every kind of figure, each drawn once it is seen", async () => {
      const page = await show();
      const kinds = (kind: string): Promise<number> => page.locator(`figure.with-${kind}`).count();
      expect(await page.locator(`${FLOWS} figure`).count()).toBe(7);
      expect(await kinds("heat-map")).toBeGreaterThanOrEqual(2);
      expect(await kinds("gallery")).toBeGreaterThanOrEqual(1);
      expect(await page.locator("section").count()).toBe(3);
      for (const canvas of await page.locator(".canvas").all()) {
        await canvas.scrollIntoViewIfNeeded();
        await expect.poll(() => canvas.locator("svg path").count(), { timeout: 120_000 }).toBeGreaterThan(3);
      }
      for (const image of await page.locator("figure img").all()) {
        await image.scrollIntoViewIfNeeded();
        await expect.poll(() => image.evaluate((one: HTMLImageElement) => one.naturalWidth), { timeout: 120_000 }).toBeGreaterThan(100);
      }
      expect(problems).toEqual([]);
    }, 1_200_000);

    it("says of each expectation whether it holds, is reported, and was measured", async () => {
      const page = await show();
      const rows = page.locator(`${FLOWS} .comparison tbody tr`);
      const badges = await rows.locator(".badge").allTextContents();
      expect(badges).toEqual(["same", "not reported", "not measured"]);
      const headline = page.locator(".verdicts tbody tr");
      expect(await headline.filter({ hasText: "rto-wlan" }).count()).toBeGreaterThanOrEqual(2);
      expect(await page.locator(".verdicts caption").allTextContents()).toEqual(["Predictions, by what the paper claims", "Beside them, no predictions"]);
      expect(await page.locator(`${FLOWS} pre code`).textContent()).toContain("thinstream lab run browser/figures.toml");
    }, 120_000);

    it("hides a series and its whiskers with the keyboard", async () => {
      const page = await show();
      const figure = page.locator(`${FLOWS} figure`).nth(1);
      await figure.scrollIntoViewIfNeeded();
      const paths = figure.locator("svg path");
      await expect.poll(() => paths.count()).toBeGreaterThan(3);
      const before = await paths.count();
      await figure.locator(".legend button").first().focus();
      await page.keyboard.press("Space");
      await expect.poll(() => paths.count()).toBeLessThan(before - 3);
    }, 120_000);

    it("fits a phone", async () => {
      const page = await show({ viewport: { width: 375, height: 740 }, isMobile: true });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
    }, 120_000);

    it.each(["light", "dark"] as const)("has no fault that axe knows, when %s", async (colorScheme) => {
      expect(await faults(await show({ colorScheme }))).toEqual([]);
    }, 1_200_000);
  });
});

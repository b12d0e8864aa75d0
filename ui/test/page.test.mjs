// The page in a real browser: what it shows, clicks, keys, time travel, and the time of a frame at
// 16,320 hosts.
//
//   CHROMIUM=/usr/bin/chromium SCREENSHOTS=FOLDER npm test
import assert from 'node:assert/strict';
import {after, before, describe, it} from 'node:test';
import {join} from 'node:path';
import puppeteer from 'puppeteer-core';
import {Operator, clusterBlocks} from './fixture.mjs';

const screenshots = process.env.SCREENSHOTS;
let browser;
before(async () => {
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--force-device-scale-factor=1'],
  });
});
after(() => browser?.close());

// A page that shows `blocks`. The test fails if the browser refuses something or a script throws.
async function open(blocks, work, {width = 1400, height = 900} = {}) {
  const operator = new Operator();
  for (const frame of [blocks].flat()) operator.publish(frame, Date.now() - 60_000 * ([blocks].flat().length - 1 - operator.frames.length));
  const address = await operator.listen();
  const page = await browser.newPage();
  const problems = [];
  const asked = new Set();
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('request', (request) => asked.add(new URL(request.url()).origin + '/'));
  try {
    await page.setViewport({width, height});
    await page.goto(address);
    await page.waitForSelector('canvas');
    // The canvas is there before the first frame of the operator is.
    await page.waitForFunction(() => /\d/.test(document.querySelector('.legend')?.textContent ?? ''));
    await work(page, operator);
    assert.deepEqual(problems, []);
    assert.deepEqual([...asked], [address], 'nothing is loaded from elsewhere');
  } finally {
    await page.close();
    operator.close();
  }
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const has = (page, selector, wanted) =>
  page.waitForFunction((s, w) => document.querySelector(s)?.textContent.includes(w), {}, selector, wanted);
const shoot = (page, name) => (screenshots ? page.screenshot({path: join(screenshots, `${name}.png`)}) : null);

// Clicks on the middle of a host's cell.
async function clickHost(page, host) {
  const at = await page.evaluate((h) => {
    const box = document.querySelector('canvas').getBoundingClientRect();
    const inside = window.fabricMap.positionOf(h);
    return {x: box.x + inside.x, y: box.y + inside.y};
  }, host);
  await page.mouse.click(at.x, at.y);
}

describe('the page', () => {
  it('shows hosts by state, the queue with reasons, links and events', async () => {
    await open(clusterBlocks(), async (page) => {
      assert.match(await text(page, '.legend'), /running \d+/);
      assert.match(await text(page, '#queue'), /demo\/waits.*140 hosts short.*workers: 60.*Placed/s);
      assert.match(await text(page, '#links'), /tor-r0-p0:u0\.up/);
      assert.match(await text(page, '#events'), /demo\/job0 moves rank 3 from p00s00h003/);
      assert.match(await text(page, '#segments'), /p00\/p00s01/);
      await shoot(page, 'overview');
    });
  });

  it('shows a job, its ranks and its paths after a click on one of its hosts', async () => {
    const blocks = clusterBlocks();
    await open(blocks, async (page) => {
      const host = blocks['job/demo/trainingjob-job0'].hosts[5];
      await clickHost(page, host);
      await has(page, '.details', 'demo/job0');
      assert.match(await text(page, '.details'), /rank 5/);
      await page.click('.details .more');
      await has(page, '.details .paths', '50123');
      await shoot(page, 'job');
      await page.click('.details .close');
      await page.waitForFunction(() => !document.querySelector('.details'));
    });
  });

  it('names the domain of a host and counts those of a job, where hosts have domains', async () => {
    const blocks = clusterBlocks({domain: 17});
    await open(blocks, async (page) => {
      const host = blocks['job/demo/trainingjob-job0'].hosts[23];
      await clickHost(page, host);
      await has(page, '.details', `domain p00s00d${Math.floor(host / 17)}`);
      assert.match(await text(page, '#jobs'), /Segments\s*Domains/);
      await shoot(page, 'domains');
    });
    await open(clusterBlocks(), async (page) => {
      assert.doesNotMatch(await text(page, '#jobs'), /Domains/);
    });
  });

  it('shows what jobs pay for rented hosts', async () => {
    const blocks = clusterBlocks();
    await open(blocks, async (page, operator) => {
      assert.match(await text(page, '#costs'), /demo\/job0.*Provisioned.*24\.50 EUR of 40\.00 EUR.*7\.25 EUR.*24 of 24 hosts of pool a100-spot, Spot/s);
      await page.click('#costs button');
      await has(page, '.details', 'spent 7.25 EUR, moved once');
      const without = structuredClone(blocks);
      without['job/demo/trainingjob-job0'].cost = null;
      operator.publish(without);
      await page.waitForFunction(() => !document.querySelector('#costs'));
    });
  });

  it('follows the cluster without being asked', async () => {
    const first = clusterBlocks();
    await open(first, async (page, operator) => {
      const second = structuredClone(first);
      second['hosts/0'].states = 'x' + second['hosts/0'].states.slice(1);
      second.totals.hosts.x = 77;
      delete second['job/demo/trainingjob-job0'];
      operator.publish(second);
      await has(page, '.legend', 'not ready 77');
      const jobs = await text(page, '#jobs');
      assert.ok(!/demo\/job0\b/.test(jobs), 'the job that left is gone');
    });
  });

  it('goes back in time and returns to now', async () => {
    const first = clusterBlocks();
    const second = structuredClone(first);
    first.totals.hosts.x = 11;
    second.totals.hosts.x = 22;
    await open([first, second], async (page) => {
      await has(page, '.legend', 'not ready 22');
      await page.waitForFunction(() => !document.querySelector('#time').disabled);
      await page.focus('#time');
      await page.keyboard.press('ArrowLeft');
      await has(page, '.legend', 'not ready 11');
      assert.match(await text(page, '.travel'), /as it was at/);
      await page.evaluate(() => [...document.querySelectorAll('.travel button')].at(-1).click());
      await has(page, '.legend', 'not ready 22');
    });
  });

  it('is used by the keyboard alone, and says where the cursor is', async () => {
    await open(clusterBlocks(), async (page) => {
      await page.focus('canvas');
      await page.keyboard.press('Home');
      await has(page, '.cursor', 'p00s00h000');
      await page.keyboard.press('ArrowRight');
      await has(page, '.cursor', 'p00s00h001');
      await page.keyboard.press('PageDown');
      await has(page, '.cursor', 'p00s01h000');
      await page.keyboard.press('Enter');
      await has(page, '.details', 'p00s01h000');
      assert.equal(await page.$eval('.cursor', (e) => e.getAttribute('aria-live')), 'polite');
      await page.keyboard.press('/');
      await page.keyboard.type('p00s00h007');
      await page.keyboard.press('Enter');
      await has(page, '.details', 'p00s00h007');
      const unlabelled = await page.$$eval('button, input, canvas, meter', (elements) =>
        elements.filter((e) => !e.textContent && !e.getAttribute('aria-label') && !e.labels?.length).map((e) => e.outerHTML));
      assert.deepEqual(unlabelled, []);
    });
  });

  it('says when the operator is gone, and catches up when it is back', async () => {
    await open(clusterBlocks(), async (page, operator) => {
      const answer = operator.handle.bind(operator);
      let asked = 0;
      operator.handle = (request, response) => {
        ++asked;
        response.statusCode = 503;
        response.end('no endpoints');
      };
      for (const {response} of operator.waiting.splice(0)) response.end('retry: 100\n: nothing new\n\n');
      await has(page, '.connection', 'no answer');
      operator.handle = answer;
      await has(page, '.connection', 'live');
      assert.ok(asked >= 1);
    }).catch((error) => {
      // The browser reports the 503 as an error of its own; anything else is one of ours.
      if (!/503/.test(error.message)) throw error;
    });
  });

  it('prints what it shows', async () => {
    await open(clusterBlocks(), async (page) => {
      await page.emulateMediaType('print');
      const hidden = await page.$eval('.search', (e) => getComputedStyle(e).display);
      assert.equal(hidden, 'none');
      const pdf = await page.pdf({format: 'A4', landscape: true});
      assert.ok(pdf.length > 10_000);
    });
  });

  it('pans over 16,320 hosts without stutter', async () => {
    await open(clusterBlocks({pods: 8, segments: 15, hosts: 136}), async (page) => {
      await shoot(page, 'large');
      // Seconds of the CPU that the page's main thread has used: other work on the machine is not in them.
      const browserTools = await page.createCDPSession();
      await browserTools.send('Performance.enable', {timeDomain: 'threadTicks'});
      const cpuSeconds = async () =>
        (await browserTools.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
      const measure = (zoom) => page.evaluate(async (factor) => {
        const map = window.fabricMap;
        map.fit();
        if (factor > 1) map.zoom(factor);
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        map.frameTimes.length = 0;
        const gaps = [];
        let last = performance.now();
        for (let i = 0; i < 120; ++i) {
          map.pan(i % 40 < 20 ? 6 : -6, i % 20 < 10 ? 3 : -3);
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          gaps.push(now - last);
          last = now;
        }
        const at = (list, part) => [...list].sort((a, b) => a - b)[Math.floor(list.length * part)];
        return {frames: map.frameTimes.length, draw: at(map.frameTimes, 0.5), draw99: at(map.frameTimes, 0.99), gap: at(gaps, 0.5), gap95: at(gaps, 0.95)};
      }, zoom);
      for (const zoom of [1, 3, 10]) {
        const began = await cpuSeconds();
        const times = await measure(zoom);
        const cpu = ((await cpuSeconds()) - began) * 1000 / times.frames;
        console.log(`zoom ${zoom}: drawing takes ${times.draw.toFixed(1)} ms (99 %: ${times.draw99.toFixed(1)}), ` +
          `a frame comes every ${times.gap.toFixed(1)} ms (95 %: ${times.gap95.toFixed(1)}), ${cpu.toFixed(1)} ms of CPU each`);
        // A frame at 60 frames a second, all that the main thread does for it.
        assert.ok(times.frames >= 100, `${times.frames} frames were drawn`);
        assert.ok(cpu < 16, `a frame takes ${cpu} ms of CPU`);
        // Half a frame for our own drawing.
        assert.ok(times.draw < 8, `drawing takes ${times.draw} ms`);
      }
      await shoot(page, 'zoomed');
    });
  });
});

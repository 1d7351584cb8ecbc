// Drives pages in Chromium with Playwright. Arguments: a job file, a result file. A job is {program, pages}; a page has
// an address, optionally {width, height, scheme, blocked} and a list of steps, each [name, ...arguments] of STEPS below.
// The result has for each page {answers, errors, requests}: what each step gave, what the console and the page
// complained about, and every address that was asked for. A step that fails ends its page with {failed}.
const fs = require("fs");
const { chromium } = require("playwright-core");

const PATIENCE = 60000; // milliseconds

const STEPS = {
  // Until a model file is loaded, or the page says what is wrong.
  async ready(page) {
    await page.waitForFunction(
      () => document.body.dataset.ready || document.querySelector("#state.error"), null, { timeout: PATIENCE });
    return page.textContent("#state");
  },
  async chooseFolder(page, folder) {
    await page.evaluate(() => delete document.body.dataset.ready);
    await page.selectOption("#folder", folder);
    return STEPS.ready(page);
  },
  async chooseFile(page, file) {
    if (await page.isChecked(`input[value="${file}"]`)) {
      return STEPS.ready(page);
    }
    await page.evaluate(() => delete document.body.dataset.ready);
    await page.check(`input[value="${file}"]`);
    return STEPS.ready(page);
  },
  // As a person types; gives what the page shows in the end.
  async type(page, text) {
    await page.fill("#text", "");
    await page.type("#text", text);
    await STEPS.settled(page);
    return STEPS.shown(page);
  },
  async fill(page, text) {
    await page.evaluate((value) => {
      const area = document.getElementById("text");
      area.value = value;
      area.dispatchEvent(new Event("input"));
    }, text);
    await STEPS.settled(page);
    return STEPS.shown(page);
  },
  // Until the answer to what is typed is there.
  async settled(page) {
    await page.waitForFunction(
      () => document.getElementById("result").ariaBusy === "false", null, { timeout: PATIENCE });
  },
  async shown(page) {
    return page.evaluate(() => ({
      labels: Array.from(document.querySelectorAll("#answers li"), (row) =>
        [row.querySelector(".name").textContent, row.querySelector(".number").textContent]),
      tags: Array.from(document.querySelectorAll("#tags li"), (word) => word.textContent),
      problem: document.getElementById("problem").textContent,
      summary: document.getElementById("summary").textContent,
      facts: Object.fromEntries(Array.from(document.querySelectorAll("dd"), (fact) => [fact.id, fact.textContent])),
      height: document.querySelector("main").getBoundingClientRect().height,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    }));
  },
  async selfTest(page) {
    await page.click("#test");
    await page.waitForFunction(
      () => /good|error/.test(document.getElementById("verdict").className), null, { timeout: PATIENCE });
    return page.evaluate(() => ({
      kind: document.getElementById("verdict").className,
      color: getComputedStyle(document.getElementById("verdict")).color,
      verdict: document.getElementById("verdict").textContent,
      failures: Array.from(document.querySelectorAll("#failures li"), (item) => item.textContent),
    }));
  },
  // Answers of one file by the modules without the page's own: labels of texts, or tags of words.
  async classify(page, folder, file, texts, pairs) {
    return page.evaluate(async ([folder, file, texts, pairs]) => {
      const { openFolder, openModel } = await import("./model.js");
      const model = await openModel(await openFolder(folder), file);
      const answers = [];
      for (const [index, text] of texts.entries()) {
        if (Array.isArray(text)) {
          answers.push((await model.tag(text)).words.map(({ label }) => label));
        } else {
          const { labels, score, milliseconds } = await model.classify(text, pairs?.[index]);
          answers.push({ label: labels?.[0].label, probability: labels?.[0].probability, score, milliseconds });
        }
      }
      const { times, sizeBytes } = model;
      model.close();
      return { answers, times, sizeBytes };
    }, [folder, file, texts, pairs]);
  },
  async files(page) {
    return page.evaluate(() => Array.from(document.querySelectorAll(".file"), (label) => ({
      name: label.querySelector("input").value,
      disabled: label.querySelector("input").disabled,
      text: label.innerText,
    })));
  },
  // Where Tab goes, from the start.
  async tabs(page, count) {
    await page.evaluate(() => document.activeElement.blur());
    const found = [];
    for (let step = 0; step < count; step += 1) {
      await page.keyboard.press("Tab");
      found.push(await page.evaluate(() => document.activeElement.id || document.activeElement.value));
    }
    return found;
  },
  async evaluate(page, script) {
    return page.evaluate(script);
  },
  async screenshot(page, path) {
    await page.screenshot({ path, fullPage: true });
    return path;
  },
};

async function drive(browser, { address, steps, width = 1000, height = 900, scheme = "light", blocked = "" }) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: 1 });
  const found = { answers: [], errors: [], requests: [] };
  page.on("console", (message) => {
    // LiteRT writes its log to standard error, which a page shows as errors.
    if (message.type() === "error" && !/^(INFO|WARNING): /.test(message.text())) {
      found.errors.push(message.text());
    }
  });
  page.on("pageerror", (error) => found.errors.push(String(error)));
  page.on("request", (request) => found.requests.push(request.url()));
  if (blocked) {
    await page.route((url) => url.href.includes(blocked), (route) => route.fulfill({ status: 404, body: "" }));
  }
  try {
    await page.goto(address);
    for (const [name, ...values] of steps) {
      found.answers.push(await STEPS[name](page, ...values));
    }
  } catch (error) {
    found.failed = `${String(error)} (${found.answers.length} steps done; ${found.errors.join("; ")})`;
  }
  await page.close();
  return found;
}

async function main() {
  const [job, result] = process.argv.slice(2);
  const { program, pages } = JSON.parse(fs.readFileSync(job));
  // There is no sandbox for root, as in a container.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const browser = await chromium.launch({ executablePath: program, args });
  const found = [];
  for (const page of pages) {
    found.push(await drive(browser, page));
  }
  await browser.close();
  fs.writeFileSync(result, JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

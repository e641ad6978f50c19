import { chromium } from "playwright-core";
const [,, out, ...specs] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", "--disable-gpu"] });
for (const spec of specs) {
  const [name, hash, scheme = "light", width = "1280", action = ""] = spec.split("|");
  const page = await browser.newPage({ viewport: { width: Number(width), height: 900 }, colorScheme: scheme as "light" });
  page.on("pageerror", (e) => console.log(name, "PAGEERROR", e.message));
  page.on("console", (m) => ["error","warning"].includes(m.type()) && console.log(name, m.text()));
  await page.goto(`http://127.0.0.1:4799/${hash}`);
  await page.waitForTimeout(1500);
  if (action) { await page.click(action); await page.waitForTimeout(2500); }
  await page.screenshot({ path: `${out}/${name}.png`, fullPage: true });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) console.log(name, "WIDER by", over);
  await page.close();
}
await browser.close();

/** The site: pages/ is a copy of docs/, which `npm run build` makes; here is its table of contents. */
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

const docs = fileURLToPath(new URL("../pages", import.meta.url));
const page = (text: string, link: string) => ({ text, link });
const reference = existsSync(`${docs}/api`) ? readdirSync(`${docs}/api`, { recursive: true, encoding: "utf8" }) : [];

export default defineConfig({
  title: "layerwise",
  description: "Transformers that choose their own layers",
  srcDir: "pages",
  // Files of the repository beside docs/ are not part of the site.
  ignoreDeadLinks: [/\.\.\/(examples|bench|README|CHANGELOG|SECURITY)/],
  themeConfig: {
    search: { provider: "local" },
    sidebar: [
      {
        text: "Guide",
        items: ["share", "search", "adapt", "data", "runs", "export", "sweeps", "browser"]
          .filter((name) => existsSync(`${docs}/guide/${name}.md`))
          .map((name) => page(name, `/guide/${name}`)),
      },
      {
        text: "Depth and tools",
        items: [page("Depth policies", "/depth"), page("Studio", "/studio"), page("Commands", "/commands")].filter(
          ({ link }) => existsSync(`${docs}${link}.md`),
        ),
      },
      {
        text: "Behind it",
        items: ["results", "architecture", "reliability", "scaling", "log"].map((name) => page(name, `/${name}`)),
      },
      {
        text: "API",
        items: reference
          .filter((name) => name.endsWith(".md"))
          .map((name) => page(name.replace(/^.*\/|(-1)?\.md$/g, ""), `/api/${name.slice(0, -3)}`)),
      },
    ],
  },
});

/** How the benches search: weights learn first; then π moves fast, and blocks settle one after another, so that steps become cheaper. */
import type { SearchConfig } from "../src/tasks/search/index.ts";

export const searching = {
  temperatureStart: 5,
  temperatureEnd: 0.2,
  architectureRate: 0.03,
  freeze: 0.15,
  settle: [0.3, 0.7],
  cutEvery: 50,
} satisfies Partial<SearchConfig>;

/** Settings of a search that cannot be meant, found before anything is opened. */
import { reject } from "../../base/errors.ts";
import { parseBudget } from "./budget.ts";
import { temperatureOf } from "./course.ts";
import { lengthOf, type SearchConfig } from "./settings.ts";

type Limited = { [K in keyof SearchConfig]: SearchConfig[K] extends number | null ? K : never }[keyof SearchConfig];

interface Limit {
  readonly needed: string;
  fits(value: number): boolean;
}

const above0: Limit = { needed: "a number above 0", fits: (value) => value > 0 && value < Number.POSITIVE_INFINITY };
const from0: Limit = { needed: "a number from 0", fits: (value) => value >= 0 && value < Number.POSITIVE_INFINITY };
const part: Limit = { needed: "a part from 0 to 1", fits: (value) => value >= 0 && value <= 1 };

/** Other rates are multiples of the first: without one they would be 0/0. */
const limits: Partial<Record<Limited, Limit>> = {
  ...{ rate: above0, hiddenRate: from0, architectureRate: from0, floor: part, freeze: part },
  ...{ weightDecay: from0, clipNorm: above0, budgetWeight: above0 },
  beta2: { needed: "a number from 0 to below 1", fits: (value) => value >= 0 && value < 1 },
  cut: { needed: "a probability above 0.5 and below 1", fits: (value) => value > 0.5 && value < 1 },
};

export function checkConfig(config: SearchConfig): void {
  lengthOf(config);
  temperatureOf(config, 1);
  for (const [key, { needed, fits }] of Object.entries(limits)) {
    const value = config[key as Limited];
    if (value !== null && !fits(value)) reject({ who: wordsOf(key), needed, got: `${value}` }, 2);
  }
  checkBudget(config);
  checkSettling(config);
}

/** `clipNorm` → `clip norm`. */
const wordsOf = (key: string) => key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function checkBudget({ budget, blocks }: SearchConfig): void {
  if (budget === null) return;
  parseBudget(budget);
  if (typeof blocks !== "string") return;
  const remedy = "leave the budget or the pattern out";
  reject({ who: "budget", needed: "blocks to choose", got: "a pattern", remedy }, 2);
}

function checkSettling({ settle, cut }: SearchConfig): void {
  const [from, by] = settle ?? [0, 1];
  if (!(from >= 0 && from < by && by <= 1)) {
    reject({ who: "settle", needed: "two parts of the updates, such as 0.25,0.75", got: `${settle}` }, 2);
  }
  if (settle && cut === null) {
    const remedy = "leave out --no-cut";
    reject({ who: "settle", needed: "a search that cuts candidates", got: "--no-cut", remedy }, 2);
  }
}

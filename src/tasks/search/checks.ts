/** Settings of a search that do not go together, found before anything is opened. */
import { reject } from "../../base/errors.ts";
import { lengthOf, type SearchConfig, searchSettings } from "./settings.ts";

export function checkConfig(config: SearchConfig): void {
  const { keys, check } = searchSettings;
  check(Object.fromEntries(Object.entries(config).filter(([key]) => keys.includes(key))), "search");
  lengthOf(config);
  checkBudget(config);
  checkSettling(config);
  checkFront(config);
}

/** A front is found by paths, not by π: what concerns π alone would be ignored. */
function checkFront(config: SearchConfig): void {
  const { front, mostParameters, mostMemory, fullDepth } = config;
  const ofFronts = { mostParameters: mostParameters !== null, mostMemory: mostMemory !== null, fullDepth };
  const [alone] = Object.entries(ofFronts).flatMap(([key, isGiven]) => (isGiven ? [key] : []));
  if (!front && alone !== undefined) {
    reject({ who: "search", needed: `${alone} with front`, got: "no front", remedy: "give front, or leave it out" }, 2);
  }
  if (!front) return;
  const usual = searchSettings.resolve([{ source: "front", values: { front: true } }]);
  const given = ["straightThrough", "trainedTemperature", "settle", "decide", "freeze", "architectureRate"] as const;
  const got = [
    ...(typeof config.blocks === "string" ? ["a pattern"] : []),
    ...(config.procedure === "joint" ? [] : [`procedure ${config.procedure}`]),
    ...given.filter((key) => config[key] !== usual[key]),
    ...(config.tied ? ["tied: embedding and softmax are trained in pieces of their own"] : []),
    ...(config.accumulate > 1 ? ["accumulate: a batch has one path"] : []),
  ];
  if (got.length === 0) return;
  const remedy = "leave front or the others out";
  reject(
    {
      who: "front",
      needed: "blocks to choose, and nothing that is about π or whole batches",
      got: got.join(", "),
      remedy,
    },
    2,
  );
}

function checkBudget({ budget, blocks }: SearchConfig): void {
  if (budget === null || typeof blocks !== "string") return;
  const remedy = "leave the budget or the pattern out";
  reject({ who: "budget", needed: "blocks to choose", got: "a pattern", remedy }, 2);
}

function checkSettling({ settle, decide, cut }: SearchConfig): void {
  const [from, by] = settle ?? [0, 1];
  if (from >= by) {
    reject({ who: "settle", needed: "two fractions of the updates, such as 0.25,0.75", got: `${settle}` }, 2);
  }
  const [cutting] = Object.entries({ settle, decide }).flatMap(([key, value]) => (value === null ? [] : [key]));
  if (cutting !== undefined && cut === null) {
    const remedy = "leave cut as it is";
    reject({ who: cutting, needed: "a search that cuts candidates", got: "no cut", remedy }, 2);
  }
}

/** Names of a model's parameters: weights are stored by them. */
import { rejectOption } from "../base/errors.ts";
import type { Parameter } from "../nn/index.ts";

/** Refuses two parameters of one name. */
export function checkNames(who: string, parameters: readonly Parameter[]): void {
  const names = parameters.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice === undefined) return;
  const remedy = "give every block a name of its own";
  rejectOption({ who, needed: "parameters of different names", got: `${twice} twice`, remedy });
}

/** What processes that train together tell each other. */
import { decodeJson, encodeJson } from "../base/json.ts";
import type { World } from "../engine/engine.ts";

/** What the first process says, known to all. */
export async function toldAmong<T>(world: World, say: () => T | Promise<T>): Promise<T> {
  const text = world.rank === 0 ? encodeJson(await say()) : "";
  const length = Float64Array.of(text.length);
  await world.sum(length);
  const letters = new Float64Array(length[0]!);
  for (let i = 0; i < text.length; i++) letters[i] = text.charCodeAt(i);
  await world.sum(letters);
  return decodeJson(Array.from(letters, (code) => String.fromCharCode(code)).join("")) as T;
}

/** Whether any process says yes. */
export async function anyAmong(world: World, says: boolean): Promise<boolean> {
  const flag = Float64Array.of(Number(says));
  await world.sum(flag);
  return flag[0]! > 0;
}

/** Opening a page in the user's browser. */
import { spawn } from "node:child_process";

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens an address with the system's browser; where there is none, `say` hears of it. */
export function openInBrowser(url: string, say: (text: string) => void = () => {}): void {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(program!, [...args, url], { detached: true, stdio: "ignore" });
  child.once("error", () => say("no browser could be opened; open the address yourself"));
  child.unref();
}

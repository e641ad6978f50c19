/** Finds a Vulkan driver for the tests that run on a graphics processor: the system's, or the software one that comes with Chromium. */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { ortEngine } from "../src/engine/ort.ts";
import { executablePath } from "./pages.ts";

const installed = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];

/** SwiftShader's description beside the browser. */
function softwareDriver(): string | undefined {
  const folders = executablePath ? [dirname(realpathSync(executablePath))] : [];
  return [...folders, "/usr/lib/chromium", "/usr/lib64/chromium-browser"]
    .map((folder) => join(folder, "vk_swiftshader_icd.json"))
    .find((file) => existsSync(file));
}

/** Sets the variable by which the Vulkan loader finds the software driver, unless the system has one. */
function chooseDriver(): void {
  const has = installed.some(
    (folder) => existsSync(folder) && readdirSync(folder).some((file) => file.endsWith("json")),
  );
  const driver = softwareDriver();
  if (has || !driver) return;
  process.env.VK_ICD_FILENAMES ??= driver;
}

/** Whether programs run on WebGPU in this process; says so where they do not. */
export async function hasVulkan(): Promise<boolean> {
  chooseDriver();
  const runs = await ortEngine({ device: "webgpu" }).then(
    () => true,
    () => false,
  );
  if (!runs) console.warn("skipped: no Vulkan driver for WebGPU was found (libvulkan1, and a driver or Chromium)");
  return runs;
}

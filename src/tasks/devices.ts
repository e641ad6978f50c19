/** A script for `diagnose`: prints the devices on which a trial program ran, as JSON. */
import { presentDevices } from "../engine/ort.ts";

process.stdout.write(JSON.stringify(await presentDevices()));

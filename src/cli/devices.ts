/** A script for `doctor`: prints the devices on which a trial program ran, as JSON. */
import { presentDevices } from "../index.ts";

process.stdout.write(JSON.stringify(await presentDevices()));

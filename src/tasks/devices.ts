/** A script for `diagnose`: prints the devices on which a small model trained, and how fast, as JSON. */
import { trialDevices } from "./trial.ts";

process.stdout.write(JSON.stringify(await trialDevices()));

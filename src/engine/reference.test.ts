import { engineContract } from "./engine.contract.ts";
import { referenceEngine } from "./reference.ts";

engineContract("the reference engine", async () => referenceEngine());

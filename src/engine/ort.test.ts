import { engineContract } from "./engine.contract.ts";
import { ortEngine } from "./ort.ts";

engineContract("ONNX Runtime", () => ortEngine({ threads: 2 }));

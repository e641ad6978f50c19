/** The list of commands. Each file in commands/ adds one to the program and loads what it needs only when it runs. */
import type { Command } from "commander";
import { addCertify } from "./commands/certify.ts";
import { addData } from "./commands/data.ts";
import { addTokenizer } from "./commands/tokenizer.ts";

export const commands: readonly ((program: Command) => void)[] = [addCertify, addData, addTokenizer];

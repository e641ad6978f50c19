/** What version 0.1.0's command line could do, as command lines small enough to run in a second. */

/** A command line to be run from the working folder; arguments with spaces stand in quotes. */
export interface Feature {
  readonly line: string;
  /** What it reads from standard input. Default: nothing. */
  readonly input?: string;
  /** Whether it ends with exit code 1 or 2 instead of 0. Default: no. */
  readonly isRefused?: boolean;
}

const text = "--corpus fixtures/runs/data/text --tokenizer fixtures/runs/data/tokenizer.model";
const often = "--evaluate-every 4 --checkpoint-every 4 --threads 1";
const steps = `--steps 12 --warmup 3 ${often}`;
const small = "--width 16 --heads 2 --length 16 --batch 4";
const language = `train ${text} ${small} ${steps}`;
const pairs = `--task translate --corpus fixtures/runs/data/pairs --pieces 54 --width 16 --heads 2 --hidden 32 --length 32 --batch 8 ${steps}`;
const search = `search ${text} ${small} --hidden 32 --memory 8 --cutoffs 40,100 --latency 1x8+8 ${steps}`;
const albert = `pretrain ${text} ${small} --embedding 8 --depth 3 --evaluate-texts 16 --steps 12 ${often}`;
const glue = "--glue glue --length 16 --checkpoint-every 4 --threads 1";
const scratch = `--scratch --tokenizer fixtures/runs/data/tokenizer.model --width 16 --heads 2 --embedding 8 --depth 3 ${glue} --epochs 2`;

const said = (...lines: string[]): Feature[] => lines.map((line) => ({ line }));
const refused = (...lines: string[]): Feature[] => lines.map((line) => ({ line, isRefused: true }));

/** Every command but `data download`, with flags that lead to other code, in an order in which each finds the runs it needs. */
export const features: readonly Feature[] = [
  ...said("--help", "--version", "train --help", "doctor", "doctor --json"),
  // Sharing: orders by name and by hand, optimisers, schedules, first weights, ends.
  ...said(
    `${language} --depth 4 --unique 2 --out runs/cycle`,
    `${language} --depth 4 --unique 2 --share cycle_rev --optimiser adamw --schedule linear --out runs/reversed`,
    `${language} --depth 4 --unique 2 --share sequence --optimiser lamb --schedule constant --clip-value 1 --out runs/sequence`,
    `${language} --depth 4 --unique 3 --share middle-cycle --optimiser sgd --schedule inverse-sqrt --clip-norm none --out runs/middle`,
    `${language} --depth 4 --unique 3 --share middle-sequence --optimiser adam --activation relu --accumulate 2 --out runs/inside`,
    `${language} --plan 0,1,1,0 --hidden 32 --dropout 0 --keep 1 --patience 1 --out runs/plan`,
    `${language} --depth 2 --hidden 32 --init runs/plan --seed 2 --out runs/further`,
    `${language} --depth 3 --unique 1 --halt --ponder 0.01 --ponder-warmup 4 --halt-bias -1 --out runs/halting`,
    `train --preset tiny --steps 2 --threads 1 --out runs/preset`,
    `train --config run.yaml --minutes 0.02 --out runs/minutes`,
    `train --corpus fixtures/runs/data/text --pieces 150 --cased ${small} --depth 2 --epochs 1 --batch 32 --threads 1 --out runs/own`,
    `train --preset wikitext ${text} ${small} --dry-run --threads 1`,
    `train ${text} ${small} --depth 2 --halt --dry-run --threads 1`,
  ),
  // Translation.
  ...said(
    `train ${pairs} --depth 2 --unique 1 --out runs/translate`,
    `train ${pairs} --depth 2 --unique 1 --parts attention --norms per-depth --decoder-plan 0,0 --out runs/parts`,
    `train ${pairs} --depth 2 --unique 1 --parts feed-forward --smoothing 0 --optimiser lamb --out runs/forward`,
    `translate runs/translate --score test --json`,
    `translate runs/parts --score valid --beam 2 --average 2`,
    `translate runs/translate lines.en --length-penalty 1`,
  ),
  { line: "translate runs/translate --beam 1", input: "The dog runs.\nThe cat sleeps.\n" },
  // Uses of language models.
  ...said(
    `eval runs/cycle`,
    `eval runs/halting --split test --json`,
    `eval runs/plan --checkpoint last`,
    `generate runs/cycle --prompt "it was" --tokens 8 --temperature 0`,
    `generate runs/halting --tokens 8 --top-k 5 --top-p 0.9 --seed 7 --stop . --json`,
    `export runs/cycle`,
    `export runs/halting --out exports/halting --checkpoint best`,
    `export runs/halting --out exports/halting --force`,
    `runs`,
    `runs runs --json`,
    `runs show runs/cycle`,
    `runs show runs/halting --json`,
    `runs compare runs/cycle runs/reversed runs/halting`,
    `runs compare runs/cycle runs/translate --json`,
    `plan --unique 3 --depth 6 --share cycle`,
    `plan --unique 6 --depth 18 --share cycle_rev --svg plan.svg`,
    `plan --plan 0,1,2,1,2,3 --width 256 --heads 8 --json`,
    `plan --unique 3 --depth 6 --parts attention --norms per-depth`,
    `compare ${text} ${small} ${steps} --seeds 2 --only "universal 1/6,cycle_rev 3/6" --out runs/compare`,
    `compare ${text} ${small} ${steps} --seeds 2 --only "universal 1/6,cycle_rev 3/6" --out runs/compare --json`,
    `bench depth --batch 1 2 --mean 2 3 --cap 4 --width 32 --heads 2 --length 16 --rounds 1 --threads 1`,
    `bench depth --batch 1 --mean 2 --cap 4 --width 32 --heads 2 --length 16 --rounds 1 --threads 1 --json`,
  ),
  // Search.
  ...said(
    `${search} --blocks 2 --budget 0.9 --out runs/search`,
    `${search} --blocks 3 --procedure alternate --architecture-rate 0.01 --seeds 2 --out runs/seeds`,
    `${search} --blocks 3 --candidates s,f,f:16,i --straight-through --trained-temperature --freeze 0.2 --optimiser muon --hidden-rate 0.01 --architecture-rate 1 --cut 0.51 --cut-every 2 --out runs/cut`,
    `${search} --blocks 3 --settle 0.3,0.7 --temperature-start 5 --temperature-end 0.2 --evaluation-memory 12 --evaluation-length 8 --evaluation-batch 2 --json --out runs/settled`,
    `${search} --blocks 2 --adaptive-input --clamp-length 12 --same-length --projection-sizes 8,4 --original-batches --out runs/adaptive`,
    `${search} --pattern (sf)x2 --compat original --out runs/pattern`,
    `${search} --pattern baseline/2 --schedule linear --floor 0.1 --out runs/baseline`,
    `search ${text} ${small} --hidden 32 --cutoffs none --blocks 2 --epochs 1 --batch 16 --latency 1x8+8 ${often} --out runs/plain`,
    `retrain runs/search --steps 12 --threads 1 --out runs/retrain`,
    `retrain runs/cut --from-supernet --steps 8 --no-baseline --threads 1 --json --out runs/supernet`,
    `retrain runs/cut/architecture.json --steps 8 --baseline runs/retrain-baseline --threads 1 --out runs/again`,
    `retrain sf:16 ${text} ${small} --memory 8 --cutoffs 40,100 --latency 1x8+8 ${steps} --no-baseline --out runs/by-hand`,
    `eval runs/search --mixture arg-max --evaluation-memory 16`,
    `eval runs/retrain --split test --json`,
    `generate runs/retrain --tokens 8 --temperature 0`,
    `generate runs/search --tokens 8 --evaluation-memory 16 --mixture mean --json`,
    `export runs/retrain --out exports/retrain`,
    `runs show runs/search`,
    `runs show runs/retrain --json`,
    `runs compare runs/search runs/retrain`,
    `cutoffs --counts counts.txt --clusters 3`,
    `cutoffs ${text} --clusters 3 --json`,
    `cutoffs ${text} --clusters 3 --measured --width 16 --rows 64 --threads 1`,
  ),
  // Adaptive depth.
  ...said(
    `${albert} --long-length 32 --long-share 0.5 --out runs/albert`,
    `${albert} --no-halt --optimiser adamw --schedule polynomial --random-next --no-whole-word --no-favour-shorter --out runs/fixed`,
    `${albert} --optimiser muon --schedule cosine --ponder-reduce sum --ponder-from 0.3 --halt-rate 0.1 --step-embedding --accumulate-states weightedSum --frequency-bias --out runs/sum`,
    `${albert} --init runs/albert --positions 32 --no-sentence-order --distinct-passes 2 --no-halt-at-cap --schedule constant --accumulate 2 --dropout 0.1 --out runs/initialised`,
    `pretrain --preset trial --steps 2 --threads 1 --out runs/trial`,
    `pretrain --preset trial ${text} --dry-run --threads 1`,
    `data build --corpus fixtures/runs/data/text --tokenizer fixtures/runs/data/tokenizer.model --masked --length 16 --passes 2 --out examples`,
    `eval runs/albert --json`,
    `eval runs/albert --corpus notes.txt`,
    `export runs/albert --out exports/albert`,
    `depth runs/albert --texts 16`,
    `depth runs/sum --texts 16 --json`,
    `depth runs/albert --text "The cat sat on the mat ." --html cat.html --svg cat.svg`,
    `depth runs/albert --conllu bank.conllu`,
    `depth runs/albert --probe probe.txt --json`,
    `depth runs/albert --agreement agreement.csv --svg distance.svg`,
    `import fixtures/albert/act --out runs/imported`,
    `import fixtures/albert/stock/model.safetensors --halt --json --out runs/stock`,
    `import fixtures/albert/act-npy --out runs/imported --force --activation gelu --transpose-pooler`,
    `glue SST-2 --from runs/albert ${glue} --batch 8 --epochs 2 --out runs/glue`,
    `glue STS-B --from runs/glue ${glue} --batch 8 --epochs 1 --optimiser lamb --pooling mean --embedding-deviation 0.02 --json --out runs/similar`,
    `glue MNLI ${scratch} --batch 8 --halt --ponder 0.01 --examples 16 --out runs/inference`,
    `glue RTE --scratch --like runs/albert ${glue} --batch 8 --epochs 1 --out runs/like`,
    `glue CoLA ${scratch} --batch 8 --config glue.yaml --out runs/acceptable`,
    `glue search SST-2 ${scratch} --rates 0.01,0.001 --batches 8 --seeds 2 --parallel 2 --out runs/glue-search`,
    `glue search SST-2 ${scratch} --batches 8 --strategy halving --trials 2 --seeds 1 --out runs/halving`,
    `glue search SST-2 ${scratch} --batches 8 --strategy random --trials 2 --seeds 1 --out runs/random`,
    `glue eval runs/glue --json`,
    `glue eval runs/inference --split dev-mismatched`,
    `glue predict runs/glue --out submission`,
    `glue predict runs/inference --out submission`,
    `glue predict runs/similar --out submission`,
    `eval runs/glue`,
    `depth runs/glue --text "a good film"`,
    `export runs/glue --out exports/glue`,
    `runs show runs/albert`,
    `runs show runs/glue`,
    `runs runs`,
  ),
  // Runs that were stopped, as version 0.1.0 left them.
  ...said(
    ...["language", "halting", "translate", "search", "seeds", "retrain", "pretrain", "glue"].map(
      (run) => `resume stopped/${run}`,
    ),
    `resume runs/cycle`,
    `search --resume runs/search`,
  ),
  // Data and tokenizers.
  ...said(
    `data build ${text} --length 16 --batch 4 --out batches`,
    `data build ${text} --length 16 --batch 4 --out batches --force --tfrecord --shards 2`,
    `data build --corpus notes.txt --pieces 40 --length 8 --batch 1 --compat original --tfrecord --json --out original`,
    `data inspect ${text} --length 16 --batch 4`,
    `data inspect ${text} --length 16 --batch 4 --json`,
    `data inspect --corpus batches`,
    `tokenizer train --input fixtures/runs/data/text/train.txt --out pieces --vocabulary 400 --normalisation nmt_nfkc --symbols @-@ --byte-fallback --split-digits --force`,
    `tokenizer train --input notes.txt fixtures/runs/data/text/valid.txt --out plain --vocabulary 150 --normalisation identity --no-split-by-script --control [CLS] --json`,
    `tokenizer inspect --model pieces.model`,
    `tokenizer inspect --model plain.model --json`,
    `tokenizer encode --model pieces.model notes.txt`,
    `tokenizer encode --model plain.model --pieces --release 0.2.0 notes.txt`,
  ),
  { line: "tokenizer decode --model plain.model", input: "4 5 6 7\n" },
  ...said("certify fixtures/golden --threads 1", "certify fixtures/golden/optimisers --json"),
  // What is refused.
  ...refused(
    `${language} --depth 2 --heads 3 --out runs/refused`,
    `${search} --blocks 2 --candidates s,q --out runs/refused`,
    "eval runs/none",
    "generate runs/albert",
    "plan --plan 0,x",
    "train --widht 8",
  ),
];

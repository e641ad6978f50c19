/** Made data that small heads learn within seconds: names and places, questions on them, good and bad days. */
const pick = <T>(list: readonly T[], i: number) => list[i % list.length]!;
const names = ["alice", "tom", "ann"];
const places = ["london", "rome"];

/** Names are persons, towns places; other words are nothing. */
export const sentences = (from: number, count: number) =>
  Array.from({ length: count }, (_, k) => {
    const i = from + k * 7;
    const words = [
      [pick(names, i), "B-PER"],
      ...(i % 2 ? [["white", "I-PER"]] : []),
      [pick(["went", "came"], i), "O"],
      ["to", "O"],
      [pick(places, Math.floor(i / 3)), "B-LOC"],
    ];
    return words.map((cells) => cells.join(" ")).join("\n");
  }).join("\n\n");

/** The place after "in" answers where, the name at the beginning who. */
export const squad = (from: number, count: number) => {
  const qas = Array.from({ length: count }, (_, k) => {
    const i = from + k * 5;
    const [name, place] = [pick(names, i), pick(places, Math.floor(i / 2))];
    const context = `${name} sat in ${place}`;
    const [question, text] = i % 2 ? ["where", place] : ["who", name];
    const answers = [{ text, answer_start: context.indexOf(text) }];
    return { context, qas: [{ id: `${i}`, question, answers }] };
  });
  return JSON.stringify({ data: [{ paragraphs: qas }] });
};

/** The choice that repeats nothing but says "good" is right. */
export const choices = (from: number, count: number) =>
  Array.from({ length: count }, (_, k) => {
    const i = from + k;
    const pair = i % 2 ? ["a good day", "a bad day"] : ["a bad time", "a good time"];
    return JSON.stringify({ text: pick(names, i), choices: pair, label: i % 2 ? 0 : 1 });
  });

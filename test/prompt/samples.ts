/**
 * samples.ts -- sample texts of all kinds that prompts contain, with their token counts.
 *
 * `tokens` is the larger of the counts of cl100k_base and o200k_base for exactly this text.
 */

interface Sample {
  readonly name: string;
  readonly text: string;
  readonly tokens: number;
}

const prose = `# Choosing strings for topspin

A player who hits hard from the baseline wants a string that grips the ball and **lasts**. Polyester
does both, at the price of comfort: after about ten hours it goes dead, and the arm notices.

- stiff, shaped strings bite best (see [the test](https://strings.example/tests/2024?sort=spin))
- a lower tension, around 22 to 24 kg, gives more of everything but control
- hybrids with natural gut cost more than three times as much

> "I would not go back", says one reviewer; another calls the same set *unplayable*.
`;

const code = `export function readLines(file: string, { from = 1, count = 200 } = {}): readonly string[] {
  const lines = readFileSync(file, "utf8").split(/\\r?\\n/);
  if (from > lines.length) throw new RangeError(\`\${file} has \${lines.length} lines, not \${from}.\`);
  // The last line end does not start another line.
  return lines.slice(from - 1, from - 1 + count).filter((line, index) => line !== "" || index > 0);
}

for (const [key, value] of Object.entries(settings)) {
    if (value === undefined || !isAllowed(key)) continue;
    total += weights[key] * Math.max(0, value - threshold) ** 2;
}
`;

const python = `def best_of(reviews, limit=3):
    scores = {}
    for review in reviews:
        for name, value in review["scores"].items():
            scores.setdefault(name, []).append(float(value))
    ranked = sorted(scores.items(), key=lambda item: -sum(item[1]) / len(item[1]))
    return [name for name, _ in ranked[:limit]]
`;

const reply = JSON.stringify(
  {
    thoughts: {
      text: "Two of the three reviews agree on the first place, so one more source should settle it.",
      reasoning: "Reading is cheap and the file is already in the workspace.",
      plan: "- read reviews/third.md\n- compare the scores\n- write recommended_strings.txt",
      criticism: "I should have noted the sources while I read.",
      speak: "I am reading the last review.",
    },
    command: { name: "read_file", args: { file: "reviews/third.md", from: 1, count: 120 } },
  },
  null,
  2,
);

const chinese =
  "代理根据目标自己决定下一步要执行哪个命令，并把重要的结果写进工作区的文件。用户可以随时查看它做过什么、花了多少钱，以及每个文件为什么存在。如果一个命令失败了，它会先弄清原因，再换一种办法。";
const traditional =
  "代理根據目標自行決定下一步要執行哪個命令，並將重要的結果寫入工作區的檔案。使用者可以隨時查看它做過什麼、花了多少錢，以及每個檔案為何存在。";

let seed = 20240422;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((seed / 0x80000000) * below);
};
const bytes = Buffer.from(Array.from({ length: 3_000 }, () => random(256)));
const numbers = Array.from({ length: 200 }, (_, row) => `${row},${random(100_000) / 100},2024-04-${(row % 28) + 1}`);
const log = Array.from(
  { length: 40 },
  (_, line) =>
    `{"level":30,"time":17138${random(90_000) + 10_000}123,"step":${line},"message":"read_file took ${random(900)} ms"}`,
);

export const SAMPLES: readonly Sample[] = [
  { name: "markdown", text: prose, tokens: 134 },
  { name: "TypeScript", text: code, tokens: 166 },
  { name: "Python", text: python, tokens: 78 },
  { name: "a reply in JSON", text: reply, tokens: 149 },
  { name: "JSON inside JSON", text: JSON.stringify(reply), tokens: 176 },
  { name: "JSON twice inside JSON", text: JSON.stringify(JSON.stringify(reply)), tokens: 228 },
  {
    name: "minified JSON",
    text: JSON.stringify({ rows: numbers.slice(0, 50).map((row) => row.split(",")) }),
    tokens: 700,
  },
  { name: "Chinese", text: chinese, tokens: 100 },
  { name: "traditional Chinese", text: traditional, tokens: 97 },
  { name: "Chinese and code", text: `${chinese}\n\n${code}\n${chinese}`, tokens: 365 },
  {
    name: "Japanese",
    text: "次のコマンドを決めて、結果をファイルに保存してください。失敗したときは、原因を調べてから別の方法を試します。",
    tokens: 51,
  },
  {
    name: "Korean",
    text: "다음 명령을 결정하고 결과를 파일에 저장하십시오. 실패하면 원인을 확인한 뒤 다른 방법을 시도합니다.",
    tokens: 45,
  },
  {
    name: "Russian",
    text: "Агент сам решает, какую команду выполнить дальше, и сохраняет важные результаты в файлы рабочей папки.",
    tokens: 39,
  },
  { name: "base64", text: bytes.toString("base64"), tokens: 2865 },
  { name: "base64 in lines", text: bytes.toString("base64").replace(/.{76}/g, "$&\n"), tokens: 2923 },
  { name: "hex", text: bytes.toString("hex"), tokens: 3420 },
  { name: "numbers", text: numbers.join("\n"), tokens: 2593 },
  { name: "a log", text: log.join("\n"), tokens: 1040 },
  { name: "digits", text: "3141592653589793".repeat(100), tokens: 534 },
  { name: "spaces", text: " ".repeat(4_000), tokens: 36 },
  { name: "line ends", text: "\n".repeat(4_000), tokens: 252 },
  { name: "tabs", text: "\t".repeat(4_000), tokens: 252 },
  { name: "mixed white space", text: " \n\t \n  \t\t".repeat(400), tokens: 1202 },
  { name: "indented lines", text: "        x\n    y\n".repeat(200), tokens: 1200 },
  { name: "one letter", text: "a".repeat(8_000), tokens: 1000 },
  { name: "one sign", text: "=".repeat(4_000), tokens: 68 },
  { name: "a table of signs", text: "| --- | :---: | ---: |\n".repeat(50), tokens: 500 },
  { name: "emoji", text: "😀🎉✅🚀👩‍💻🔥💡✨".repeat(50), tokens: 1200 },
  {
    name: "paths",
    text: Array.from({ length: 100 }, (_, at) => `src/prompt/part_${at}/readMessage.test.ts`).join("\n"),
    tokens: 1199,
  },
];

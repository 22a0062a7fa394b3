/** picture-book.ts -- the second example of seed 000: a picture book of twelve chapters, written by self-calls. */
import { block, DONE, type Line, onGoals, onTask } from "../helpers/conditional-model.ts";

export const BOOK_GOAL = "Help me make a picture book about Alice in Wonderland, and give me the Markdown file.";

export const CHAPTERS = [
  "Down the Rabbit Hole",
  "The Pool of Tears",
  "A Caucus-Race and a Long Tale",
  "The Rabbit Sends in a Little Bill",
  "Advice from a Caterpillar",
  "Pig and Pepper",
  "A Mad Tea-Party",
  "The Queen's Croquet Ground",
  "The Mock Turtle's Story",
  "The Lobster Quadrille",
  "Who Stole the Tarts?",
  "Alice's Evidence",
] as const;
/** The chapter whose first picture is refused. */
export const REFUSED = 6;

const PROGRAM = `titles = ${JSON.stringify(CHAPTERS)}
book = ['# Alice in Wonderland\\n']
summary = 'Nothing yet.'
for number, title in enumerate(titles, 1):
    text = agent.run(f'Write chapter {number}, {title}. The story so far: {summary}', return_type=str)
    summary = agent.run(f'Sum this up in one sentence: {text}', return_type=str)
    scene = agent.run(f'Describe a picture for: {summary}', return_type=str)
    file = f'images/{number:02}.png'
    try:
        generate_image(scene, file)
    except CommandError as error:
        scene = agent.run(f'This picture was refused: {error}. Describe a milder one for: {scene}', return_type=str)
        generate_image(scene, file)
    book.append(f'## {title}\\n\\n{text}\\n\\n![{scene}]({file})\\n')
with open('alice.md', 'w') as f:
    f.write('\\n'.join(book))
'alice.md'`;

const sentence = (number: string): string => `In chapter ${number} Alice meets somebody strange and goes on.`;
/** About 300 tokens each. */
export const chapterText = (number: string): string =>
  Array.from(
    { length: 12 },
    (_, line) => `Chapter ${number}, line ${line + 1}: Alice looks around and wonders at what she sees in this place.`,
  ).join(" ");

export const BOOK_LINES: readonly Line[] = [
  onTask(/^Write chapter (\d+), .*The story so far: (.*)$/s, ([, number = ""]) => chapterText(number)),
  onTask(/^Sum this up in one sentence: Chapter (\d+),/, ([, number = ""]) => sentence(number)),
  onTask(/^Describe a picture for: In chapter (\d+)/, ([, number = ""]) =>
    Number(number) === REFUSED ? "A cook throws knives at a baby." : `Alice in a wide landscape, scene ${number}.`,
  ),
  onTask(
    /^This picture was refused: [\s\S]*safety system[\s\S]*A cook throws knives/,
    () => "A cook stirs a soup, and all sneeze.",
  ),
  onGoals(({ last, own }) => own.length > 0 && last.includes("alice.md"), DONE),
  onGoals(({ own }) => own.length === 0, block(PROGRAM)),
];

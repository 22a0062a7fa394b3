/** security-page.ts -- writes SECURITY.md: how to report, what is defended and by which test, and what is not. */
import { AREAS } from "../test/security/list.ts";

export function renderSecurityPage(generated: string, table: Table): string {
  const sections = Object.entries(AREAS).map(([area, rows]) => {
    const cells = rows.map(({ id, claim, proofs }) => [id, claim, filesOf(proofs.map(({ file }) => file))]);
    return `### ${area}\n\n${table(["id", "what is defended", "tests"], cells)}`;
  });
  return `${[HEAD.replace("\n", `\n\n${generated}\n`), ...sections, NOT_DEFENDED].join("\n\n")}\n`;
}

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const filesOf = (files: readonly string[]): string =>
  [...new Set(files)].map((file) => `\`${file.replace(/^test\//, "").replace(/\.ts$/, "")}\``).join(", ");

const HEAD = `# Security policy

goald has not been released yet. Fixes go to the main branch.

Report a vulnerability privately to the maintainers, through the repository's private security advisories. Please include a way to
reproduce it, and do not open a public issue before it is fixed. You get an answer within seven days.

In scope: leaving the agent's folder, reaching private network addresses, running programs of the model or of a page, sending your files
or memories out unasked, reading or leaking secrets, spending beyond a limit, losing or repeating an effect, controlling a host from a web
page or as another user.

[docs/security.md](docs/security.md) has the rules that goald keeps.

## What is defended

\`npm run test:security\` runs the tests of this table and prints each row with its result (\`-- F5\` runs the rows whose id contains F5).
\`npm test\` contains them, and \`npm run test:long\` those of \`*.long\` files. A table that names a test which does not exist fails. Tests are
below \`test/\`.`;

const NOT_DEFENDED = `## What is not defended

| what | why, and what you can do |
| --- | --- |
| commands of your own | They are programs that run as you, with your files and your network, also in a replay. Read them before you put them into a home. |
| you, and programs that run as you | Whoever can read your home can read its keys, and can use the daemon's socket. So can root. |
| users who see your processes | \`goald dashboard --open\` hands an address with a ticket to a program. Who sees it there and is faster than your browser, within a minute, has a session. Without \`--open\` the address is only printed. |
| model and search servers | They see what they are asked: goals, files that the agent reads, memories. The same holds for servers of embeddings, images, speech and Pinecone. Use servers that you trust with it. |
| machines where the cage is not strict | Without bubblewrap, or where the system forbids it, readers of pages and git run in processes of their own with limits, but the system does not close files and network to them. \`goald doctor\` and \`goald status\` name the level. |
| systems other than Linux | Folders cannot be held open there: paths are compared, so a program of yours that swaps folders for links at the right moment can lead a command outside. macOS is untested, Windows untried. |
| small amounts of text that leave | After text from outside, a search or a message may still take along 100 characters of your text, 2,000 in a turn, and the choice between two pages can tell something ([docs/security.md](docs/security.md#what-may-leave)). More asks before it leaves; where nobody is asked, it is refused. \`--approve always\`, or a profile without \`web\`, closes that. |
| the agent's own folder | Within it, and within its limits, a model that is wrong or misled can write and delete. \`goald diff\`, \`goald why\` and \`goald restore\` show it and take it back. |
| programs that goald does not know | Files that git, npm, shells, editors and their like run are asked about. A program that is not in that table may run a file that an agent wrote. |
| keys in downloads and clones | Their bytes are kept as they came; \`download_file\` says when a key of yours is in them. |
| what a person approves or trusts | A yes, \`y -N\`, \`--approve never\` and \`goald trust\` are yours. goald shows what was read from outside before you answer. |
| dependencies | They are locked with hashes and few, and they are not audited by us. The packages that read strangers' bytes run in the cage. |
| code in a degraded sandbox | Without bubblewrap, code of the model runs behind Node's permission model and closed ways out of its language: good against mistakes, not a boundary. \`sandbox.isolation: required\` refuses it. |
| time and processor | Code can compute until its time limit, also nonsense. It cannot start programs. |`;

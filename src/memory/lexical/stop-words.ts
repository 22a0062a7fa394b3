/** stop-words.ts -- English and German words that carry no topic, in the folded form of `wordsOf`. */

export const isStopWord = (word: string): boolean => STOP_WORD_NUMBERS.has(word);

/** Returns a number below STOP_WORD_COUNT; undefined for other words. */
export const stopWordNumber = (word: string): number | undefined => STOP_WORD_NUMBERS.get(word);

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about after again all also always am an and another any anyone anything are as at be because been before being both but by " +
    "came can come could d did do does doing done down each either else ever every few for from get gets getting give given go " +
    "goes going gone got had has have having he her here hers him his how however i if in into is isn it its itself just know knows let ll " +
    "m made make many may maybe me might mine more most much must my no nor not now of off often oh ok on once one only onto or " +
    "other our ours out over own per please re really s same say shall she should since so some someone something still such t " +
    "than that the their theirs them then there these they thing things this those though through to too under until up upon us " +
    "ve very was we well went were what when where whether which while who whom whose why will with within without would yes yet " +
    "you your yours " +
    "aber alle als also am an auch auf aus bei bin bis da das dass dem den denn der des die dies diese dieser dieses doch du durch " +
    "ein eine einem einen einer eines er es fur gegen habe haben hat hatte ich ihr ihre im in ist ja kein keine man mehr mein mir " +
    "mit nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so uber um und uns vom von vor war waren warum " +
    "was wenn wer wie wir wird wo wurde zu zum zur"
  ).split(" "),
);
export const STOP_WORD_COUNT = STOP_WORDS.size;
const STOP_WORD_NUMBERS: ReadonlyMap<string, number> = new Map([...STOP_WORDS].map((word, number) => [word, number]));

/**
 * unseen-marks.ts -- finds marks in a name that nobody sees, such as a zero-width space or a soft hyphen. Pure.
 *
 * Two names that look alike must be the same name. A mark is accepted where it changes how its neighbours look: a joiner in
 * a script that joins its letters or between two emoji, a selector or a flag's tags after an emoji.
 */

/** Persian and Indic words need joiners. */
const JOINING =
  "Arabic Syriac Nko Mandaic Mongolian Phags_Pa Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`)
    .join("");
const EMOJI = "\\p{Extended_Pictographic}";
const VISIBLE_EFFECT = new RegExp(
  [
    `(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}])`,
    `(?<=${EMOJI}[\\ufe0f\\p{Emoji_Modifier}]?)\\u200d(?=${EMOJI})`,
    `(?<=${EMOJI})[\\ufe0e\\ufe0f]`,
    "(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
    "(?<=\\u{1f3f4})[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}",
  ].join("|"),
  "gu",
);
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u;

/** Returns the first such mark as `U+200B`; undefined when every character can be seen. */
export function findUnseenMark(name: string): string | undefined {
  const [mark] = UNSEEN.exec(name) ? (UNSEEN.exec(name.replace(VISIBLE_EFFECT, "")) ?? []) : [];
  return mark && `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
